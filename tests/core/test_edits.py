"""Edits are data: what each does, that it can be hashed and printed, what it refuses."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from small_models import build

from core import InputError, edits
from core.decoding import decode
from core.edits.serialize import NAMES, describe, from_text, to_text
from core.edits.validate import split_by_fit
from core.serving.engine import RunRequest
from tests.core.engine_helpers import serving, tiny_model

VALUES = torch.arange(2 * 3 * 5 * 7, dtype=torch.float32).reshape(2, 3, 5, 7)
OPEN = torch.ones(2, 3, 5, 7, dtype=torch.bool)


def test_forbid_a_cell_a_row_a_column():
    cell = edits.Forbid("x", query=4, key=6)(OPEN)
    assert (~cell).sum() == 2 * 3 and not cell[0, 0, 4, 6]
    assert (~edits.Forbid("x", query=4)(OPEN)).sum() == 2 * 3 * 7
    assert (~edits.Forbid("x", key=6, head=0)(OPEN)).sum() == 2 * 5
    assert OPEN.all(), "the value that came in is untouched"


def test_set_pattern_puts_a_row():
    row = edits.SetPattern("x", query=1, weights=(0.5, 0.5, 0, 0, 0, 0, 0), head=2)(torch.zeros(2, 3, 5, 7))
    assert row[:, 2, 1].tolist() == [[0.5, 0.5, 0, 0, 0, 0, 0]] * 2 and row.sum() == 2


def test_add_vector_at_one_position_and_at_all():
    resid = torch.zeros(2, 5, 3)
    assert edits.AddVector("x", [1, 2, 3], position=-1)(resid)[:, 4].tolist() == [[1, 2, 3]] * 2
    assert edits.AddVector("x", [1, 2, 3])(resid).sum() == 2 * 5 * 6


@pytest.mark.parametrize(
    "edit",
    [
        edits.ZeroHead("a", 1),
        edits.ScaleHead("a", 1, 2.0),
        edits.Scale("a", 2.0),
        edits.Forbid("a", 1),
        edits.SetAllowed("a", ((True,),)),
        edits.SetPattern("a", 0, (1.0,)),
        edits.AddVector("a", [1.0]),
        edits.Patch("a", torch.ones(2), recipe=("text", 3)),
    ],
)
def test_an_edit_is_hashable_frozen_and_says_what_it_is(edit):
    assert hash(edit) == hash(edit) and edit == edit
    assert type(edit).__name__ in repr(edit) and "where='a'" in repr(edit)
    with pytest.raises(AttributeError):
        edit.where = "b"


def test_a_patch_is_known_by_its_recipe_not_its_bytes():
    assert edits.Patch("a", torch.ones(2), ("run", 1)) == edits.Patch("a", torch.zeros(2), ("run", 1))
    assert edits.Patch("a", torch.ones(2), ("run", 1)) != edits.Patch("a", torch.ones(2), ("run", 2))


@pytest.mark.parametrize(
    "call",
    [
        lambda: edits.ZeroHead("x", 3)(VALUES),
        lambda: edits.Forbid("x", query=9)(OPEN),
        lambda: edits.SetAllowed("x", ((True, False),))(OPEN),
        lambda: edits.SetPattern("x", 0, (0.5, 0.1)),
        lambda: edits.SetPattern("x", 0, (1.0,))(VALUES),
        lambda: edits.AddVector("x", [1], position=5)(torch.zeros(1, 5, 1)),
    ],
)
def test_what_cannot_be_done_is_said_in_three_parts(call):
    with pytest.raises(InputError):
        call()


# ---------------- Edits as text: every edit comes back from a link, what is wrong is named, each is said in words.


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
    assert says in str(caught.value)
    assert len(str(caught.value)) < 600


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


# ---------------- Edited runs against a forward pass written out here, head by head; laws of edits; many sessions at once.


TEXT = "The animal didn't cross."
SCORES, ALLOWED, PATTERN, HEADS = (
    f"layer.1.self_attn.{leaf}" for leaf in ("scores", "allowed", "pattern", "heads")
)


@pytest.fixture(scope="module")
def gpt():
    return build("gpt")


def plain(model, ids, *, scores=None, allowed=None, pattern=None, heads=None, words=None, places=None):
    """A GPT of two layers as it stands in a book, one head after the other; each hook changes a value of layer 1."""
    net, n, d = model.network, len(ids), model.config.d_head

    def keep(x):
        return x

    token = (words or keep)(net.embed["token"].weight[torch.tensor(ids)])
    x = token + (places or keep)(net.embed["position"].weight[:n])
    for number, block in enumerate(net.layers):

        def hook(f, v, here=number == 1):
            return f(v) if f and here else v

        y = F.layer_norm(x, x.shape[-1:], block.norm1.weight, block.norm1.bias, 1e-5)
        q, k, v = (getattr(block.self_attn, name)(y) for name in ("to_q", "to_k", "to_v"))
        of = [slice(h * d, (h + 1) * d) for h in range(model.config.n_heads)]
        s = hook(scores, torch.stack([q[:, c] @ k[:, c].T / math.sqrt(d) for c in of]))
        may = hook(allowed, torch.ones(n, n, dtype=torch.bool).tril().expand(len(of), n, n).clone())
        p = hook(pattern, torch.nan_to_num(s.masked_fill(~may, -torch.inf).softmax(-1)))
        z = hook(heads, torch.stack([p[h] @ v[:, c] for h, c in enumerate(of)]))
        x = x + block.self_attn.to_out(torch.cat(list(z), dim=-1))
        y = F.layer_norm(x, x.shape[-1:], block.norm2.weight, block.norm2.bias, 1e-5)
        x = x + block.ffn(y)
    return (
        F.layer_norm(x, x.shape[-1:], net.final_norm.weight, net.final_norm.bias, 1e-5)
        @ net.embed["token"].weight.T
    )


def put(index, new):
    def change(value):
        value = value.clone()
        value[index] = new(value) if callable(new) else new
        return value

    return change


CASES = {
    "off": (edits.ZeroHead(HEADS, 2), {"heads": put(2, 0)}),
    "half": (edits.ScaleHead(HEADS, 2, 0.5), {"heads": put(2, lambda z: z[2] / 2)}),
    "mean of the run": (edits.MeanHead(HEADS, 2), {"heads": put(2, lambda z: z[2].mean(0))}),
    "mean given": (edits.MeanHead(HEADS, 2, tuple(range(11))), {"heads": put(2, torch.arange(11.0))}),
    "forbid": (edits.Forbid(ALLOWED, 3, 1, head=0), {"allowed": put((0, 3, 1), False)}),
    "even": (edits.Uniform(SCORES, 1), {"scores": put(1, 0.0)}),
    "temperature": (edits.Temperature(SCORES, 2.5, head=1), {"scores": put(1, lambda s: s[1] / 2.5)}),
    "unscaled": (edits.NoScale(SCORES, 11), {"scores": lambda s: s * math.sqrt(11)}),
    "no places": (edits.NoPositions("embed.position"), {"places": torch.zeros_like}),
    "swapped places": (
        edits.SwapPositions("embed.position", 0, 3),
        {"places": lambda p: p[[3, 1, 2, 0, *range(4, len(p))]]},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_an_edited_run_is_that_of_a_plain_computation(gpt, name):
    edit, hooks = CASES[name]
    run = gpt.run(TEXT, edits=[edit])
    wanted = plain(gpt, run.ids, **hooks)
    np.testing.assert_allclose(run.logits, wanted.detach(), atol=2e-4, rtol=1e-4)
    assert np.abs(run.logits - gpt.run(TEXT).logits).max() > 1e-3, "the edit does something"


def test_the_plain_computation_is_that_of_the_model(gpt):
    run = gpt.run(TEXT)
    np.testing.assert_allclose(run.logits, plain(gpt, run.ids).detach(), atol=2e-4, rtol=1e-4)


def test_a_forced_row_gives_everything_to_one_key_and_obeys_the_mask(gpt):
    run = gpt.run(TEXT, edits=[edits.ForceCell(ALLOWED, 3, 1, head=0)])
    only = torch.zeros(len(run.ids))
    only[1] = 1
    assert run.trace[PATTERN][0, 3].tolist() == only.tolist()
    np.testing.assert_allclose(
        run.logits, plain(gpt, run.ids, pattern=put((0, 3), only)).detach(), atol=2e-4, rtol=1e-4
    )
    with pytest.raises(InputError, match="may not attend to key 4"):
        gpt.run(TEXT, edits=[edits.ForceCell(ALLOWED, 3, 4, head=0)])


def test_a_dropped_token_is_seen_by_nobody_and_its_change_reaches_no_one(gpt):
    drop = edits.DropToken("*.allowed", 2)
    run = gpt.run(TEXT, edits=[drop])
    weights = run.attention().weights
    assert (weights[..., 2] == 0).all() and not run.attention().allowed[..., 2].any()
    other = gpt.network.embed["token"].weight[5].detach()
    swapped = gpt.run(TEXT, edits=[drop, edits.ReplaceToken("embed.token", 2, "?", other)])
    rows = [row for row in range(len(run.ids)) if row != 2]
    assert np.array_equal(run.logits[rows], swapped.logits[rows]), (
        "to the bit: the word is not there for the others"
    )
    assert not np.array_equal(run.logits[2], swapped.logits[2])


def test_a_replaced_token_is_the_run_of_the_other_text(gpt):
    one, other = gpt.run("She has a white car."), gpt.run("She has a white car!")
    assert len(one.ids) == len(other.ids)
    places = [i for i, (a, b) in enumerate(zip(one.ids, other.ids, strict=True)) if a != b]
    table = gpt.network.embed["token"]
    new = [
        edits.ReplaceToken("embed.token", at, other.tokens[at], table(torch.tensor(other.ids[at])))
        for at in places
    ]
    assert places and np.array_equal(gpt.run("She has a white car.", edits=new).logits, other.logits)
    by_text = [edits.ReplaceToken("embed.token", at, other.tokens[at]) for at in places]
    assert by_text == new
    assert np.array_equal(gpt.run("She has a white car.", edits=by_text).logits, other.logits)
    assert split_by_fit(by_text, one)[0] == tuple(by_text), "pages take it, too"
    steps = [
        next(decode(gpt, "She has a white car.", max_new_tokens=1, edits=change)) for change in (new, by_text)
    ]
    assert steps[0].id == steps[1].id and steps[0].logprob == steps[1].logprob


def test_a_token_that_a_model_does_not_have_is_refused(gpt):
    several = edits.ReplaceToken("embed.token", 0, "two words of more than one token")
    with pytest.raises(InputError, match="is not one token"):
        gpt.run(TEXT, edits=[several])
    with pytest.raises(InputError, match=r"has no vector here.*model\.run"):
        several(torch.zeros(1, 2, 3))


def test_a_head_patched_from_another_text_hands_on_what_it_did_there(gpt):
    one, other = gpt.run("She has a white car."), gpt.run("She has a white car!")
    patch = edits.PatchHead(HEADS, 1, torch.tensor(other.trace[HEADS][1]), ("She has a white car!",))
    run = gpt.run("She has a white car.", edits=[patch])
    assert np.array_equal(run.trace[HEADS][1], other.trace[HEADS][1]) and np.array_equal(
        run.trace[HEADS][0], one.trace[HEADS][0]
    )
    np.testing.assert_allclose(
        run.logits,
        plain(gpt, one.ids, heads=put(1, torch.tensor(other.trace[HEADS][1]))).detach(),
        atol=2e-4,
        rtol=1e-4,
    )
    with pytest.raises(InputError, match="row by row"):
        gpt.run(TEXT, edits=[patch])


def test_eight_sessions_with_different_edits_never_see_each_others():
    model, text = tiny_model(), "round and round we go"
    wanted = [
        None,
        *(edits.ZeroHead(HEADS, head) for head in range(3)),
        edits.Uniform(SCORES),
        edits.NoPositions("embed.position"),
        edits.MeanHead(HEADS, 1),
        edits.Temperature(SCORES, 3.0),
    ]
    alone = [model.run(text, edits=[edit] if edit else []) for edit in wanted]
    with serving("tiny") as engine, ThreadPoolExecutor(8) as many:
        for turn in range(6):
            engine.forget()
            order = [(index + turn) % 8 for index in range(8)]
            requests = [RunRequest("tiny", text, edits=(edit,) if edit else ()) for edit in wanted]

            def ask(i, requests=requests):
                return engine.run(requests[i], session=f"s{i}")

            for index, run in zip(order, many.map(ask, order), strict=True):
                assert all(
                    np.array_equal(run.trace[path], alone[index].trace[path]) for path in alone[index].trace
                )


def test_the_engine_refuses_a_function_and_a_notebook_does_not(gpt):
    cap = edits.Function(SCORES, lambda scores: scores.clamp(max=0.0))
    assert gpt.run(TEXT, edits=[cap]).trace[SCORES].max() <= 0
    with pytest.raises(InputError, match="for notebooks"):
        RunRequest("gpt-mini", TEXT, edits=[cap])
    with pytest.raises(InputError, match="does not say where"):
        RunRequest("gpt-mini", TEXT, edits=[edits.PatchHead(HEADS, 1, torch.zeros(3, 11))])


def test_edits_that_do_not_fit_a_run_are_told_apart(gpt):
    run = gpt.run(TEXT, keep=["*.pattern"])
    good = [
        edits.ZeroHead(HEADS, 2),
        edits.Forbid(ALLOWED, 3, 1),
        edits.DropToken("*.allowed", 0),
        edits.NoPositions("embed.position"),
    ]
    bad = [
        edits.ZeroHead(HEADS, 3),
        edits.ZeroHead("layer.7.self_attn.heads", 0),
        edits.ForceCell(ALLOWED, 3, 1),
        edits.SwapPositions("embed.position", 0, 60),
        edits.SetPattern(PATTERN, 0, (1.0,)),
        edits.PatchHead(HEADS, 0, torch.zeros(2, 11), ("x",)),
    ]
    kept, errors = split_by_fit([*good, *bad], run)
    assert list(kept) == good and len(errors) == len(bad)
    gpt.run(TEXT, edits=kept)


@pytest.mark.parametrize(
    "edit",
    [
        edits.Temperature(PATTERN, 2.0),
        edits.NoScale(PATTERN, 4),
        edits.Uniform("layer.*", 0),
        edits.ZeroHead(PATTERN, 0),
        edits.ScaleHead(SCORES, 0, 2.0),
        edits.Forbid(SCORES, query=1),
        edits.SetPattern(SCORES, 0, (1.0, 0, 0, 0, 0, 0, 0)),
        edits.SwapPositions("*embed.token", 0, 1),
        edits.NoPositions("*resid_in"),
    ],
)
def test_an_edit_of_another_kind_of_value_is_refused(gpt, edit):
    with pytest.raises(InputError, match="Each edit is made for one kind of value"):
        gpt.run(TEXT, edits=[edit])


def test_a_patch_takes_what_a_trace_gives(gpt):
    """As it is: a whole value, the output of one head, or those of all; another shape is refused with both."""
    other = gpt.run(TEXT, edits=edits.Scale("layer.0.resid_in", 3.0))
    stream = other.trace["layer.0.resid_in"]
    whole = gpt.run(TEXT, edits=edits.Patch("layer.0.resid_in", stream))
    np.testing.assert_allclose(whole.logits, other.logits, atol=1e-5)
    for value in (other.trace[HEADS][1], other.trace[HEADS]):
        head = gpt.run(TEXT, edits=edits.PatchHead(HEADS, 1, value))
        np.testing.assert_array_equal(head.trace[HEADS][1], other.trace[HEADS][1])
        assert not np.array_equal(head.trace[HEADS][0], other.trace[HEADS][0])
    with pytest.raises(InputError, match=rf"is \({len(stream) - 1}, .*the one here \({len(stream)}, "):
        gpt.run(TEXT, edits=edits.Patch("layer.0.resid_in", stream[1:]))
    with pytest.raises(InputError, match=rf"that of a head here \({len(stream)}, "):
        gpt.run(TEXT, edits=edits.PatchHead(HEADS, 1, other.trace[HEADS][1][1:]))


def test_what_is_no_edit_and_a_function_that_raises_are_said(gpt):
    with pytest.raises(InputError, match=r"edits\.Function"):
        gpt.run(TEXT, edits=[lambda value: value])
    with pytest.raises(InputError, match="ZeroDivisionError: division by zero"):
        gpt.run(TEXT, edits=[edits.Function(SCORES, lambda value: value * (1 / 0))])


def test_what_can_not_be_said_is_refused():
    for wrong in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(InputError, match="above 0"):
            edits.Temperature("x", wrong)
    with pytest.raises(InputError, match="The mean has 2 numbers"):
        edits.MeanHead("x", 0, (1.0, 2.0))(torch.zeros(1, 2, 3, 5))


def test_one_pattern_may_name_several_places():
    model = build("transformer")
    drop = edits.DropToken("encoder.*.allowed|*.cross_attn.allowed", 1)
    run = model.run("She has a white car.", target="Ella tiene.", edits=[drop])
    assert all((run.attention(kind).weights[..., 1] == 0).all() for kind in ("self", "cross"))
    assert (run.attention("causal").weights[:, :, 1:, 1] > 0).all()


def test_one_edit_needs_no_list_and_a_bare_function_is_refused_in_words(gpt):
    cap = edits.Function(SCORES, lambda scores: scores.clamp(max=0.0))
    assert np.array_equal(gpt.run(TEXT, edits=cap).logits, gpt.run(TEXT, edits=[cap]).logits)
    for wrong in (abs, "layer.0", 3):
        with pytest.raises(InputError, match="An edit is given as"):
            gpt.run(TEXT, edits=wrong)


def test_one_pattern_needs_no_list_and_one_text_in_place_of_a_list_is_refused(gpt):
    assert gpt.run(TEXT, keep="*.pattern").trace.names() == gpt.run(TEXT, keep=["*.pattern"]).trace.names()
    for lists in ((TEXT,), ([TEXT, TEXT], "ab"), ([TEXT, TEXT], None, "ab")):
        with pytest.raises(InputError, match="One text is given in place of a list"):
            gpt.run_many(lists[0], **dict(zip(("pairs", "targets"), lists[1:], strict=False)))
