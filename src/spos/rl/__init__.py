"""Policies as particles: Bayesian exploration in reinforcement learning (`docs/control.md`).

trained = spos.rl.train("swing_up", method="spos", gradient="a2c")
"""

from spos.rl import deployed
from spos.rl.csv_log import csv_log
from spos.rl.gymnasium import gymnasium
from spos.rl.learning import Learner
from spos.rl.stack import train_stack
from spos.rl.train import learner, train
from spos.rl.trained import Trained, load
from spos.rl.trajectories import Trajectories
from spos.targets.layers import Network

__all__ = [
    "Learner",
    "Network",
    "Trained",
    "Trajectories",
    "csv_log",
    "deployed",
    "gymnasium",
    "learner",
    "load",
    "train",
    "train_stack",
]
