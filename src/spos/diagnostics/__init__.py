"""How good is a cloud of particles?"""

from spos.diagnostics import calibration
from spos.diagnostics.bias import BiasReport, bias
from spos.diagnostics.collapse import Collapse, collapse
from spos.diagnostics.compare import Comparison, compare
from spos.diagnostics.conformance import Check, Conformance, check_sampler
from spos.diagnostics.mixing import Mixing, mixing
from spos.diagnostics.mmd import MMDTest, mmd, mmd_test
from spos.diagnostics.spread import Spread, spread
from spos.diagnostics.stein import KSDTest, ksd, ksd_test
from spos.diagnostics.transport import sliced_wasserstein, wasserstein, wasserstein_1d

__all__ = [
    "BiasReport",
    "Check",
    "Collapse",
    "Comparison",
    "Conformance",
    "KSDTest",
    "MMDTest",
    "Mixing",
    "Spread",
    "bias",
    "calibration",
    "check_sampler",
    "collapse",
    "compare",
    "ksd",
    "ksd_test",
    "mixing",
    "mmd",
    "mmd_test",
    "sliced_wasserstein",
    "spread",
    "wasserstein",
    "wasserstein_1d",
]
