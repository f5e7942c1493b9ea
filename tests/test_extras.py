"""Every extra works with nothing but its own requirements.

Each takes seconds, so that the suite looks at the one that broke before; `make extras` looks at
all (`SPOS_EXTRAS=all`).
"""

import os
import pathlib
import subprocess
import sys

import pytest

from extras_program import USES

PROGRAM = pathlib.Path(__file__).parent / "extras_program.py"
CHOSEN = list(USES) if os.environ.get("SPOS_EXTRAS") == "all" else ["pymc"]


@pytest.mark.parametrize("extra", CHOSEN)
def test_an_extra_alone_is_enough(extra):
    """`import pymc` among them: as a user does it, in the versions that are pinned."""
    done = subprocess.run(
        [sys.executable, PROGRAM, extra], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "packages are enough" in done.stdout
