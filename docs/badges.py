"""Draws images/badges.svg from what pyproject.toml says: python docs/badges.py

A test holds the picture to that file, so that no badge tells what is not so.
"""

import tomllib
from pathlib import Path

HERE = Path(__file__).parent
OUT = HERE / "images" / "badges.svg"
HEIGHT, LETTER, GAP = 22, 7.2, 8  # of a badge, of a letter of its text, between two


def facts() -> list[tuple[str, str]]:
    """What the badges say, a name and a value each."""
    content = tomllib.loads((HERE.parent / "pyproject.toml").read_text(encoding="utf-8"))
    project, mypy = content["project"], content["tool"]["mypy"]
    return [
        ("version", project["version"]),
        ("Python", project["requires-python"].replace(">=", "≥ ")),
        ("dependencies", str(len(project["dependencies"]))),
        ("typed", "mypy, strict" if mypy["strict"] else "mypy"),
        ("licence", project["license"]),
    ]


def svg() -> str:
    """All badges in a row."""
    left, badges = 0.0, []
    for name, value in facts():
        middle, right = (len(text) * LETTER + 14 for text in (name, value))
        badges.append(
            f'<g transform="translate({left:.1f})">'
            f'<rect width="{middle:.1f}" height="{HEIGHT}" fill="#4a5560"/>'
            f'<rect x="{middle:.1f}" width="{right:.1f}" height="{HEIGHT}" fill="#0069a6"/>'
            f'<text x="{middle / 2:.1f}" y="15">{name}</text>'
            f'<text x="{middle + right / 2:.1f}" y="15">{value}</text></g>'
        )
        left += middle + right + GAP
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{left - GAP:.0f}" height="{HEIGHT}" '
            'font-family="Verdana, DejaVu Sans, sans-serif" font-size="11.5" fill="#ffffff" '
            'text-anchor="middle" role="img">',
            f"<title>{', '.join(f'{name} {value}' for name, value in facts())}</title>",
            *badges,
            "</svg>\n",
        ]
    )


if __name__ == "__main__":
    OUT.write_text(svg(), encoding="utf-8")
