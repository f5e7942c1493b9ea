"""Distributions to sample from."""

from spos.targets import likelihoods, priors
from spos.targets.layers import relu_network, tanh_network
from spos.targets.network import BayesianNetwork, bnn
from spos.targets.posterior import Posterior
from spos.targets.target import as_target, score_particles

__all__ = [
    "BayesianNetwork",
    "Posterior",
    "as_target",
    "bnn",
    "likelihoods",
    "priors",
    "relu_network",
    "score_particles",
    "tanh_network",
]
