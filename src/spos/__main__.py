"""`python -m spos` is the command `spos`."""

import sys

from spos.cli import main

sys.exit(main())
