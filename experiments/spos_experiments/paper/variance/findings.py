"""What follows from the noise and from the variances."""

from collections.abc import Mapping, Sequence

import numpy as np

from spos_experiments.frame.experiment import Estimate
from spos_experiments.frame.record import Claim, verdict
from spos_experiments.paper.variance.covertype import Reference
from spos_experiments.paper.variance.settings import PLAIN, Settings

FAR_LESS = 0.1


def claims(
    noise: Mapping[str, Sequence[float]],
    ratio: Mapping[tuple[str, str], np.ndarray],
    truth: Reference,
    settings: Settings,
) -> list[Claim]:
    last, first = settings.noise_steps[-1], settings.noise_steps[0]
    left = {name: noise[name][-1] / noise[PLAIN][-1] for name in settings.scores[1:]}
    early = noise["control variate"][0] / noise[PLAIN][0]
    error = {case: np.abs(found - 1.0) for case, found in ratio.items()}
    smaller, best = {}, {}
    for method in settings.methods:
        for name in settings.scores[1:]:
            pairs = list(zip(error[method, PLAIN], error[method, name], strict=True))
            smaller[f"{method} with {name}"] = all(
                Estimate.of(plain).above(Estimate.of(less)) for plain, less in pairs
            )
            tops = [min(map(Estimate.of, error[method, each])) for each in (PLAIN, name)]
            best[f"{method} with {name}"] = (tops, tops[0].above(tops[1]))
    return [
        Claim(
            claim="Once a run has settled, reduced scores have far less noise than plain ones.",
            measured=f"Noise as a share of the plain score's at step {last}, "
            f"{noise['distance'][-1]:.3f} from the mode: "
            + "; ".join(f"{name} {share:.2g}" for name, share in left.items())
            + ".",
            verdict=verdict({name: share < FAR_LESS for name, share in left.items()}, "run as "),
            rule=f"Seen for an estimate when the share is below {FAR_LESS:g}.",
        ),
        Claim(
            claim="Far from its centre, a control variate makes the noise larger instead.",
            measured=f"{early:.3g} times the plain score's noise at step {first}, "
            f"{noise['distance'][0]:.2f} from the centre.",
            verdict=verdict({"control variate": early > 1}),
            rule="Seen when the noise at the first recorded step is above that of the plain score.",
        ),
        Claim(
            claim="At equal gradients and the same step size, reduced scores give a better "
            "posterior variance.",
            measured="Mean |variance ratio − 1| at steps "
            + ", ".join(f"{share:g}/λ" for share in settings.shares)
            + ": "
            + "; ".join(
                f"{method} with {name}: "
                + ", ".join(f"{value:.3f}" for value in found.mean(axis=1))
                for (method, name), found in error.items()
            )
            + f". The reference is known to {truth.variance_error:.3f}.",
            verdict=verdict(smaller, "run as "),
            rule="Seen for a method and an estimate when the error is smaller than with plain "
            "scores by more than two standard errors at every step size.",
        ),
        Claim(
            claim="That is so even when each may have the step size that suits it best.",
            measured="Smallest mean |variance ratio − 1| of the plain and of the reduced score: "
            + "; ".join(
                f"{case}: {plain.mean:.3f} and {less.mean:.3f}"
                for case, ((plain, less), _) in best.items()
            )
            + ". Nobody without the reference could choose that step.",
            verdict=verdict({case: seen for case, (_, seen) in best.items()}, "run as "),
            rule="Seen for a method and an estimate when the smallest of its errors is smaller "
            "than that with plain scores by more than two standard errors.",
        ),
    ]
