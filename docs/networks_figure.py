"""Draws images/networks.png for networks.md: python docs/networks_figure.py"""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from spos import SPOSRegressor

SEED = 0


def draw(path: Path) -> None:
    rng = np.random.default_rng(SEED)
    x = np.concatenate([rng.uniform(-4, -1, 200), rng.uniform(1, 4, 200)])
    y = np.sin(1.5 * x) + np.where(x < 0, 0.1, 0.4) * rng.normal(size=400)
    model = SPOSRegressor(noise="heteroscedastic", random_state=SEED).fit(x[:, None], y)

    grid = np.linspace(-6, 6, 400)
    mean = model.predict(grid[:, None])
    aleatoric, epistemic = model.predict_variance(grid[:, None])
    low, high = model.predict_interval(x[:, None], 0.9)
    print(f"{np.mean((low < y) & (y < high)):.1%} of the 400 rows lie in their 90% interval")
    for place in (-2.5, 2.5, 0.0, 6.0):
        noise, doubt = (np.sqrt(v[0]) for v in model.predict_variance([[place]]))
        print(f"x = {place:4.1f}: noise {noise:.2f}, doubt {doubt:.2f}")

    figure, axes = plt.subplots(figsize=(8, 3.6), layout="constrained")
    whole, doubt = 2.0 * np.sqrt(aleatoric + epistemic), 2.0 * np.sqrt(epistemic)
    axes.fill_between(grid, mean - whole, mean + whole, color="#dbe7f3", label="± 2 sd of y")
    axes.fill_between(grid, mean - doubt, mean + doubt, color="#8fb8de", label="± 2 sd of doubt")
    axes.plot(grid, mean, color="#1f4e79", label="mean")
    axes.plot(x, y, ".", color="#444444", markersize=3, label="data")
    axes.set(xlabel="x", ylabel="y", xlim=(-6, 6), ylim=(-5, 5))
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, ncols=4, loc="upper center")
    figure.savefig(path, dpi=130)


if __name__ == "__main__":
    draw(Path(__file__).parent / "images" / "networks.png")
