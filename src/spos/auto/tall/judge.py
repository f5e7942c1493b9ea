"""Whether to trust draws that were made with minibatches: one mode, the biases, and the errors.

Two runs go side by side, one with twice the step of the other. The bias of a Langevin run is
proportional to its step, so that what lies between the two is the bias of the one with the half
step, which is kept. The share of it that the noise of the scores makes is known by itself (see
`spos.auto.tall.noise`).
"""

import numpy as np

from spos.auto.judge import errors
from spos.auto.tall.place import ROUGHLY_FLAT, Place
from spos.auto.verdict import Check

CLOSE = 0.1  # standard deviations, and share of a standard deviation
NOISE = 0.03
ERROR = 0.03
MIXING = 0.15
TREND = 5.0

LONGER = "The run was as long as it may be: raise num_particles, or batch_size."
ROUGHER = (
    "The posterior is far from a normal law on the scale of a step. Raise batch_size, or leave it "
    "out for an exact run."
)


def checks_of(
    kept: np.ndarray, coarse: np.ndarray, noise: float, step: float, place: Place
) -> list[Check]:
    """What is known about a run.

    Args:
        kept: records, particles and whitened numbers of the run with the half step.
        coarse: those of the run with the whole step.
        noise: the largest eigenvalue of the scores' noise, over particles of the run.
        step: the half step.
        place: the mode.

    Returns:
        The checks.
    """
    size = kept.shape[-1]
    shift = np.abs(kept.mean((0, 1)) - coarse.mean((0, 1))) / kept.std((0, 1))
    scale = np.abs(np.log(kept.std((0, 1)) / coarse.std((0, 1))))
    mean_error, sd_error = errors(kept)
    error = float(max(mean_error.max(), sd_error.max()))
    bias = float(max(shift.max(), scale.max()))
    by_noise = step * noise / 4.0
    share = float((kept.mean(0).var(0, ddof=1) / kept.var((0, 1))).max())
    change = kept[len(kept) // 2 :].mean(0) - kept[: len(kept) // 2].mean(0)  # of each particle
    spread = change.std(0, ddof=1) / np.sqrt(len(change))
    trend = float((np.abs(change.mean(0)) / spread).max())
    where = f"in the worst of {size} directions"
    return [
        Check(
            *("one mode", float(place.others), 0.0, place.others == 0),
            f"{place.others} more were found from other starts"
            if place.others
            else "all starts lead to the same one",
            "With minibatches the draws stay around one mode. Break the symmetry of the model, or "
            "leave out batch_size.",
        ),
        Check(
            *("mode", place.steepness, ROUGHLY_FLAT, place.steepness <= ROUGHLY_FLAT),
            f"the score there is {place.steepness:.3f} of a standard deviation's (at most "
            f"{ROUGHLY_FLAT})",
            "Give parameters scales near one.",
        ),
        Check(
            *("bias by step", bias, CLOSE, bias <= CLOSE),
            f"with twice the step, means differ by {shift.max():.3f} standard deviations and "
            f"standard deviations by {scale.max():.1%}, {where} (at most {CLOSE})",
            ROUGHER,
        ),
        Check(
            *("bias by noise", by_noise, NOISE, by_noise <= NOISE),
            f"the noise of minibatches widens standard deviations by {by_noise:.2%} (at most "
            f"{NOISE:.0%})",
            "Raise batch_size.",
        ),
        Check(
            *("precision", error, ERROR, error <= ERROR),
            f"Monte-Carlo error {mean_error.max():.3f} standard deviations of a mean, "
            f"{sd_error.max():.3f} of a log standard deviation (at most {ERROR})",
            LONGER,
        ),
        Check(
            *("mixing", share, MIXING, share <= MIXING),
            f"{share:.1%} of the variance lies between particles (at most {MIXING:.0%})",
            LONGER,
        ),
        Check(
            *("trend", trend, TREND, trend <= TREND),
            f"the halves of the run differ by {trend:.1f} standard errors (at most {TREND})",
            LONGER,
        ),
    ]
