"""Folders that other releases wrote."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import gladius
from gladius.own_data.results.saved import save
from gladius.validate import InputError

FITS: dict[str, dict[str, Any]] = {
    "smooth": {},
    "sparse": {"function_class": "sparse"},
    "formula": {"method": "nfxp", "reward": "0 + s0:action_0 + action_1"},
}


@pytest.mark.parametrize("name", FITS)
def test_a_folder_of_0_4_names_modules_that_have_moved(name: str, tmp_path: Path) -> None:
    known = {"anchor_action": 1, "anchor_reward": -5.0, "discount": 0.95}
    fit = gladius.fit(gladius.BusEngine().simulate(60, rng=0), **known, **FITS[name])
    fit.save(tmp_path)
    file = tmp_path / "results.json"
    text = file.read_text("utf-8").replace('"format": 3', '"format": 2')
    older = text.replace('"gladius.own_data.formula:', '"gladius.model.formula:')
    older = older.replace('"gladius.own_data.', '"gladius.')
    assert older.count('"gladius.') == text.count('"gladius.')
    file.write_text(older, "utf-8")
    (tmp_path / "SHA256SUMS").unlink()  # 0.4 wrote none
    assert gladius.load(tmp_path).summary() == fit.summary()


def test_a_fit_with_a_lambda_of_ones_own_is_refused(tmp_path: Path) -> None:
    known = {"anchor_action": 1, "anchor_reward": -5.0, "discount": 0.95}
    fit = gladius.fit(gladius.BusEngine().simulate(60, rng=0), **known)
    older = replace(fit, options={"penalty": 1.0})
    for name, value in (("one", older), ("many", [fit, older])):
        save(value, tmp_path / name)
        with pytest.raises(InputError, match=r"option = 'penalty'.*load it with release 0\.4\.0"):
            gladius.load(tmp_path / name)


@pytest.mark.parametrize("text", ['{"format": 4, "value": null}', '{"object": "of 0.3"}'])
def test_a_folder_of_0_3_or_of_a_later_release_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "results.json").write_text(text)
    (tmp_path / "arrays.npz").touch()
    with pytest.raises(InputError, match=r"this release reads formats \(2, 3\): load it with the"):
        gladius.load(tmp_path)
