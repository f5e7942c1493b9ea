# Each target alone works on a fresh machine: it installs first when that is needed.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: install demo test attack lint bench clean

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

bench: install
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable . --editable './experiments[bench]'
	$(BIN)/spos bench

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

clean:
	rm -rf .venv spos-demo spos-paper
