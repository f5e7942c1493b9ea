"""Everything that shapes the experiment but the seed."""

import dataclasses
from dataclasses import dataclass

from spos_experiments.frame.options import option
from spos_experiments.paper.mnist import protocol


@dataclass(frozen=True)
class Settings:
    datasets: tuple[str, ...] = option(
        ("mnist",), "which images", choices=("mnist", "digits"), one=True
    )
    methods: tuple[str, ...] = option(protocol.METHODS, "which methods", choices=protocol.METHODS)
    hidden: tuple[tuple[int, ...], ...] = option(
        ((400, 400), (800, 800)), "units of each hidden layer", at_least=1
    )
    epochs: int = option(20, "passes over the images", at_least=1)
    data: str | None = option(None, "the folder of the data (default: SPOS_DATA, then the cache)")
    particles: int = 20
    large: int = 800  # units of a layer, from which on there are fewer networks and epochs
    large_particles: int = 5
    large_epochs: int = 10  # at most
    batch: int = 100
    averaged: int = 5  # epochs at the end whose networks all take part, if they are many
    held: float = 1 / 60  # of the training images, to watch the error
    # Chosen by 5,000 of the training images in short runs: step sizes and σ of single networks and,
    # with five networks each, of SPOS, SVGD and SGLD, β of SPOS, and one bandwidth for both.
    tuned: tuple[tuple[str, float, float], ...] = (
        ("spos", 1e-3, 0.3),
        ("svgd", 1e-3, 0.3),
        ("sgld", 1e-3, 0.1),
        ("rmsprop", 1e-3, 0.1),
        ("sgd", 0.1, 1.0),
        ("dropout", 0.02, 1.0),
    )
    beta: float = 200.0
    bandwidth: float = 100.0  # of the kernel of SPOS and SVGD

    def quick(self) -> "Settings":
        return dataclasses.replace(
            self,
            datasets=("digits",),
            methods=("spos", "dropout"),
            hidden=((16, 16),),
            epochs=2,
            particles=4,
        )

    def plan(self, method: str, hidden: tuple[int, ...]) -> protocol.Plan:
        many, epochs = self.particles, self.epochs
        if max(hidden) >= self.large:
            many, epochs = self.large_particles, min(epochs, self.large_epochs)
        ((step_size, prior_scale),) = [
            (h, scale) for name, h, scale in self.tuned if name == method
        ]
        averaged = min(self.averaged, epochs)
        if method in protocol.ALONE:
            many = averaged = 1
        return protocol.Plan(
            *(method, hidden, many, epochs, self.batch),
            *(step_size, prior_scale, self.beta, self.bandwidth, averaged),
        )
