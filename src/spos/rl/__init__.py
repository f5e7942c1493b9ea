"""Policies as particles: Bayesian exploration in reinforcement learning (`docs/control.md`).

trained = spos.rl.train("swing_up", method="spos", estimator="a2c")
"""

from spos.rl.gymnasium import gymnasium
from spos.rl.policies import Network
from spos.rl.train import Learner, learner, train
from spos.rl.trained import Trained, load
from spos.rl.trajectories import Trajectories

__all__ = [
    "Learner",
    "Network",
    "Trained",
    "Trajectories",
    "gymnasium",
    "learner",
    "load",
    "train",
]
