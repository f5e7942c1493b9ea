"""A convolutional network of the size of LeNet, as functions of its weights.

    image → [convolution → the largest of 2 × 2 → relu] twice → relu units → classes

A convolution is a product: its weights, (outputs × patch), times the patches of all places and all
images, (patch × images · places). XLA's own convolutions take ten times as long on processors.
Channels stand before images, so that patches are copied a row of places at a time.
"""

import functools
import itertools

import jax
import jax.numpy as jnp

from spos.targets.layers import Network, network
from spos.types import PyTree

WINDOWS = {28: 5, 8: 2}  # side of an image, and of the patches that a convolution sees of it


@functools.cache  # so that equal networks share compiled programs
def lenet(pixels: int, channels: tuple[int, int], units: int, classes: int) -> Network:
    """The network for square images of so many pixels."""
    side = round(pixels**0.5)
    window = WINDOWS[side]
    left = side
    for _ in channels:
        left = (left - window + 1) // 2
    first, second = channels
    shapes = (
        *((window**2, first), (window**2 * first, second)),
        *((left**2 * second, units), (units, classes)),
    )

    def init(key: jax.Array) -> PyTree:
        theta = {}
        keys = jax.random.split(key, len(shapes))
        for n, (shape, k) in enumerate(zip(shapes, keys, strict=True)):
            theta[f"w{n}"] = jax.random.normal(k, shape) / (shape[0] + 1) ** 0.5
            theta[f"b{n}"] = jnp.zeros(shape[1])
        return theta

    def apply(theta: PyTree, x: jax.Array) -> jax.Array:
        images = x.reshape(1, len(x), side, side)
        for n in range(2):
            seen = patches(images, window)
            made = theta[f"w{n}"].T @ seen.reshape(len(seen), -1)
            made = made.reshape(-1, *seen.shape[1:]) + theta[f"b{n}"][:, None, None, None]
            images = jax.nn.relu(largest(made))
        flat = jnp.moveaxis(images, 1, 0).reshape(len(x), -1)
        return jax.nn.relu(flat @ theta["w2"] + theta["b2"]) @ theta["w3"] + theta["b3"]

    return network(init, apply)


def patches(images: jax.Array, window: int) -> jax.Array:
    """(channels, images, side, side) becomes (channels of all pixels of a patch, images, place,
    place)."""
    places = images.shape[-1] - window + 1
    shifts = itertools.product(range(window), repeat=2)
    return jnp.concatenate([images[..., i : i + places, j : j + places] for i, j in shifts])


def largest(images: jax.Array) -> jax.Array:
    """Of every 2 × 2 pixels; an odd row or column at the end is left out."""
    *before, side, _ = images.shape
    even = side // 2 * 2
    pairs = images[..., :even, :even].reshape(*before, side // 2, 2, even)
    rows = jnp.maximum(pairs[..., 0, :], pairs[..., 1, :])
    return jnp.maximum(rows[..., ::2], rows[..., 1::2])
