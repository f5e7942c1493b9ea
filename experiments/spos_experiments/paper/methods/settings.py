"""The methods, and everything that shapes the experiment but the seed."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import spos

BLOCKS = "svgd, blocks"
METHODS: dict[str, Callable[[Any, Any, int], spos.Sampler]] = {
    "sgld": lambda target, h, d: spos.sgld(target, h),
    "psgld": lambda target, h, d: spos.psgld(target, h),
    "sghmc": lambda target, h, d: spos.sghmc(target, h),
    "spos": lambda target, h, d: spos.spos(target, h),
    "noisy_svgd": lambda target, h, d: spos.noisy_svgd(target, h, kernel=spos.rbf(float(d))),
    "svgd": lambda target, h, d: spos.svgd(target, h),
    "svgd, imq": lambda target, h, d: spos.svgd(target, h, kernel=spos.imq()),
    BLOCKS: lambda target, h, d: spos.svgd(target, h, kernel=spos.rbf(1.0, blocks="entry")),
    "blob": lambda target, h, d: spos.blob(target, h),
    "gfsd": lambda target, h, d: spos.gfsd(target, h),
    "gfsf": lambda target, h, d: spos.gfsf(target, h),
    "pos": lambda target, h, d: spos.pos(target, h),
}
NOISY = ("sgld", "psgld", "sghmc", "spos", "noisy_svgd")


@dataclass(frozen=True)
class Settings:
    problems: tuple[str, ...] = ("Gaussian", "banana", "wide", "modes")
    methods: tuple[str, ...] = tuple(METHODS)
    grid: tuple[float, ...] = (0.01, 0.03, 0.1, 0.3)
    particles: int = 50
    wide_dimensions: int = 100
    num_steps: int = 1000
    repeats: int = 8
    choice_repeats: int = 2
    draws: int = 2000

    def quick(self) -> "Settings":
        return dataclasses.replace(
            self,
            problems=("modes",),
            methods=("sgld", "svgd"),
            grid=(0.03,),
            particles=20,
            num_steps=64,
            repeats=2,
            draws=200,
        )
