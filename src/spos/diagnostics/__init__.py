"""How good is a cloud of particles?"""

from spos.diagnostics.transport import sliced_wasserstein, wasserstein_1d

__all__ = ["sliced_wasserstein", "wasserstein_1d"]
