# Each target alone works on a fresh machine: it installs first when that is needed.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: install demo test attack lint bench docs docs-test package clean

install: .venv/.installed

.venv/.installed: pyproject.toml experiments/pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[test,lint]' --editable './experiments[test]'
	touch $@

demo: install
	$(BIN)/spos demo

test: install
	$(BIN)/python -m pytest --numprocesses 2 --dist worksteal

attack: install
	PYTHONPATH=tests $(BIN)/python -m attack

extras: install
	SPOS_EXTRAS=all $(BIN)/python -m pytest -q tests/test_extras.py

bench: install
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable . --editable './experiments[bench]'
	$(BIN)/spos bench

# The site, in build/site; its tutorials are executed, and a warning is an error. It needs no browser, and
# no network once everything is installed: what could not be done is said.
docs: install
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[docs]' --editable './experiments[test]' \
		|| echo "make docs: pip cannot install (no network?), going on with what is there"
	$(BIN)/python -m sphinx --builder html --fail-on-warning --quiet docs build/site
	@test -x /usr/bin/chromium || echo "make docs: there is no /usr/bin/chromium, so that make docs-test will skip what it looks at in a browser"
	@echo "make docs: open build/site/index.html"

# what was built, and the playground, in a real browser where there is one
docs-test: docs
	SPOS_BROWSER=all $(BIN)/python -m pytest tests/docs tests/playground -rs

# wheel and source distribution of both packages, in dist, and whether an index would take them
package: install
	rm -rf dist
	$(BIN)/python -m hatchling build --directory dist
	cd experiments && ../$(BIN)/python -m hatchling build --directory ../dist
	$(BIN)/python -m twine check --strict dist/*

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

clean:
	rm -rf .venv build dist spos-demo spos-paper
