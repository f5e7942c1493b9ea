"""A model without its Gaussian part: sites that are normal given all others are integrated out.

For fixed other parameters h the log-density is a parabola in such sites u,

    log p(h, u) = c(h) + g(h)ᵀ u - ½ uᵀ H(h) u,

with c, g and H by automatic differentiation at u = 0. What is left,

    log p(h) = c + ½ gᵀ H⁻¹ g - ½ log det H,

has few dimensions and none of the shapes that make long chains disagree. Every draw of h brings a
draw of u from N(H⁻¹ g, H⁻¹).
"""

import dataclasses
import functools
import itertools
from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jax.scipy.linalg import solve_triangular

from spos.adapters import Model
from spos.targets import as_target
from spos.types import PyTree

BLOCK = 100  # draws whose curvatures are in memory at once


def without(model: Model, names: Sequence[str]) -> Model:
    """The same posterior, with these sites drawn from their law given the others."""
    if not names:
        return model
    gaussian = {name: jnp.zeros(model.shapes[name]) for name in names}
    zero, as_sites = ravel_pytree(gaussian)
    rest = {name: shape for name, shape in model.shapes.items() if name not in names}
    keys = map(functools.partial(jax.random.fold_in, jax.random.key(0)), itertools.count())

    def parabola(h: PyTree) -> tuple[jax.Array, jax.Array, jax.Array]:
        """c, the root L of H = L Lᵀ, and L⁻¹ g."""

        def along(u: jax.Array) -> jax.Array:
            return model.target.log_prob({**h, **as_sites(u)})

        constant, slope = jax.value_and_grad(along)(zero)
        root = jnp.linalg.cholesky(-jax.jacfwd(jax.grad(along))(zero))
        return constant, root, solve_triangular(root, slope, lower=True)

    def log_prob(h: PyTree) -> jax.Array:
        constant, root, white = parabola(h)
        return constant + 0.5 * white @ white - jnp.log(jnp.diag(root)).sum()

    def completed(h: PyTree, key: jax.Array) -> PyTree:
        _, root, white = parabola(h)
        white = white + jax.random.normal(key, white.shape, white.dtype)
        return {**h, **as_sites(solve_triangular(root, white, lower=True, trans=1))}

    @jax.jit
    def complete(draws: PyTree, key: jax.Array) -> PyTree:
        each = jax.random.split(key, len(jax.tree.leaves(draws)[0]))
        return jax.lax.map(lambda one: completed(*one), (draws, each), batch_size=BLOCK)

    return dataclasses.replace(
        model,
        name=f"{model.name} without {', '.join(names)}",
        target=as_target(log_prob),
        shapes=rest,
        constrain_batch=lambda draws: model.constrain_batch(complete(draws, next(keys))),
    )
