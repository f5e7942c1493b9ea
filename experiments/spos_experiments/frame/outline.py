"""Where the claims come from: which experiment belongs to which section of the paper, and which
claims are our own.

An experiment that is not listed is our own, with all its claims. Of the others the claims in `OWN`
are: they go beyond what the paper says, or explain it.
"""

from spos_experiments.frame.record import Claim, Record

SECTIONS = {
    "3. SPOS, and a pitfall of SVGD": ("collapse", "multimode"),
    "4. Non-asymptotic convergence": ("theory",),
    "5.1 Sampling a Gaussian distribution": ("gaussian", "particles"),
    "5.2 Bayesian networks for regression": ("regression",),
    "5.3 Bayesian exploration in reinforcement learning": ("control",),
    "Appendix: extra experiments": ("posterior", "toys", "mnist"),
}
OURS = "Our own"

OWN = {
    "particles": ("Our explanation: not the number of particles raises the error",),
    "theory": (
        "M^(−1/2) is the rate, and not only a bound on it.",
        "It decays at least as fast as exp(−λ1τ), which is what the proof gives.",
        "The bound's three terms, fitted to short runs on one target, choose well on another.",
    ),
    "control": ("The best policy passes the peak that the reference implementation",),
    "mnist": (
        "400-400: the average of the networks knows better",
        "800-800: the average of the networks knows better",
        "400-400: SPOS is wrong on at most",
        "800-800: SPOS is wrong on at most",
        "LeNet: SPOS is wrong on at most",
        "LeNet: SPOS errs no more often",
        "LeNet: the average of the networks knows better",
        "LeNet: SPOS doubts more",
    ),
}


def section(made: Record) -> str:
    """The section of the paper that an experiment belongs to, or `OURS`."""
    found = (title for title, names in SECTIONS.items() if made.experiment in names)
    return next(found, OURS)


def is_own(made: Record, claim: Claim) -> bool:
    """Is the claim ours, and not the paper's?"""
    return section(made) == OURS or claim.claim.startswith(OWN.get(made.experiment, ()) or ("\0",))
