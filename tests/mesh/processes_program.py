"""One process of several that make runs together; `started.start` calls `main`.

A phase is the name of a case of `mesh_cases`, which is run over all processes, or a method below.
Process 0 writes what came out to the folder.
"""

import os
import signal
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from mesh_cases import IN_PROCESSES, NUM_STEPS, SEED, checkpointed, fitted, same_bits

import spos


def main(coordinator, count, number, folder, *phases):
    jax.distributed.initialize(coordinator, count, number)
    part = Part(count, number, Path(folder))
    for phase in phases:
        part.case(phase) if phase in IN_PROCESSES else getattr(part, phase)()
        print(f"{phase} is done", flush=True)


class Part:
    """What one of the processes does."""

    def __init__(self, count, number, folder):
        self.number, self.last, self.folder = number, count - 1, folder
        self.mesh = spos.mesh.particle_mesh()
        self.spos, self.cloud = IN_PROCESSES["spos"]()

    def go(self, sampler=None, start=None, seed=SEED, **options):
        particles = spos.mesh.shard(self.cloud if start is None else start, self.mesh)
        sampler = sampler or self.spos
        return spos.sample(sampler, particles, NUM_STEPS, seed=seed, history_every=3, **options)

    def keep(self, name, result):
        kept = {"particles": result.particles, "history": result.history}
        whole = spos.mesh.gather(kept)
        if self.number == 0:
            found = {
                jax.tree_util.keystr(path): leaf for path, leaf in jax.tree.leaves_with_path(whole)
            }
            np.savez(self.folder / f"{name}.npz", **found)
        return whole

    def case(self, name):
        result = self.go(*IN_PROCESSES[name](), progress=True)
        assert not jax.tree.leaves(result.particles)[0].is_fully_addressable
        self.keep(name, result)
        result.save(self.folder / "result.npz")  # process 0 alone writes
        print(result.summary().title)

    def errors(self):
        """What can go wrong in one of them, and what one of them decides."""
        print("seeds:", self.error_of(seed=self.number))
        law = [lambda x: -0.5 * jnp.sum(x**2), lambda x: -0.6 * jnp.sum(x**2)][self.number]
        print("code:", self.error_of(sampler=spos.spos(law, 0.1)))
        print("callback:", self.error_of(callback=self.fail_in_last))
        print("bad argument:", self.error_of(callback_every=self.number))
        print("stopped by the last:", self.stops(self.last).num_steps)
        print("stopped by the first:", self.stops(0).num_steps)
        ended = self.go(callback=self.terminate_last, callback_every=2)
        print("terminated:", ended.interrupted, ended.num_steps < NUM_STEPS)
        try:
            self.go(spos.spos(self.spos.target, 1e30))
        except spos.NonFiniteError as error:
            print("not finite:", error, int(error.state.step))

    def error_of(self, **options):
        try:
            self.go(**options)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        return "no error"

    def stops(self, process):
        return self.go(callback=lambda *_: self.number == process, callback_every=2)

    def fail_in_last(self, *_):
        if self.number == self.last:
            raise KeyError("lost it")

    def terminate_last(self, *_):
        if self.number == self.last:
            os.kill(os.getpid(), signal.SIGTERM)

    def fit(self):
        """A hierarchy; process 0 alone judges, and all are told."""
        fit = fitted(self.mesh)
        np.savez(self.folder / f"fit of {self.last + 1}, {self.number}.npz", draws=fit.draws)
        print("verdict:", fit.verdict.checks[0].value, fit.evaluations, fit.converged)

    def fit_errors(self):
        """What one of them is given, or decides, is what all do."""
        if self.number == self.last:
            (self.folder / "pid").write_text(str(os.getpid()))
        for name, options in {
            "fit, seeds": {"seed": self.number},
            "fit, callback": {"callback": self.fail},
            "fit, stopped": {
                "callback": lambda progress: progress.evaluations > 3000,
                "checkpoint": self.folder / "fit",
            },
            "fit, terminated": {"callback": self.terminate_other},
        }.items():
            try:
                fit = fitted(self.mesh, **options)
                print(f"{name}: {fit.interrupted} {fit.evaluations}")
            except Exception as error:
                print(f"{name}: {type(error).__name__}: {error}")

    def fail(self, progress):
        raise KeyError("lost it")

    def terminate_other(self, progress):
        os.kill(int((self.folder / "pid").read_text()), signal.SIGTERM)

    def uncaught(self):
        """An error in the last process, while the others wait for it."""
        if self.number == self.last:
            raise ZeroDivisionError("nobody caught me")
        self.go()

    def half(self):
        """A run that is stopped, and saved."""
        checkpointed(self.folder / "half", self.mesh, lambda state, info: int(state.step) == 20)

    def killed(self):
        """A run of which the last process is killed, some time after a checkpoint."""

        def kill(state, info):
            if self.number == self.last and int(state.step) >= 20:
                os.kill(os.getpid(), signal.SIGKILL)

        checkpointed(self.folder / "killed", self.mesh, kill)

    def resumed(self):
        """Both of these go on; the killed one was of as many processes, and ends in the same
        bits."""
        steps = []
        for name in ("half", "killed"):
            here = checkpointed(
                self.folder / name, self.mesh, lambda state, info: steps.append(int(state.step))
            )
            self.keep(name, here)
        assert min(steps) > 4, steps  # none began anew
        whole = self.keep("whole", checkpointed(None, self.mesh))
        kept = {"particles": here.particles, "history": here.history}
        print("same bits:", same_bits(whole, spos.mesh.gather(kept)))
