"""Weights from the course of a training: kept on the way, saved beside the last ones, opened by their step."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from safetensors.torch import save_file
from test_training import Copies, plan, recipe, tiny_tokenizer

from core.checkpoints import history, open_model, steps_of
from core.errors import InputError
from core.models import families
from core.tools import train as command
from core.training.loop import engine
from core.training.loop.engine import train

KEPT = (0, 2, 5)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder made as `core.tools.train` makes it, and the weights that were kept."""
    work = tmp_path_factory.mktemp("work")
    config = replace(families()["gpt"].config.tiny(), d_model=36, n_vocab=300, n_ctx=8)
    made = recipe(Copies(n_vocab=300), config=config, keep_at=(*KEPT, 99))
    outcome = train(made, Copies(n_vocab=300), plan(work, steps=5), torch.device("cpu"))
    (work / "tokenizer.json").write_text(tiny_tokenizer().to_json())
    command.save(outcome, made, work, work / "out", 0, [])
    return work / "out" / made.name, engine.history(work, made.keep_at), outcome


def test_what_was_asked_for_is_kept(trained):
    folder, kept, outcome = trained
    assert tuple(kept) == history.steps(folder) == KEPT
    last = outcome.network.state_dict()
    assert all(torch.equal(kept[5][name], last[name]) for name in last)
    assert any(not torch.equal(kept[0][name], last[name]) for name in last)


def test_a_step_is_opened_with_its_weights(trained):
    folder, kept, _ = trained
    for step in KEPT:
        early = open_model(folder, step=step)
        assert early.name.endswith(f"at step {step}") and not any(
            w.requires_grad for w in early.network.parameters()
        )
        for name, value in early.network.state_dict().items():
            torch.testing.assert_close(value, kept[step][name].half().float(), rtol=0, atol=0)
    final = open_model(folder).run("cat").logits
    assert (open_model(folder, step=5).run("cat").logits == final).all()
    assert abs(open_model(folder, step=0).run("cat").logits - final).max() > 1e-3


def test_a_step_that_was_not_kept_is_refused_with_those_that_were(trained):
    with pytest.raises(InputError, match="no weights of step 3") as caught:
        open_model(trained[0], step=3)
    assert "0, 2, 5" in caught.value.rule


def test_most_models_have_no_history():
    assert steps_of("gpt-mini") == () and steps_of("no such model") == ()
    with pytest.raises(InputError, match="no weights of step 0"):
        open_model("gpt-mini", step=0)


@pytest.mark.parametrize(
    ("names", "metadata", "said"),
    [
        ({"x": (2, 3)}, {"steps": "0 2"}, "cannot be read"),
        ({"x": (2, 3)}, {}, "does not say its steps"),
        ({"x": (1,)}, {"steps": "-1 a"}, "its steps"),
    ],
)
def test_a_history_that_does_not_fit_is_refused(trained, tmp_path, names, metadata, said):
    folder = tmp_path / "model"
    folder.mkdir()
    for path in trained[0].iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    save_file(
        {name: torch.zeros(shape) for name, shape in names.items()}, folder / history.FILE, metadata=metadata
    )
    with pytest.raises(InputError, match=said):
        open_model(folder, step=0)


def test_weights_of_an_earlier_training_are_not_taken_for_those_of_this_one(tmp_path):
    made = recipe(Copies(), keep_at=KEPT)
    train(made, Copies(), plan(tmp_path, steps=5), torch.device("cpu"))
    train(made, Copies(), plan(tmp_path, steps=3), torch.device("cpu"))
    assert tuple(engine.history(tmp_path, KEPT)) == (0, 2)
