"""The compiled part of an automatic run: on this device, or by all devices of a mesh.

Over a mesh every device moves its share of the half that moves, and all are told where its
particles are then (`shards.divided`); what is left of a move is small, and done by each. With
several processes, process 0 is the host: it alone learns, judges, saves and decides, and each
program that it calls is an order to the others (`spos.mesh.orders`), with its arguments. At the end
they are told the fit.
"""

import contextlib
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

from spos.auto.bend import Bend
from spos.auto.budget import Budget
from spos.auto.chance import RandomNumbers
from spos.auto.engine import (
    Coordinates,
    Problem,
    Records,
    Tuning,
    Whitened,
    chunk,
)
from spos.auto.result import Fit
from spos.auto.tails import Tails
from spos.io import archive
from spos.io.checkpoint import fingerprint
from spos.loop.code import code_of
from spos.mesh import check_mesh
from spos.mesh.orders import Orders
from spos.mesh.processes import (
    LONGEST,
    ProcessError,
    Signals,
    Team,
    fetch,
    losing_touch,
    signals,
)
from spos.mesh.shards import mesh_of
from spos.programs import brief
from spos.targets.target import Target
from spos.types import Particles

ALONE = Team(None)
WORDS = ("coords", "dims", "data")  # of a model, which every process has
LOOK, CHUNK, END, FAILED = "look", "chunk", "end", "failed"


def _form(kind: type, **parts: Any) -> Any:
    """A named tuple that has the form of all of its kind."""
    names: tuple[str, ...] = kind._fields  # type: ignore[attr-defined]
    return kind(**dict.fromkeys(names, 0) | parts)


_FRAME = _form(Coordinates, bend=_form(Bend, tails=_form(Tails)))
_ARGUMENTS = jax.tree.structure((_FRAME, _form(RandomNumbers), 0, _form(Whitened), _form(Tuning)))


def team_of(mesh: Mesh | None, first: Particles) -> Team:
    """The processes of the mesh, or of the one that the first particles are sharded over."""
    found = mesh_of(first)
    if mesh is None:
        return Team(found)
    check_mesh(mesh)
    if found is not None and found != mesh:
        raise ValueError("mesh must be that of the starts, which are sharded over another")
    return Team(mesh if mesh.size > 1 else None)


def must_agree(team: Team, target: Target, first: Particles, seed: int, budget: Budget) -> None:
    """All processes make the same fit, or say in what theirs differ."""

    def in_common() -> dict[str, Any]:
        if not team.several:
            return {}
        return {
            "seed": seed,
            "starts": fingerprint(first),
            "budget": list(budget),
            "numbers and data": fingerprint([x for x in jax.tree.leaves(target) if _here(x)]),
            "code": code_of(target),
        }

    team.agree(in_common)


class Programs:
    """What a run computes with.

    Args:
        problem: its target.
        team: the processes that compute.
    """

    def __init__(self, problem: Problem, team: Team = ALONE) -> None:
        self.team, self.noted = team, Signals()
        # a mesh takes what is on no device yet
        self.problem = problem if team.mesh is None else jax.tree.map(_on_the_host, problem)
        self.orders = Orders() if team.several else None

    def look(self, short: bool, *arguments: Any) -> Whitened:
        """The log-density and its gradient, by moves of no length; as `chunk`."""
        return self._by_all(LOOK, short, arguments)[0]

    def chunk(self, short: bool, *arguments: Any) -> tuple[Whitened, jax.Array, Records]:
        """A chunk of moves, of all that `engine.chunk` takes but the problem; and whether the run
        is short yet, so that its program had better be compiled fast than be fast.

        Raises:
            KeyboardInterrupt: some process was asked to end.
        """
        found = self._by_all(CHUNK, short, arguments)
        if any(report["stop"] for report in self.team.meet(stop=self.noted.heard)):
            raise KeyboardInterrupt
        return found

    def _by_all(
        self, name: str, short: bool, arguments: Any
    ) -> tuple[Whitened, jax.Array, Records]:
        if self.orders is not None:
            self.orders.give(name, jax.tree.leaves(arguments), short)
        return self._here(short, *arguments)

    def _here(self, short: bool, *arguments: Any) -> tuple[Whitened, jax.Array, Records]:
        """This process's part of it."""
        mesh = self.team.mesh
        with contextlib.ExitStack() as inside:
            if mesh is not None:
                inside.enter_context(jax.set_mesh(mesh))
            if short:
                inside.enter_context(brief())
            found = chunk(self.problem, *arguments)
        return found if mesh is None else jax.tree.map(fetch, found)

    def make(self, lead: Callable[[], Fit]) -> Fit:
        """The fit that `lead` makes in process 0, in all of them.

        Raises:
            ProcessError: process 0 ended with an error.
        """
        with losing_touch(), signals(self.team) as self.noted:
            if self.orders is None:
                return lead()
            if not self.team.leads:
                return self._follow(self.orders)
            try:
                fit = lead()
            except Exception as error:
                if not isinstance(error, ProcessError):
                    self.orders.give(FAILED, note=f"{type(error).__name__}: {error}"[:LONGEST])
                raise
            arrays, meta = archive.pack_fields(vars(fit), TOLD)
            names, leaves = list(arrays), jax.tree.leaves(fit.history)
            self.orders.give(END, [*leaves, *arrays.values()], [names, meta])
            return fit

    def _follow(self, orders: Orders) -> Fit:
        """Do what process 0 says, to the end."""
        while True:
            name, note, arrays = orders.take()
            if name == FAILED:
                raise ProcessError(f"process 0 ended the run: {note}")
            if name == END:
                return self._told(arrays, *note)
            self._here(note, *jax.tree.unflatten(_ARGUMENTS, arrays))
            if name == CHUNK:
                self.team.meet(stop=self.noted.heard)

    def _told(self, sent: list[np.ndarray], names: list[str], meta: Mapping[str, Any]) -> Fit:
        """The fit as process 0 told it."""
        history = jax.tree.unflatten(self.problem.structure, sent[: -len(names)])
        arrays = dict(zip(names, sent[-len(names) :], strict=True))
        return Fit(
            particles=jax.tree.map(lambda leaf: jnp.asarray(leaf[-1]), history),
            history=history,
            draws=jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), history),
            **archive.unpack_fields(arrays, meta, TOLD),
        )


TOLD = archive.fields_of(
    Fit, without=["particles", "history", "draws", "model", "score_memory", *WORDS]
)


def _here(leaf: Any) -> bool:
    return not isinstance(leaf, jax.Array) or leaf.is_fully_addressable


def _on_the_host(leaf: Any) -> Any:
    if not isinstance(leaf, jax.Array) or not _here(leaf):
        return leaf
    return leaf if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key) else np.asarray(leaf)
