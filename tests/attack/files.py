"""Attacks on every kind of file that is read, from one seed.

A spoilt file must be refused by an error that is meant for it, or read as what it was. Files that
are whole but say something else (mostly the kinds `arrays`, `descriptions` and `texts`) may also be
read as what they say. Nothing else may happen: no other error, no other answer, no long wait.

The whole form prints a table:

    PYTHONPATH=tests python -m attack.files 10000
"""

import math
import random
import sys
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import jax
import numpy as np

from attack.table import Job, Score, report
from attack.victims import KINDS, Victim, made

SLOW = 5.0  # seconds, on a machine with other things to do


def attack(victim: Victim, kind: str, cases: int, seed: int = 0) -> Score:
    """So many attacks of a kind on a victim, and what became of them."""
    good = victim.path.read_bytes()
    whole = _essence(victim.read())
    seed = zlib.crc32(f"{victim.name} {kind} {seed}".encode())
    refused, read, slowest, broken = 0, 0, 0.0, []
    for n, content in enumerate(islice(victim.kinds[kind](good, random.Random(seed)), cases)):
        victim.path.unlink(missing_ok=True)
        victim.path.write_bytes(content)
        began = time.monotonic()
        try:
            found = victim.read()
        except Exception as error:
            refused += 1
            also = (ValueError,) if kind in victim.saying else ()
            if not isinstance(error, (*victim.meant, *also)):
                broken.append(f"{victim.name} {kind} {n}: {type(error).__name__}: {error}")
        else:
            read += 1
            if kind not in victim.saying and _essence(found) != whole:
                broken.append(f"{victim.name} {kind} {n}: read as something else")
        slowest = max(slowest, time.monotonic() - began)
    if slowest > SLOW:
        broken.append(f"{victim.name} {kind}: one took {slowest:.1f} s")
    victim.path.unlink(missing_ok=True)
    victim.path.write_bytes(good)
    return Score(victim.name, kind, cases, refused, read, broken)


def _essence(value: Any) -> Any:
    """What two equal answers have in common, to the last bit."""
    if hasattr(value, "__dict__"):
        value = dict(vars(value))
    leaves, form = jax.tree.flatten(value)
    return str(form), [_bits(leaf) for leaf in leaves]


def _bits(leaf: Any) -> Any:
    if not hasattr(leaf, "dtype") or leaf.dtype == object:
        return repr(leaf)
    return leaf.dtype.str, leaf.shape, np.asarray(leaf).tobytes()


def jobs(cases: int) -> Iterator[Job]:
    """All attacks, so many of each kind, over all files that can be spoilt so."""
    among = Counter(kind for kinds in KINDS.values() for kind in kinds)
    for name, kinds in KINDS.items():
        for kind in kinds:
            share = math.ceil(cases / among[kind])
            yield Job(f"files, {name}, {kind}", partial(_attack, name, kind, share))


def _attack(name: str, kind: str, cases: int) -> Iterator[Score]:
    with tempfile.TemporaryDirectory() as folder:
        yield attack(made(name, Path(folder)), kind, cases)


if __name__ == "__main__":
    sys.exit(report(jobs(int(sys.argv[1]))))
