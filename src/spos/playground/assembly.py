"""The page of the playground, put together from its parts.

The scripts are joined, in an order in which a name is declared before it is used, into one module
inside the page. Its content policy allows that script by its hash and nothing from anywhere else.
The same parts give the same bytes.
"""

import base64
import hashlib
from pathlib import Path

HERE = Path(__file__).parent
SCRIPTS = (
    "random",
    "pairs",
    "cholesky",
    "birth_death",
    "methods",
    "targets",
    "drawn",
    "grid",
    "contours",
    "measures",
    "settings",
    "run",
    "pixels",
    "paint",
    "charts",
    "controls",
    "collapse",
    "loop",
    "dimension",
    "actions",
    "hands",
    "wiring",
    "api",
)


def page() -> str:
    """The whole page as text."""
    style = _part("style.css")
    script = "\n".join(_part(f"{name}.js") for name in SCRIPTS)
    policy = f"default-src 'none'; script-src '{_hash(script)}'; style-src 'unsafe-inline'"
    whole = _part("page.html")
    for name, text in {"policy": policy, "style": style, "script": script}.items():
        whole = whole.replace("{{" + name + "}}", text)
    return whole


def _part(name: str) -> str:
    return (HERE / "parts" / name).read_text(encoding="utf-8")


def _hash(script: str) -> str:
    digest = hashlib.sha256(script.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"
