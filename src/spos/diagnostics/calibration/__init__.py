"""Is a predictive distribution honest?

`intervals.py` asks it of predictions of numbers, `classes.py` of probabilities of classes.
"""

from spos.diagnostics.calibration.classes import Reliability, brier, ece, nll
from spos.diagnostics.calibration.intervals import Coverage, coverage, pit

__all__ = ["Coverage", "Reliability", "brier", "coverage", "ece", "nll", "pit"]
