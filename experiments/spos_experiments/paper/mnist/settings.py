"""Everything that shapes the experiment but the seed."""

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from spos_experiments.frame.options import option
from spos_experiments.paper.mnist import protocol


class Scale(NamedTuple):
    """How much is spent on networks of a size, and how they are trained."""

    particles: int
    batch: int
    epochs: int  # at most
    seeds: int  # at most
    methods: tuple[str, ...] = ("spos", "svgd")  # unless others are asked for
    once: tuple[str, ...] = ()  # which of them have one seed
    input_noise: float = 0.9
    less_noise: tuple[str, ...] = ()  # which of them do better with half of it
    averaged: int = 5  # epochs (or cycles) at the end whose networks all take part, if many


USUAL = Scale(
    particles=5,
    batch=500,
    epochs=100,
    seeds=3,
    methods=("spos", "svgd", "sgld", "rmsprop", "sgd", "dropout"),
    once=("sgld", "rmsprop", "sgd", "dropout"),
    less_noise=("sgld", "dropout"),
)
LARGE = USUAL._replace(particles=3)
LENET = Scale(
    particles=3,
    batch=64,
    epochs=10,
    seeds=3,
    methods=("spos", "svgd", "sgld", "ensemble"),
    once=("sgld",),
    input_noise=0.5,
    averaged=2,
)


@dataclass(frozen=True)
class Settings:
    datasets: tuple[str, ...] = option(
        ("mnist",), "which images", choices=("mnist", "digits"), one=True
    )
    networks: tuple[str, ...] = option(
        ("dense", "lenet"), "which networks", choices=("dense", "lenet")
    )
    methods: tuple[str, ...] = option(
        (), "which methods (default: of each network some)", choices=protocol.METHODS
    )
    hidden: tuple[tuple[int, ...], ...] = option(
        ((400, 400), (800, 800)), "units of each hidden layer of dense networks", at_least=1
    )
    epochs: int = option(100, "passes over the images, at most", at_least=1)
    seeds: int = option(3, "independent repeats, counted from the seed, at most", at_least=1)
    data: str | None = option(None, "the folder of the data (default: SPOS_DATA, then the cache)")
    usual: Scale = USUAL
    large: Scale = LARGE
    large_from: int = 800  # units of a layer
    lenet: Scale = LENET
    channels: tuple[int, ...] = (12, 32, 128)  # of LeNet, and its units
    held: float = 1 / 60  # of the training images, to watch the error
    passes: bool = True
    tuned: tuple[tuple[str, float, float], ...] = (  # step sizes and σ
        ("spos", 2e-3, 1.0),
        ("svgd", 2e-3, 1.0),
        ("sgld", 1e-3, 0.1),
        ("ensemble", 2e-3, 1.0),
        ("rmsprop", 2e-3, 1.0),
        ("sgd", 0.1, 1.0),
        ("dropout", 0.08, 1.0),
    )
    beta: float = 1000.0
    bandwidth: float = 100.0  # of the kernel of SPOS and SVGD

    def quick(self) -> "Settings":
        return dataclasses.replace(
            self,
            datasets=("digits",),
            networks=("dense",),
            methods=("spos", "dropout"),
            hidden=((16, 16),),
            epochs=2,
            seeds=1,
            usual=Scale(4, 100, 2, 1),
        )

    def plans(self) -> Iterator[tuple[protocol.Plan, int]]:
        """What is run, and how often."""
        sizes = [("dense", hidden) for hidden in self.hidden if "dense" in self.networks]
        if "lenet" in self.networks:
            sizes.append(("lenet", self.channels))
        for network, hidden in sizes:
            scale = self.scale(network, hidden)
            for method in self.methods or scale.methods:
                if method in protocol.ALLOWED[network]:
                    repeats = 1 if method in scale.once else min(self.seeds, scale.seeds)
                    yield self.plan(method, network, hidden), repeats

    def scale(self, network: str, hidden: tuple[int, ...]) -> Scale:
        if network == "lenet":
            return self.lenet
        return self.large if max(hidden) >= self.large_from else self.usual

    def plan(self, method: str, network: str, hidden: tuple[int, ...]) -> protocol.Plan:
        scale = self.scale(network, hidden)
        many, epochs = scale.particles, min(self.epochs, scale.epochs)
        ((step_size, prior_scale),) = [
            (h, width) for name, h, width in self.tuned if name == method
        ]
        averaged = min(scale.averaged, epochs)
        if method in protocol.ALONE:
            many = averaged = 1
        input_noise = scale.input_noise / (2 if method in scale.less_noise else 1)
        return protocol.Plan(
            *(method, network, hidden, many, epochs, scale.batch),
            *(step_size, prior_scale, self.beta, self.bandwidth, averaged),
            *(input_noise, self.passes, 1),
        )
