"""A target whose particles come in another form: the same numbers, other leaves."""

from typing import Any, NamedTuple

import jax

from spos.cloud import flatten, unflatten
from spos.targets.target import Target
from spos.types import Particles, PyTree
from spos.values import static, value


class Form(NamedTuple):
    """The form of one particle: hashable, so that it can be static."""

    structure: Any
    leaves: tuple[jax.ShapeDtypeStruct, ...]

    def of(self, rows: jax.Array, leading: int) -> PyTree:
        """Flat numbers in this form, after so many leading axes."""
        leaves = [
            jax.ShapeDtypeStruct((*(1,) * leading, *leaf.shape), leaf.dtype) for leaf in self.leaves
        ]
        return unflatten(rows, jax.tree.unflatten(self.structure, leaves), leading)


def form_of(particles: Particles) -> Form:
    """The form of each of these particles."""
    leaves, structure = jax.tree.flatten(particles)
    return Form(structure, tuple(jax.ShapeDtypeStruct(x.shape[1:], x.dtype) for x in leaves))


@value
class Reshaped(Target):
    """The target with particles of another form."""

    target: Target
    form: Form = static()

    def log_prob(self, theta: PyTree, batch: PyTree = None) -> jax.Array:
        return self.target.log_prob(self.form.of(flatten(theta, 0), 0), batch)

    def score(self, particles: Particles, batch: PyTree = None) -> Particles:
        scores = self.target.score(self.form.of(flatten(particles), 1), batch)
        return unflatten(flatten(scores), particles)

    def scores(
        self, memory: PyTree, particles: Particles, batch: PyTree
    ) -> tuple[Particles, PyTree]:
        scores, memory = self.target.scores(memory, self.form.of(flatten(particles), 1), batch)
        return unflatten(flatten(scores), particles), memory

    def first_memory(self, particles: Particles) -> PyTree:
        return self.target.first_memory(self.form.of(flatten(particles), 1))

    def draw(self, key: jax.Array, step: jax.Array | int = 0) -> PyTree:
        return self.target.draw(key, step)


def other_form(particles: Particles) -> Particles:
    """The flat matrix of a pytree; of a matrix, a pytree."""
    rows = flatten(particles)
    if jax.tree.structure(particles) != jax.tree.structure(rows) or rows.shape[1] == 1:  # type: ignore[operator]
        return rows if not isinstance(particles, jax.Array) else {"a": particles}
    return {"a": rows[:, :1], "b": {"c": rows[:, 1:, None]}}
