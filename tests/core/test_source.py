"""Every tensor of an attention has the line that made it, every line its tensor, in every family."""

from __future__ import annotations

import itertools
import math
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import torch
from small_models import build

import core
from core import edits
from core.analysis.arithmetic.source import SourceLine, source_lines, source_paths, tensor_card
from core.models import families

ROOT = Path(core.__file__).parents[1]
CASES = [
    ("gpt", {"order": "pre"}),
    ("gpt", {"order": "post"}),
    ("gpt", {"attention_only": True}),
    ("bert", {}),
    ("albert", {}),
    ("transformer", {"order": "pre"}),
    ("transformer", {"order": "post"}),
    *(
        (family, {})
        for family in ("llama", "neox", "modernbert", "gemma", "gpt_neo", "t5", "mpnet", "deberta")
    ),
    *(
        ("seq2seq", {"attention": attention, "score": score, "cell": cell})
        for attention, score, cell in (
            ("bahdanau", "concat", "lstm"),
            ("luong-global", "general", "rnn"),
            ("luong-global", "cosine", "gru"),
            ("luong-local-m", "location", "gru"),
            ("luong-local-p", "dot", "lstm"),
            ("luong-local-p", "linear", "gru"),
        )
    ),
]


def opened(family: str, changes: dict[str, object]) -> core.Run:
    model = build(family, **changes)
    return model.run("the old cat sat", target="a cat sat" if families()[family].has_source else None)


def taps(lines: tuple[SourceLine, ...]) -> dict[str, SourceLine]:
    return {line.path: line for line in lines if line.path is not None}


@pytest.mark.quick(14)
@pytest.mark.parametrize(
    ("family", "changes"),
    CASES,
    ids=lambda case: case if isinstance(case, str) else "-".join(map(str, case.values())),
)
def test_every_leaf_has_its_line_and_every_line_its_path(family, changes):
    run = opened(family, changes)
    for kind in run.kinds:
        found = run.model.spec.kind(kind)
        for layer in range(found.n_layers(run.model.config)):
            lines, scope = source_lines(run, kind, layer), found.path(layer, "")
            by_path = taps(lines)
            assert set(by_path) == set(run.trace.names(scope + "*")), (
                "no leaf without a line, no line without a leaf"
            )
            for path, line in by_path.items():
                assert path == scope + str(line.leaf) and f'tap("{line.leaf}"' in line.text
                assert (line.axes, line.shape) == (run.trace.axes(path), run.trace[path].shape)
            quiet = [line.leaf for line in lines if line.leaf is not None and line.path is None]
            assert bool({*quiet} - {"bias", "sink"}) == str(changes.get("attention", "")).startswith(
                "luong-local"
            ), "only a branch that did not run has no tensor"


@pytest.mark.parametrize("name", ["bigbird-mini", "captioner"])
def test_every_line_of_a_shipped_model_has_the_shape_of_its_tensor(name):
    model = core.open_model(name)
    run = model.run(model.reader.example)
    for kind in run.kinds:
        paths = taps(source_lines(run, kind, 0))
        assert paths
        for path, line in paths.items():
            assert path not in run.trace or line.shape == run.trace[path].shape, path


@pytest.mark.parametrize(("family", "changes"), CASES[:1] + CASES[-3:], ids=str)
def test_the_lines_are_those_of_the_files(family, changes):
    run = opened(family, changes)
    for line in source_lines(run, run.kinds[0], 0):
        assert line.text == (ROOT / line.file).read_text("utf-8").splitlines()[line.number - 1]
        assert not Path(line.file).is_absolute()


def test_docstrings_are_left_out_and_gaps_are_said():
    lines = source_lines(opened("gpt", {}), "causal", 0)
    assert not any('"""' in line.text for line in lines)
    for before, line in itertools.pairwise(lines):
        if line.file == before.file:
            assert line.gap == (line.number != before.number + 1)
    assert [line.text for line in lines if line.text.startswith("class")] == [
        "class MultiHeadAttention(nn.Module):"
    ]
    assert {line.file for line in lines} == {"core/layers/attention.py"}, (
        "what only training calls is not shown"
    )


def test_an_edit_marks_the_line_that_it_changes_and_no_other():
    model = build("gpt")
    chosen = (
        edits.ZeroHead("layer.*.self_attn.heads", head=1),
        edits.Forbid("layer.1.self_attn.allowed", query=2),
        edits.AddVector("layer.0.resid_mid", [0.0] * 33),
    )
    run = model.run("the old cat sat", edits=chosen)
    marked = {
        layer: {line.leaf: line.edits for line in source_lines(run, "causal", layer, chosen) if line.edits}
        for layer in (0, 1)
    }
    assert marked == {
        0: {"heads": (repr(chosen[0]),)},
        1: {"heads": (repr(chosen[0]),), "allowed": (repr(chosen[1]),)},
    }
    plain = model.run("the old cat sat")
    for layer in (0, 1):
        for path, line in taps(source_lines(run, "causal", layer, chosen)).items():
            first = path.startswith("layer.0") and line.leaf in (
                "q",
                "k",
                "v",
                "scores",
                "allowed",
                "pattern",
            )
            assert not first or np.array_equal(run.trace[path], plain.trace[path]), (
                "before the first edit nothing differs"
            )
    assert not np.array_equal(run.trace["layer.0.self_attn.heads"], plain.trace["layer.0.self_attn.heads"])


def test_looking_at_the_source_changes_nothing():
    model = build("seq2seq", attention="luong-local-p")
    before = model.run("the old cat", target="a cat")
    profile = sys.getprofile()
    source_lines(before, "alignment", 0)
    after = model.run("the old cat", target="a cat")
    assert sys.getprofile() is profile and np.array_equal(before.logits, after.logits)


def test_several_may_look_at_once():
    run, found = opened("gpt", {}), []
    threads = [
        threading.Thread(target=lambda: found.append(source_lines(run, "causal", 1))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4 and all(lines == found[0] for lines in found)


def test_what_is_needed_is_what_the_lines_show():
    model = build("transformer")
    keep = source_paths(model.run("the cat", target="a cat", keep=["*.pattern"]), "cross", 1)
    run = model.run("the cat", target="a cat", keep=keep)
    for path in keep:
        assert tensor_card(run, path).shape == run.trace[path].shape
    assert {line.path for line in source_lines(run, "cross", 1) if line.path} == set(keep)


def test_a_card_tells_the_numbers_of_the_tensor():
    run = build("gpt").run("the old cat sat")
    path = "layer.1.self_attn.scores"
    card, value = tensor_card(run, path), run.trace[path]
    assert (card.axes, card.shape, card.kind, card.odd) == (
        ("head", "query", "key"),
        value.shape,
        "float32",
        0,
    )
    assert (card.smallest, card.largest) == (value.min(), value.max()) and card.mean == pytest.approx(
        value.mean(), abs=1e-6
    )
    assert (
        card.first == tuple(float(x) for x in value.ravel()[:8]) and card.word == "scores" and card.sentence
    )
    mask = tensor_card(run, "layer.1.self_attn.allowed")
    assert (mask.kind, mask.smallest, mask.largest) == ("bool", 0.0, 1.0) and mask.mean == run.trace[
        mask.path
    ].mean()
    with pytest.raises(KeyError, match="Nearest: layer.1.self_attn.scores"):
        tensor_card(run, "layer.1.self_attn.score")


def test_a_card_marks_what_is_not_finite():
    stopped = edits.Patch(
        "layer.0.self_attn.out", torch.zeros(())
    )  # nothing of it reaches what the model computes
    run = build("gpt").run("the old cat sat", edits=[edits.Scale("layer.0.self_attn.q", math.nan), stopped])
    card = tensor_card(run, "layer.0.self_attn.q")
    assert card.odd == run.trace["layer.0.self_attn.q"].size
    assert math.isnan(card.mean)
    assert math.isnan(card.first[0])
