"""Distributions to sample from."""

from spos.targets import likelihoods, priors
from spos.targets.network import bnn

__all__ = ["bnn", "likelihoods", "priors"]
