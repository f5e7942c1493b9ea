"""Train policies on a task.

trained = spos.rl.train("swing_up", method="spos", gradient="a2c", num_iterations=300)
act = trained.policy(jax.random.key(0))
"""

from collections.abc import Sequence
from typing import Any

from spos import checks
from spos.dynamics.schedules import StepSize
from spos.interaction.kernels import Bandwidth, rbf
from spos.loop.arguments import Callback
from spos.rl import advantages, envs, policies
from spos.rl.gradients import GRADIENTS
from spos.rl.learning import Learner
from spos.rl.methods import METHODS
from spos.rl.policies import HIDDEN
from spos.rl.task import task
from spos.rl.trained import Trained
from spos.targets.policy import LogPrior, policy_posterior
from spos.targets.policy.surrogates import LogProbability, clipped
from spos.types import Number, PathLike


def learner(
    environment: Any,
    method: str = "spos",
    gradient: str = "a2c",
    *,
    num_iterations: int = 100,
    num_particles: int = 16,
    num_episodes: int | None = None,
    step_size: StepSize | None = None,
    beta: Number | None = None,
    bandwidth: Bandwidth = "median",
    alpha: Number = 10.0,
    gamma: Number = 0.99,
    lam: Number | None = None,
    critic: str | None = None,
    clip: Number = 0.2,
    num_epochs: int | None = None,
    num_minibatches: int | None = None,
    entropy: Number = 0.0,
    damping: Number | None = None,
    standardize: bool = True,
    normalize_observations: bool | None = None,
    normalize_returns: bool = False,
    log_prior: LogPrior | None = None,
    hidden: Sequence[int] = HIDDEN,
    network: Any = None,
) -> Learner:
    """What `train` trains, to be trained from several seeds or looked at.

    Where None is allowed, it stands for what suits the gradient (`spos.rl.gradients`).

    Args:
        environment: a name from `spos.rl.envs.ENVIRONMENTS`, an `Environment`, or
            `spos.rl.gymnasium(...)`.
        method: "spos", "svpg" or "independent".
        gradient: of the policy, "ppo", "a2c" or "reinforce".
        num_iterations: how many steps all policies take.
        num_particles: how many policies learn.
        num_episodes: of each particle in every iteration.
        step_size: of Adam, a number above 0 or a schedule.
        beta: 1/β weighs each policy's own gradient and the noise ("spos" alone).
        bandwidth: η² of the kernel between policies, a number above 0 or "median" for the median
            rule (not "independent").
        alpha: the temperature of the posterior, above 0.
        gamma: the discount γ, from 0 to 1.
        lam: λ of generalized advantages, from 0 to 1 (not "reinforce").
        critic: "linear" or "network" (not "reinforce").
        clip: how far the probability of an action may move in an iteration, as a share ("ppo").
        num_epochs: how often all episodes of an iteration are used ("ppo").
        num_minibatches: in how many steps each time ("ppo").
        entropy: a bonus for each unit of entropy of an action's law, in units of the advantages.
        damping: that of natural gradients, say .1; plain gradients without.
        standardize: bring each particle's advantages to mean 0 and deviation 1.
        normalize_observations: let policies see observations in deviations of all so far.
        normalize_returns: measure rewards in deviations of all returns so far.
        log_prior: log p of one policy's parameters; flat without.
        hidden: the widths of the layers of a policy.
        network: one of one's own instead, with `init` and `apply` (`spos.rl.Network`).

    Returns:
        The learner.

    Raises:
        ValueError: if an argument is out of range or no known name.
        TypeError: if the environment lacks what a task needs.

    Example:
        >>> learner = spos.rl.learner("cartpole", method="svpg", num_particles=4)
        >>> learner.settings["step_size"], learner.settings["gradient"]
        (0.005, 'a2c')
    """
    if isinstance(environment, str):
        environment = envs.make(checks.one_of("environment", environment, envs.ENVIRONMENTS))
    for name in ("name", "observation_size", "actions", "horizon"):
        if not hasattr(environment, name):
            raise TypeError(f"environment must have {name}, got {environment!r}")
    checks.one_of("method", method, METHODS)
    usual = GRADIENTS[checks.one_of("gradient", gradient, GRADIENTS)]
    num_episodes = usual.num_episodes if num_episodes is None else num_episodes
    step_size = usual.step_size if step_size is None else step_size
    beta = usual.beta if beta is None else beta
    lam = usual.lam if lam is None else lam
    critic = usual.critic if critic is None else critic
    num_epochs = usual.num_epochs if num_epochs is None else num_epochs
    if num_minibatches is None:
        num_minibatches = usual.num_minibatches
    if normalize_observations is None:
        normalize_observations = usual.normalize_observations
    checks.whole("num_particles", num_particles, at_least=2 if method == "svpg" else 1)
    checks.whole("num_episodes", num_episodes)
    judge = advantages.make(gradient, gamma, lam, critic)
    policy = policies.make(environment.observation_size, environment.actions, hidden, network)
    target = policy_posterior(
        task(environment, policy, judge, num_episodes),
        alpha,
        num_iterations=num_iterations,
        log_prior=log_prior,
        standardize=standardize,
        surrogate=clipped(clip, num_epochs, num_minibatches)
        if gradient == "ppo"
        else LogProbability(),
        entropy=entropy,
        damping=damping,
        normalize_observations=normalize_observations,
        normalize_returns=normalize_returns,
    )
    sampler = METHODS[method](target, step_size, beta, rbf(bandwidth))
    return Learner(environment, method, gradient, sampler, num_particles)


def train(
    environment: Any,
    method: str = "spos",
    gradient: str = "a2c",
    *,
    seed: int = 0,
    callback: Callback | None = None,
    progress: bool | None = None,
    checkpoint: PathLike | None = None,
    checkpoint_every: float = 30.0,
    **settings: Any,
) -> Trained:
    """Train policies on a task.

    Args:
        environment: a name from `spos.rl.envs.ENVIRONMENTS`, an `Environment`, or
            `spos.rl.gymnasium(...)`.
        method: "spos", "svpg" or "independent".
        gradient: of the policy, "ppo", "a2c" or "reinforce".
        seed: the same seed gives the same bits.
        callback: called as `callback(state, info)` after each iteration; a true return value ends
            the run.
        progress: show a progress line; by default only on a terminal.
        checkpoint: a folder to save the run in and to go on from, to the same bits.
        checkpoint_every: the number of seconds between two saves.
        **settings: the other arguments of `spos.rl.learner`, such as `num_iterations`,
            `num_particles`, `num_episodes` and `step_size`.

    Returns:
        The policies, and how their returns grew.

    Raises:
        NonFiniteError: if a particle, an observation or a reward leaves the finite numbers; its
            `state` is the last good one.

    Example:
        >>> trained = spos.rl.train("cartpole", num_iterations=2, num_particles=2, num_episodes=2)
        >>> act = trained.policy()
        >>> act([0.0, 0.0, 0.1, 0.0]).shape
        (1,)
    """
    made = learner(environment, method, gradient, **settings)
    return made.train(
        seed,
        callback=callback,
        progress=progress,
        checkpoint=checkpoint,
        checkpoint_every=checkpoint_every,
    )
