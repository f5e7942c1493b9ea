"""What the scores of a policy hand from one step to the next."""

from typing import NamedTuple

import jax

from spos.targets.policy.moments import Moments
from spos.targets.policy.rows import Rows
from spos.types import PyTree


class Memory(NamedTuple):
    """What the scores of a policy remember."""

    critics: PyTree  # one a particle
    iteration: jax.Array  # sets of episodes so far
    returns: jax.Array  # (iterations, M): the mean return of a particle's episodes
    coverage: jax.Array  # (iterations,): the share of cells visited by any particle so far
    visited: jax.Array  # (cells,): 1 where someone has been
    update: jax.Array  # the number of the next step on the episodes that are kept
    kept: Rows | None  # with a leading axis of particles; None where one step uses them up
    seen: Moments | None  # of the observations, where they are normalized
    earned: Moments | None  # of the returns, where they are
