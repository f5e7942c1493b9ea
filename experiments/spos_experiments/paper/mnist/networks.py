"""A convolutional network of the size of LeNet, as functions of its weights.

    image → [convolution → the largest of 2 × 2 → relu] twice → relu units → classes

A convolution is a product: its weights, (outputs × patch), times the patches of all places of all
images, (patch × places · images). XLA's own convolutions take ten times as long on processors.
Images are the last axis: whatever is done with a pixel is done with a row of them.
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
        images = x.T.reshape(1, side, side, -1)
        for n in range(2):
            seen = patches(images, window)
            made = theta[f"w{n}"].T @ seen.reshape(len(seen), -1)
            made = made.reshape(-1, *seen.shape[1:]) + theta[f"b{n}"][:, None, None, None]
            images = jax.nn.relu(largest(made))
        flat = images.reshape(-1, len(x)).T
        return jax.nn.relu(flat @ theta["w2"] + theta["b2"]) @ theta["w3"] + theta["b3"]

    return network(init, apply)


def patches(images: jax.Array, window: int) -> jax.Array:
    """(channels, side, side, images) becomes (channels of all pixels of a patch, place, place,
    images)."""
    places = images.shape[1] - window + 1
    shifts = itertools.product(range(window), repeat=2)
    return jnp.concatenate([images[:, i : i + places, j : j + places] for i, j in shifts])


def largest(images: jax.Array) -> jax.Array:
    """Of every 2 × 2 pixels; an odd row or column at the end is left out."""
    channels, side, _, count = images.shape
    half = side // 2
    squares = images[:, : 2 * half, : 2 * half].reshape(channels, half, 2, half, 2, count)
    rows = jnp.maximum(squares[:, :, 0], squares[:, :, 1])
    return jnp.maximum(rows[:, :, :, 0], rows[:, :, :, 1])
