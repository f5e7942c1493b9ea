"""Other people's samplers on a model with a known answer, where they are installed."""

import numpy as np
import pytest

from spos_experiments.paper.accuracy import Settings, reference, rivals

HOMES = {"nutpie": "nutpie"}
FEW = {
    "LAPS_CHAINS": 200,
    "LAPS_STEPS": 100,
    "MEADS_STEPS": 300,
    "CHEES_WARMUP": 200,
    "CHEES_DRAWS": 100,
    "MCLMC_DRAWS": 500,
    "NUTPIE_STARTS": 12,
}


@pytest.mark.parametrize("name", rivals.RIVALS)
def test_a_rival_runs_and_is_not_far_off(name, monkeypatch):
    pytest.importorskip(HOMES.get(name, "blackjax"))
    for constant, value in FEW.items():
        monkeypatch.setattr(rivals, constant, value)
    truth = reference.make("heavy_tails", Settings(exact_draws=20_000))
    found = rivals.RIVALS[name]("heavy_tails", Settings())(0, None)
    assert found.evaluations > 0
    assert found.values.shape[1] == len(truth.mean)
    off = np.abs(found.values.mean(0) - truth.mean) / truth.sd
    assert off.max() < 0.3
