"""The posterior of a policy, and its parts; the mathematics is in `posterior.py`."""

from spos.targets.policy.memory import Memory
from spos.targets.policy.posterior import LogPrior, PolicyPosterior, policy_posterior
from spos.targets.policy.rows import standardized
from spos.targets.policy.task import Episodes, PolicyTask

__all__ = [
    "Episodes",
    "LogPrior",
    "Memory",
    "PolicyPosterior",
    "PolicyTask",
    "policy_posterior",
    "standardized",
]
