"""`spos paper gymnasium`: are the small tasks of Gymnasium solved through `spos.rl.gymnasium`?

    CartPole-v1                  475    keep a pole up, two choices
    Pendulum-v1                 -200    swing a pole up and hold it, torque
    Acrobot-v1                  -100    swing two links up, three choices
    MountainCarContinuous-v0      90    leave a valley by swinging; nothing is earned before
    LunarLander-v3               200    land between flags, four choices
    HalfCheetah-v5              4800    run, six joints

A few policies learn together by SPOS-PG with PPO's gradient. The numbers are what the tasks'
authors call solved, but for the pendulum, which has none. Judged are 100 new episodes, without
noise of actions, by all policies together (`trained.policy()`) and by each of them. The last two
take long and are learned when `--tasks` names them, as far as their number of iterations goes.

**Exploration.** In the valley of MountainCar nothing but the cost of moving is felt until a policy
leaves it for the first time; one that never does learns to stand still. So this task is also
learned by SVPG and by policies that learn alone, from several seeds: what share of the policies
leaves the valley?

**Beside others.** With `--rivals stable-baselines3`, PPO of that library learns the same tasks: one
policy, as many steps as each of ours may take, the same discount, everything else its default.

A task that has ended is a file in `runs/`, and one that has not is a checkpoint there.

    pip install 'spos[rl]'
    spos paper gymnasium
    spos paper gymnasium --tasks CartPole-v1 --seeds 3
    pip install --editable './experiments[control]'
    spos paper gymnasium --rivals stable-baselines3
"""

from collections.abc import Iterator
from pathlib import Path

from spos_experiments.frame import resume
from spos_experiments.frame.experiment import Findings, Tick
from spos_experiments.paper.gymnasium import learn
from spos_experiments.paper.gymnasium.figures import draw
from spos_experiments.paper.gymnasium.findings import findings
from spos_experiments.paper.gymnasium.learn import Outcome
from spos_experiments.paper.gymnasium.settings import OWN, Job, Settings

__all__ = ["ABOUT", "TITLE", "Settings", "draw", "results"]

TITLE = "Small tasks of Gymnasium"
ABOUT = "Four policies learn each task together, through the adapter for Gymnasium."


def results(settings: Settings, seed: int, tick: Tick, folder: Path) -> Iterator[Findings]:
    mark = resume.mark(settings.num_particles, settings.judged_episodes, settings.changed)
    store = resume.store(folder)
    places = {
        job: store / f"{'-'.join(map(str, job))}-{resume.mark(OWN[job.task], mark)}.npz"
        for job in settings.jobs(seed)
    }

    def make(job: Job, state: Path, tick: Tick) -> Outcome:
        return learn.outcome(settings, job, state)

    found: dict[Job, Outcome] = {}
    for job, one in resume.in_turn(places, Outcome, make, lambda job: 1, tick):
        found[job] = one
        yield findings(settings, seed, found)
