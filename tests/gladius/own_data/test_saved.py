"""Folders that 0.3.0 wrote: `save` of fits to six buses of the bus engine."""

import shutil
from pathlib import Path

import numpy as np
import pytest

import gladius
from gladius.validate import InputError

FOLDER = Path(__file__).with_name("saved_by_0_3")
# folder -> today's method, r at the first two states as 0.3.0 printed it, to six digits
WRITTEN = {
    "smooth": ("profiled_erm smooth", [[-0.587744, -5.0], [-2.582158, -5.0]]),
    "sparse": ("profiled_erm sparse", [[-0.641701, -5.0], [-2.610179, -5.0]]),
    "mlp": ("profiled_erm mlp", [[-0.961902, -5.0], [-2.316645, -5.0]]),
    "nfxp": ("nfxp", [[-0.997207, -5.409462], [-2.99162, -5.409462]]),
    "printed": (
        "gladius (printed, algorithm_1, mlp)",
        [[-1.085068, 0.465796], [-0.346136, -0.513301]],
    ),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_a_folder_of_0_3_is_what_it_was(name: str) -> None:
    method, rewards = WRITTEN[name]
    found = gladius.load(FOLDER / name)
    assert found.method == method
    assert found.name == method.split()[0]
    shown = found.reward_function(found.data.states[:2])
    np.testing.assert_allclose(shown, rewards, rtol=0, atol=1e-6)  # of which half is in the print


def test_a_folder_of_0_3_can_be_saved_again(tmp_path: Path) -> None:
    gladius.load(FOLDER / "smooth").save(tmp_path)
    assert '"format": 3' in (tmp_path / "results.json").read_text()
    assert gladius.load(tmp_path).summary() == gladius.load(FOLDER / "smooth").summary()


def of_formula() -> gladius.Results:
    data, known = gladius.BusEngine().simulate(60, rng=0), {"anchor_action": 1, "discount": 0.95}
    reward = "0 + s0:action_0 + action_1"
    return gladius.fit(data, "nfxp", reward=reward, anchor_reward=-5.0, **known)


@pytest.mark.parametrize("name", ["smooth", "sparse", "formula"])
def test_a_folder_of_0_4_names_modules_that_have_moved(name: str, tmp_path: Path) -> None:
    fit = of_formula() if name == "formula" else gladius.load(FOLDER / name)
    fit.save(tmp_path)
    file = tmp_path / "results.json"
    text = file.read_text("utf-8").replace('"format": 3', '"format": 2')
    older = text.replace('"gladius.own_data.formula:', '"gladius.model.formula:')
    older = older.replace('"gladius.own_data.', '"gladius.')
    assert older.count('"gladius.') == text.count('"gladius.')
    file.write_text(older, "utf-8")
    (tmp_path / "SHA256SUMS").unlink()  # 0.4 wrote none
    assert gladius.load(tmp_path).summary() == fit.summary()


def test_a_folder_of_a_later_release_is_refused(tmp_path: Path) -> None:
    shutil.copytree(FOLDER / "smooth", tmp_path, dirs_exist_ok=True)
    (tmp_path / "results.json").write_text('{"format": 4, "value": null}')
    with pytest.raises(InputError, match=r"format = 4: this release reads formats 1 to 3"):
        gladius.load(tmp_path)
