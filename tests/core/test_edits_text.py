"""Edits as text: every edit comes back from a link, what is wrong is named, each is said in words."""

from __future__ import annotations

import pytest
import torch

from core import InputError, edits
from core.edits.serialize import NAMES, describe, from_text, to_text

WHERE = "layer.1.self_attn.heads"
ALL = [
    edits.ZeroHead(WHERE, 3),
    edits.ScaleHead(WHERE, 1, 0.1),
    edits.MeanHead(WHERE, 2),
    edits.MeanHead(WHERE, 2, (0.5, -1 / 3)),
    edits.MeanHead(WHERE, 2, (1.0, 2.0), "the battery; all: of it"),
    edits.PatchHead(WHERE, 0, torch.tensor([1.0, 2.0]), ("Mona; Lisa: 5% & ñ",)),
    edits.Scale("layer.*.self_attn.scores", 1e-7),
    edits.Patch("embed.out", torch.ones(2), ("another text",)),
    edits.AddVector("layer.0.resid_in", [0.1, 2, -3e20], position=4),
    edits.AddVector("layer.0.resid_in", [0.1]),
    edits.SetAllowed(WHERE, ((True, False, True), (False, False, True))),
    edits.Forbid(WHERE),
    edits.Forbid(WHERE, 4),
    edits.Forbid(WHERE, key=0),
    edits.Forbid(WHERE, -1, 2, 0),
    edits.ForceCell(WHERE, 4, 0),
    edits.ForceCell(WHERE, 4, 0, 7),
    edits.DropToken("encoder.*.allowed|*.cross_attn.allowed", 5),
    edits.SetPattern(WHERE, 2, (0.25, 0.75)),
    edits.SetPattern(WHERE, 2, (1 / 3, 2 / 3), head=1),
    edits.Uniform(WHERE),
    edits.Uniform(WHERE, 0),
    edits.Temperature(WHERE, 0.3),
    edits.Temperature(WHERE, 2.0, 4),
    edits.NoScale(WHERE, 32),
    edits.NoPositions("encoder.embed.position"),
    edits.SwapPositions("embed.position", 0, 3),
    edits.ReplaceToken("embed.token", 3, " <b>;:", torch.tensor([1.0, 2.0])),
]


def source(name, where, index, what):
    assert (name, index) in {("mean", 2), ("patch", 0), ("value", -1), ("word", 3)} and isinstance(what, str)
    return torch.tensor([1.0, 2.0])


@pytest.mark.parametrize("edit", ALL, ids=lambda edit: type(edit).__name__)
def test_every_edit_comes_back_from_its_text(edit):
    text = to_text([edit])
    assert from_text(text, source) == (edit,)
    assert set(text) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.:,%*|_-+")
    numbers = next(
        (value for value in vars(from_text(text, source)[0]).values() if isinstance(value, torch.Tensor)),
        None,
    )
    assert numbers is None or numbers.tolist() == [1.0, 2.0], (
        "what the link does not hold comes from the source"
    )


def test_many_come_back_in_their_order_and_every_kind_has_a_name():
    assert from_text(to_text(ALL), source) == tuple(ALL) and from_text("") == () == from_text(";")
    assert {type(edit) for edit in ALL} == set(NAMES.values())
    assert set(NAMES.values()) == {getattr(edits, name) for name in edits.__all__} - {edits.Function}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("nothing:x", "'nothing:x'"),
        ("zero:layer.0.self_attn.heads", "needs head"),
        ("zero", "needs where, head"),
        ("zero:a b:1", "is no path"),
        ("zero:x:one", "head is a whole number"),
        ("zero:x:1:2", "'zero' has where, head"),
        ("scale:x:1:nan", "not finite"),
        ("scale:x:1:much", "no number"),
        ("mask:x:01,2", "rows of 0 and 1"),
        ("zero:x:1;force:x:2", "'force:x:2'"),
        ("patch:x:0", "needs recipe"),
        ("patch:x:0:text", "another run"),
        ("row:x:0:0.5,0.1", "sum to 0.6"),
        ("temperature:x:0", "above 0"),
        ("zero:x:99999999999", "whole number"),
        ("<b>" * 50, "…"),
    ],
)
def test_what_cannot_be_read_is_named(text, says):
    with pytest.raises(InputError) as caught:
        from_text(text)
    assert (
        says in str(caught.value)
        and caught.value.rule
        and caught.value.remedy
        and len(str(caught.value)) < 600
    )


def test_what_is_no_data_cannot_be_written():
    for edit in (
        edits.Function("x", lambda value: value),
        edits.PatchHead("x", 0, torch.ones(1), ("run", 3)),
        edits.Patch("x", torch.ones(1)),
    ):
        with pytest.raises(InputError, match="cannot be written in a link"):
            to_text([edit])


def test_each_is_said_in_words():
    words = ["The", " old", " cat", " sat", " down", " here"]
    said = [describe(edit, words) for edit in ALL]
    assert all(line and line[-1] != "." for line in said)
    assert said[0] == "Layer 1, head 3 zero-ablated"
    assert describe(
        edits.Forbid("decoder.layer.0.cross_attn.allowed", 1, 0, 2), ["START", "Ella"], ["She"]
    ) == ("Cross-attention layer 0, head 2: “She” masked for “Ella”")
    assert (
        describe(edits.SwapPositions("embed.position", 1, 3), words)
        == "The positions of “old” and “sat” are swapped"
    )
    assert describe(edits.ForceCell("encoder.layer.2.self_attn.allowed", 9, 0), words).startswith(
        "Encoder layer 2: row 9 looks at “The” alone"
    )
    assert (
        describe(edits.Uniform("decoder.layer.*.cross_attn.scores"))
        == "All cross-attention layers: uniform attention to all unmasked keys"
    )
    assert "Function" in describe(edits.Function("x", lambda value: value))
