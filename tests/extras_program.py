"""One extra of the package alone: nothing but its own requirements can be imported.

    python extras_program.py pymc

What `pip install 'spos[pymc]'` would bring along is read from the metadata of the installed
packages; everything else is hidden, as if it were not there.
"""

import importlib.metadata
import pathlib
import re
import sys
from importlib.machinery import PathFinder

from packaging.requirements import Requirement

USES = {
    "plot": "import matplotlib.pyplot; result.plot()",
    "arviz": "import arviz_stats; assert type(result.to_arviz()).__name__ == 'DataTree'",
    "numpyro": "import numpyro\n"
    "spos.fit(lambda: numpyro.sample('x', numpyro.distributions.Normal()))",
    "pymc": "import pymc; spos.pymc; model = pymc.Model()\n"
    "with model: pymc.Normal('x')\n"
    "spos.from_pymc(model); assert type(result.to_arviz()).__name__ == 'InferenceData'\n"
    "import arviz_stats",
    "diagnostics": "import scipy; spos.diagnostics.collapse(log_prob, result.particles)",
    "sklearn": "spos.SPOSRegressor()",
    "demo": "result.plot(); spos.SPOSRegressor()",
    "rl": "import gymnasium; spos.rl.gymnasium('CartPole-v1')",
    "film": "import gymnasium, pygame, PIL",
    "hosts": "import orbax.checkpoint",
}
FIRST = """
import jax.numpy as jnp, spos
log_prob = lambda x: -0.5 * (x**2).sum()
result = spos.sample(spos.sgld(log_prob, step_size=0.1), jnp.ones((4, 2)), num_steps=2)
"""


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def closure(name: str, extra: str, found: set[str]) -> set[str]:
    """The distributions that an installation would bring along."""
    found.add(canonical(name))
    for line in importlib.metadata.requires(name) or []:
        one = Requirement(line)
        if one.marker is not None and not one.marker.evaluate({"extra": extra}):
            continue
        for more in one.extras or [""]:
            if canonical(one.name) not in found or more:
                try:
                    closure(one.name, more, found)
                except importlib.metadata.PackageNotFoundError:
                    sys.exit(f"{name} requires {one}, which is not installed")
    return found


class Visible:
    """Finds what Python finds on its path, but for the modules of distributions not allowed."""

    def __init__(self, allowed: set[str]) -> None:
        spec = PathFinder.find_spec("setuptools")
        own = pathlib.Path(spec.origin).parent / "_vendor" if spec is not None else None
        copies = {each.name for each in own.iterdir()} if own and own.is_dir() else set()
        known = importlib.metadata.packages_distributions()
        # setuptools brings copies of some packages, which may be installed beside it too
        self.homes = {top: homes for top, homes in known.items() if top not in copies}
        self.allowed = allowed

    def find_spec(self, fullname, path=None, target=None):
        homes = self.homes.get(fullname.partition(".")[0], [])
        if homes and not any(canonical(home) in self.allowed for home in homes):
            return None
        return PathFinder.find_spec(fullname, path, target)

    def find_distributions(self, *args, **kwargs):
        return PathFinder.find_distributions(*args, **kwargs)


def main(extra: str) -> None:
    allowed = closure("spos", extra, set())
    true_version = importlib.metadata.version

    def version(name: str) -> str:
        if canonical(name) not in allowed:
            raise importlib.metadata.PackageNotFoundError(name)
        return true_version(name)

    importlib.metadata.version = version
    for name in [name for name in sys.modules if name.startswith("packaging")]:
        del sys.modules[name]
    seen = Visible(allowed)
    sys.meta_path[:] = [seen if each is PathFinder else each for each in sys.meta_path]
    exec(FIRST + USES[extra], {})
    print(f"{extra}: {len(allowed)} packages are enough")


if __name__ == "__main__":
    main(sys.argv[1])
