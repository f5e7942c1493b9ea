"""A sampler whose step size is left to `spos.sample`."""

from collections.abc import Mapping
from typing import Any

from spos import checks
from spos.interaction.kernels import rbf
from spos.types import Sampler, Target


def automatic(target: Target, settings: Mapping[str, Any]) -> Sampler:
    """What an algorithm builds when it gets no step size: its target and settings, but no step."""
    for name in ("group_size", "preconditioner"):
        if settings.get(name) is not None:
            raise ValueError(f"{name} must be None without a step_size, got {settings[name]!r}")
    if settings.get("kernel") not in (None, rbf()):
        raise ValueError(
            "kernel must be spos.rbf() or None without a step_size: it acts in coordinates that "
            f"are found by themselves, got {settings['kernel']!r}"
        )
    checks.positive("beta", settings["beta"])
    if checks.is_traced(settings["beta"]):
        raise TypeError("beta must be a plain number without a step_size, got a traced one")

    def refuse(*_: Any, **__: Any) -> Any:
        raise ValueError("step_size must be given here; spos.sample chooses one by itself")

    about = {**settings, "target": getattr(target, "settings", None)}
    return Sampler(refuse, refuse, target, about)


def is_automatic(sampler: Sampler) -> bool:
    return sampler.settings["step_size"] is None and sampler.settings.get("optimizer") is None


def kernel_weight(sampler: Sampler) -> float:
    """What the Stein field counts beside the score: β with a kernel, else nothing."""
    return 0.0 if sampler.settings.get("kernel") is None else float(sampler.settings["beta"])
