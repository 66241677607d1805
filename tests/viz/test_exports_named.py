"""What a page of the bench lets one take away: its numbers stand under the names of heads, words and layers."""

from __future__ import annotations

import csv
import io
from types import SimpleNamespace

import numpy as np
import pytest
from shown_values import states
from workspace_pages import page as draw

import core
from core.maths import softmax
from viz.widgets import export, page_parts
from viz.workspace.find import like
from viz.workspace.what_if import folds

TEXT = "When Mary came home,"
FOLDS = {
    "find": ("find", {}, {"head"}, ("bits",)),
    "inside": ("inside.guesses", {}, {"after", "position", "rank"}, ("ids", "probabilities")),
    "importance": ("importance.heads", {}, {"layer", "head"}, ("change", "by gradient")),
    "inside-who": (
        "inside.who",
        {"inside.by": "who"},
        {"part", "layer", "head"},
        ("heads, causal", "feed-forward", "every part"),
    ),
    "importance-words": ("importance.words", {"importance.by": "words"}, {"word"}, ("attention", "rollout")),
    "compare": ("compare", {}, {"query", "key"}, ("A", "difference", "bits")),
    "be_the_head": ("be_the_head", {}, {"key"}, ("you",)),
    "many_texts": (
        "many_texts",
        {},
        {"line", "layer", "head", "query", "key"},
        ("loss", "tokens", "mean, causal previous"),
    ),
    "decode": ("decode", {"decode.n": "2"}, {"step", "candidate", "key"}, ("ids", "attention_causal")),
    "growth": ("growth", {}, {"step", "layer", "head", "query", "key"}, ("now", "loss", "scores")),
    "what_if": ("what_if", {}, {"query", "key", "layer", "head"}, ("before", "after", "moved_causal")),
}

SLOW = ("find", "growth", "compare")


@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=pytest.mark.slow) if page in SLOW else page for page in FOLDS]
)
def test_numbers_to_take_away_have_names(page, monkeypatch):
    key, link, axes, arrays = FOLDS[page]
    kept = {}
    monkeypatch.setattr(export, "csv", lambda data, real=export.csv: kept.setdefault("csv", real(data)))
    monkeypatch.setattr(export, "npz", lambda data, real=export.npz: kept.setdefault("npz", real(data)))
    state = {f"fold:{key}.take": True}
    draw(page.partition("-")[0], state, **{"model": "gpt-mini", "text": TEXT} | link)
    rows = list(csv.DictReader(io.StringIO(kept["csv"], newline="")))
    assert axes <= set(rows[0]) and {row["array"] for row in rows} >= set(arrays)
    with np.load(io.BytesIO(kept["npz"])) as back:
        for array in arrays:
            named = [name for name in back.files if name.startswith(f"{array}, ")]
            own = [row for row in rows if row["array"] == array]
            assert len(own) == back[array].size
            for name in named:
                assert {row[name.removeprefix(f"{array}, ")] for row in own} == set(back[name].tolist())
        if page == "inside":
            model = core.open_model("gpt-mini")
            assert back["tokens"].ravel().tolist() == [*map(model.choice, back["ids"].ravel().tolist())]
        if page == "find":
            assert "gpt-mini L0.H0" in back["bits, head"].tolist()


def test_the_lines_of_what_if_print_the_chances_of_the_page(capsys):
    code = folds.CODE.format(
        model="gpt-mini",
        edits="zero:layer.3.self_attn.heads:5",
        text=TEXT,
        target="",
        row=-1,
        chances=folds.CHANCES["softmax"],
        number="{100 * chances[i]:.1f}%",
    )
    exec(code, {})
    model = core.open_model("gpt-mini")
    chances = softmax(model.run(TEXT).logits[-1].astype(np.float64))
    before, after = capsys.readouterr().out.splitlines()
    best = int(chances.argmax())
    assert repr(model.choice(best)) in before and f"{chances[best]:.1%}" in before
    assert after.startswith("after ") and after[6:] != before[7:]


def test_numbers_of_all_heads_are_named_by_model_layer_and_head():
    found = SimpleNamespace(
        heads=[SimpleNamespace(model="a", place="L0.H1"), SimpleNamespace(model="b", place="L1.H0")]
    )
    one = like.heads_along(found, np.float32([0.5, 1]))
    assert export.csv({"bits": one}).split("\r\n")[:3] == [
        "array,head,value",
        "bits,a L0.H1,0.5",
        "bits,b L1.H0,1",
    ]
    both = like.heads_along(found, np.zeros((1, 1), np.float32), [1], "other head")
    assert export.csv({"bits": both}).split("\r\n")[1] == "bits,b L1.H0,b L1.H0,0"


def test_lines_that_open_a_model_from_elsewhere_say_what_they_need(monkeypatch):
    monkeypatch.setattr(page_parts.provenance, "is_foreign", lambda name: name == "gpt-mini")
    said = page_parts.foreign_model_hint("model = core.open_model('gpt-mini')")
    assert states(said, "gpt-mini") and "ATLAS_MODELS" in said
    assert page_parts.foreign_model_hint("model = core.open_model('gpt-twin')") == ""
