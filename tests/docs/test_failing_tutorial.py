"""A build of the site says what is wrong with it, and stops."""

import subprocess
import sys

import pytest
from reference import DOCS

from chromium import thorough

PAGE = """---
jupytext:
  text_representation: {extension: .md, format_name: myst}
kernelspec: {display_name: Python 3, language: python, name: python3}
---

# A tutorial

```{code-cell} ipython3
year = 2020
```

```{code-cell} ipython3
year / DIVISOR
```
"""


@thorough
@pytest.mark.parametrize("divisor", [0, 1])
def test_a_tutorial_that_fails_stops_the_build_with_its_cell(divisor, tmp_path):
    pytest.importorskip("myst_nb", reason="the extra docs is not installed")
    pages, out = tmp_path / "pages", tmp_path / "out"
    pages.mkdir()
    (pages / "index.md").write_text(PAGE.replace("DIVISOR", str(divisor)))
    cache = f"nb_execution_cache_path={tmp_path / 'cache'}"
    command = ["-m", "sphinx", "--quiet", "--fail-on-warning", "-c", DOCS, "-D", cache, pages, out]
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, check=False)
    if divisor:
        assert done.returncode == 0, done.stderr
        assert "2020.0" in (out / "index.html").read_text(encoding="utf-8")
    else:
        assert done.returncode != 0
        assert "year / 0" in done.stderr
        assert "ZeroDivisionError" in done.stderr
