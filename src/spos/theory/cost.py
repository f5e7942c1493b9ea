"""What a step costs when M particles of d numbers are on P devices: a model, not a measurement.

Every device works on the pairs of its own M/P particles with all M:

    compute    M²/P · (4d + E) / F         two products of d terms and one exponential a pair, which
                                           counts as E operations; F operations a second
    own        (M/P) · S / F               S operations for the score and the noise of a particle
    ring       4 · bytes / W               W bytes a second over each link
    latency    2 (P - 1) · λ               two rings a step, of the median and of the sum

Up to 4096 particles travel once for the distances of all pairs, of which some make the median, and
once for the sum, as scores with their part of the push (of a kernel whose slope is not one number,
with their places):

    numbers sent by a device = (P - 1) 2 d M/P.

Above that no device keeps its distances. In the ring of the median those rows travel that are the
second of a pair (`spos.interaction.bandwidth`), in that of the sum all particles and scores:

    numbers sent by a device = (P - 1) [ 2 d M/P + d m ],   m the most such rows of a device.

With random groups of b the pairs are M b / P, and each particle travels twice as far: it comes with
its score, and its direction goes back. Sending and computing overlap, where hardware and compiler
let them, so that a step takes between the larger of the two and their sum.
"""

from dataclasses import dataclass

import numpy as np

from spos import checks
from spos.interaction import pairwise
from spos.interaction.bandwidth import MAX_PAIRS, pairs

EXPONENTIAL = 20.0  # operations that one exponential takes the time of, on a CPU
NOISE = 100.0  # operations that one normal number takes the time of
NUMBER = 4  # bytes


@dataclass(frozen=True)
class Cost:
    """The seconds of a step by what takes them; see `cost`.

    Attributes:
        pairs: for products and exponentials of all pairs.
        own: for scores and noise.
        ring: for sending.
        latency: for the beginning of each message.
        bytes_sent: by one device.
    """

    pairs: float
    own: float
    ring: float
    latency: float
    bytes_sent: float

    @property
    def seconds(self) -> float:
        """Of a step, where nothing overlaps."""
        return self.pairs + self.own + self.ring + self.latency

    @property
    def hidden(self) -> bool:
        """Can sending hide behind computing?"""
        return self.ring + self.latency <= self.pairs + self.own


def cost(
    num_particles: int,
    size: int,
    num_devices: int,
    *,
    bytes_per_second: float,
    flops: float,
    latency: float = 0.0,
    group_size: int | None = None,
    score_flops: float | None = None,
) -> Cost:
    """How long a step of SPOS takes with particles over devices, by a model.

    Args:
        num_particles: M, which divides by the number of devices.
        size: d, the number of parameters of one particle.
        num_devices: P.
        bytes_per_second: of the link from one device to the next.
        flops: operations a second of one device, as it reaches them in matrix products.
        latency: seconds before a message arrives, however short it is.
        group_size: of random groups; None lets all particles interact.
        score_flops: operations for the score and the noise of one particle; by default those of the
            noise alone, about 100 a number.

    Returns:
        The seconds, by what takes them.

    Example:
        >>> there = spos.theory.cost(1000, 100, 4, bytes_per_second=1e9, flops=1e11)
        >>> there.hidden
        True
    """
    checks.whole("num_particles", num_particles)
    checks.whole("size", size)
    checks.whole("num_devices", num_devices)
    if num_particles % num_devices:
        raise ValueError(
            f"num_particles must divide by the {num_devices} devices, got {num_particles}"
        )
    for name, value in (("bytes_per_second", bytes_per_second), ("flops", flops)):
        checks.positive(name, value)
    if score_flops is not None:
        checks.positive("score_flops", score_flops)
    if checks.real("latency", latency) < 0:
        raise ValueError(f"latency must be at least 0, got {latency!r}")
    own = num_particles // num_devices
    met = num_particles if group_size is None else checks.whole("group_size", group_size)
    travelling = 2 * size * own
    if group_size is not None or num_particles > pairwise.DENSE_PARTICLES:
        travelling += size * median_rows(num_particles, num_devices)
    if group_size is not None:
        travelling += size * own
    sent = float(NUMBER * (num_devices - 1) * travelling)
    each = NOISE * size if score_flops is None else score_flops
    return Cost(
        pairs=own * met * (4.0 * size + EXPONENTIAL) / flops,
        own=own * each / flops,
        ring=sent / bytes_per_second,
        latency=2 * (num_devices - 1) * latency,
        bytes_sent=sent,
    )


def median_rows(num_particles: int, num_devices: int) -> int:
    """The most rows of one device that travel for the median; about so many where M is huge."""
    if num_particles > 10**7:
        return min(num_particles, MAX_PAIRS) // num_devices + 1
    second = np.unique(pairs(num_particles)[1])
    block = num_particles // num_devices
    return int(np.bincount(second // block, minlength=num_devices).max())
