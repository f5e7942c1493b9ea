"""How the site is built from these pages, by `make docs`.

Nothing in it is loaded from outside: the theme brings its fonts and scripts along, MathJax comes as
a Python package, and the playground and the report are single files that are put beside the pages
(`_extensions/whole_pages.py`).

Tutorials are executed. What a cell printed is kept under the content of the tutorial and of the
library, so that a page is made again when either has changed. A cell that fails stops the build.
"""

import hashlib
import os
import re
import sys
from importlib.metadata import version as installed
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent
sys.path.insert(0, str(HERE / "_extensions"))

project = "spos"
version = release = installed("spos")
copyright = "the authors of spos, Apache-2.0"
html_title = f"spos {version}"

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_design",
    "sphinx-mathjax-offline",
    "whole_pages",
    "gallery",
    "overview",
]
exclude_patterns = ["_extensions", "_static", "images"]

# pages
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
myst_update_mathjax = False

# what is public, from its docstrings
default_role = "py:obj"  # `name` in a docstring leads to it, where it is one
autodoc_member_order = "bysource"
autosummary_generate = False  # it only tells a sentence of each name
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False
python_maximum_signature_line_length = 80
add_module_names = False
toc_object_entries_show_parents = "hide"


def library_digest() -> str:
    """Changes with every file that can change a number or a picture of a tutorial."""
    digest = hashlib.sha256()
    library = sorted((ROOT / "src" / "spos").rglob("*.py"))
    for path in [*library, HERE / "tutorials" / "matplotlibrc"]:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


# tutorials; their kernels have no widgets, which tqdm would remark on
os.environ.setdefault("PYTHONWARNINGS", "ignore:IProgress not found")
nb_execution_mode = "cache"
nb_execution_cache_path = str(ROOT / "build" / "tutorials" / library_digest())
nb_execution_timeout = 600  # seconds a cell, for slow machines
nb_execution_raise_on_error = True
nb_execution_show_tb = True
nb_kernel_rgx_aliases = {".*": "python3"}
nb_merge_streams = True

# the look
html_theme = "pydata_sphinx_theme"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_sidebars = {"index": [], "start": [], "methods": [], "play": [], "paper": [], "benchmarks": []}
html_context = {"default_mode": "auto"}  # light or dark, as the reader has it
html_theme_options = {
    "logo": {"text": "spos"},
    "header_links_before_dropdown": 6,
    "navbar_persistent": ["search-button"],
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "article_header_start": ["breadcrumbs"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}


def setup(app):
    app.connect("autodoc-skip-member", _skip)


def _skip(app, what, name, member, skip, options):
    """Fields of named tuples, which docstrings tell, and what scikit-learn puts into estimators."""
    field = str(getattr(member, "__doc__", "")).startswith("Alias for field number")
    return True if field or re.fullmatch(r"set_\w+_request", name) else None
