"""The recipe of docs/networks.md, where jax2onnx is installed: it wants another Orbax than ours."""

import re

import numpy as np
import pytest
from reference import DOCS

from spos import SPOSRegressor

RECIPE = re.compile(r"^```python\n([^`]*to_onnx[^`]*)^```$", re.MULTILINE)


@pytest.mark.filterwarnings("ignore")  # of jax2onnx
def test_a_network_leaves_as_onnx(tmp_path, monkeypatch):
    for package in ("jax2onnx", "onnx", "onnxruntime"):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).normal(size=(100, 3))
    few = {"n_particles": 3, "num_steps": 200, "random_state": 0, "target_transform": "none"}
    model = SPOSRegressor((10, 5), noise="constant", **few).fit(X, X[:, 0] ** 2)
    names = {"model": model, "X_new": X[:7]}
    (recipe,) = RECIPE.findall((DOCS / "networks.md").read_text(encoding="utf-8"))
    exec(recipe, names)
    np.testing.assert_allclose(names["mean"], model.predict(X[:7]), rtol=1e-5, atol=1e-5)
