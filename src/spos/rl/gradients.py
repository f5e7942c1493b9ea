"""Policy gradients by name, and the settings that suit each.

    reinforce    discounted returns, one step on each set of episodes
    a2c          generalized advantages with a linear critic, one step
    ppo          generalized advantages with a network as critic, and many steps on the same
                 episodes along a clipped surrogate; observations are normalized

The first two are those of the paper's experiment. Every setting can be changed by itself; a learner
takes from here what it is not told.
"""

from dataclasses import dataclass

from spos.dynamics.schedules import StepSize
from spos.types import Number


@dataclass(frozen=True)
class Usual:
    """The usual settings of a gradient.

    Attributes:
        num_episodes: of each particle in every iteration.
        step_size: of Adam.
        lam: λ of generalized advantages.
        critic: "linear" or "network".
        num_epochs: how often all rows of an iteration are used.
        num_minibatches: in how many steps each time.
        normalize_observations: do policies see observations in their deviations?
        beta: 1/β weighs each policy's own gradient and the noise of SPOS.
    """

    num_episodes: int = 20
    step_size: StepSize = 5e-3
    lam: Number = 1.0
    critic: str = "linear"
    num_epochs: int = 1
    num_minibatches: int = 1
    normalize_observations: bool = False
    beta: Number = 1e5


GRADIENTS = {
    "reinforce": Usual(),
    "a2c": Usual(),
    "ppo": Usual(
        num_episodes=8,
        step_size=3e-3,
        lam=0.95,
        critic="network",
        num_epochs=4,
        num_minibatches=4,
        normalize_observations=True,
        beta=1e8,
    ),
}
