"""Attention that a model of the transformers library returns, or any array, in our instruments: one call, no model of ours."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from small_models import build
from transformers import BartConfig, BartModel, BertConfig, BertModel, GPT2Config, GPT2Model

import viz
from core.analysis.attention.aggregate import rollout
from core.errors import InputError
from core.run.external_attention import ExternalAttention

TOKENS = ["[CLS]", "the", "cat", "sat", "[SEP]"]
SIZES = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 40}
BY_HEAD = (viz.words, viz.heatmap, viz.strip)


@pytest.fixture(scope="module")
def bert():
    torch.manual_seed(0)
    model = BertModel(BertConfig(**SIZES, vocab_size=50, attn_implementation="eager")).eval()
    with torch.no_grad():
        return model(torch.tensor([[1, 5, 6, 7, 2], [1, 8, 9, 3, 2]]), output_attentions=True).attentions


@pytest.fixture(scope="module")
def bart():
    torch.manual_seed(0)
    sides = {
        f"{side}_{part}": n
        for side in ("encoder", "decoder")
        for part, n in (("layers", 2), ("attention_heads", 4), ("ffn_dim", 40))
    }
    model = BartModel(BartConfig(d_model=32, vocab_size=60, attn_implementation="eager", **sides)).eval()
    given = {"input_ids": torch.tensor([[0, 5, 6, 2]]), "decoder_input_ids": torch.tensor([[2, 0, 9]])}
    with torch.no_grad():
        return model(**given, output_attentions=True)


def numbers(matrix):
    """How a packet carries exact numbers."""
    return np.ascontiguousarray(matrix, dtype="<f4").tobytes()


def test_what_the_instruments_are_given_is_what_the_model_returned(bert):
    for row in (0, 1):
        given = ExternalAttention(bert, TOKENS, row=row)
        wanted = np.stack([layer[row].numpy() for layer in bert])
        assert given.kinds == ("self",) and np.array_equal(given.attention().weights, wanted)
        assert given.attention(by="word").keys == tuple(TOKENS)
    array = np.stack([layer[0].numpy() for layer in bert])
    for form in (array, array.tolist(), torch.from_numpy(array), tuple(layer.bfloat16() for layer in bert)):
        assert np.abs(ExternalAttention(form, TOKENS).attention().weights - array).max() < 4e-3


@pytest.mark.parametrize("draw", [*BY_HEAD, viz.head_view, viz.grid])
def test_a_picture_shows_them_and_says_whose_they_are(draw, bert):
    head = {"layer": 1, "head": 2} if draw in BY_HEAD else {}
    picture = draw(bert, TOKENS, name="tiny bert", **head)
    page = picture.html()
    assert "tiny bert" in picture.name and picture.packet.header["origin"]["text"] == " ".join(TOKENS)
    assert not picture.packet.header.get("python"), "no script can compute another program's numbers"
    assert len(page) > 50_000 and "http://" not in page.replace("http://www.w3.org", "")
    if draw is not viz.grid:
        wanted = bert[1][0, 2] if draw in BY_HEAD else bert[0][0, 0]
        assert numbers(wanted) in picture.packet.with_exact_numbers(10**6).to_bytes(), "to the last digit"


def test_a_layer_and_a_head_by_position_are_those_of_a_run(bert):
    """After the tokens, with or without `keys`, arguments are what they are for a run."""
    wanted = numbers(bert[2][0, 3].numpy())
    for arguments in ((2, 3), (None, 2, 3), (TOKENS, 2, 3)):
        assert wanted in viz.heatmap(bert, TOKENS, *arguments).packet.parts.values()
    assert "row 1 of 2" in viz.heatmap(bert, TOKENS, row=1).name


@pytest.mark.parametrize("draw", [viz.arithmetic, viz.qkv, viz.source, viz.whole_model])
def test_what_needs_a_run_says_so(draw, bert):
    for patterns in (bert, bert[0].numpy()):  # an array has a method `trace`, too
        with pytest.raises(InputError, match="not a run"):
            draw(patterns, TOKENS)


def test_a_notebook_completes_the_instruments():
    assert dir(viz) == sorted(viz.__all__) and "tokens" in (viz.heatmap.__doc__ or "")


def test_heads_are_joined_as_those_of_a_run(bert):
    weights = np.stack([layer[0].numpy() for layer in bert])
    for how, wanted in (
        ("mean", weights[2].mean(0)),
        ("largest", weights[2].max(0)),
        ("rollout", rollout(weights)[2]),
    ):
        packet = viz.heatmap(bert, TOKENS, layer=2, head=how).packet
        assert numbers(wanted) in packet.with_exact_numbers(10**6).to_bytes(), how


def test_one_text_looks_at_another(bart):
    written, read = ["</s>", "<s>", "\u0120un"], ["<s>", "\u0120a", "\u0120car", "</s>"]
    given = ExternalAttention(bart.cross_attentions, written, read)
    assert given.kinds == ("cross",) and given.attention().keys == ("<s>", " a", " car", "</s>")
    for draw in (*BY_HEAD, viz.head_view, viz.grid):
        assert "cross attention" in draw(bart.cross_attentions, written, read).name
    assert ExternalAttention(bart.decoder_attentions, written).kinds == ("causal",)
    assert ExternalAttention(bart.encoder_attentions, read).kinds == ("self",)
    with pytest.raises(InputError, match=r"3 queries and 4 keys.*Give keys="):
        viz.heatmap(bart.cross_attentions, written)


def test_a_causal_pattern_is_seen_to_be_one():
    torch.manual_seed(0)
    model = GPT2Model(
        GPT2Config(n_layer=2, n_head=2, n_embd=8, vocab_size=20, attn_implementation="eager")
    ).eval()
    out = model(torch.tensor([[1, 2, 3]]), output_attentions=True)
    attention = ExternalAttention(out.attentions, ["a", "b", "c"]).attention()
    assert attention.kind == "causal"
    assert attention.allowed[0, 0].tolist() == np.tril(np.ones((3, 3), bool)).tolist()


def padded(n, front, causal=True, empty=False):
    """Patterns of n positions whose first `front` are padding, as eager code makes them: even rows (or empty ones), masked keys."""
    allowed = np.tril(np.ones((n, n), bool)) if causal else np.ones((n, n), bool)
    allowed[:, :front] = False
    scores = np.where(
        allowed, np.random.default_rng(0).normal(size=(2, 1, 3, n, n)), -1e9 if not empty else -np.inf
    )
    weights = np.exp(scores - np.maximum(scores.max(-1, keepdims=True), -1e9))
    return tuple(torch.tensor(weights / np.maximum(weights.sum(-1, keepdims=True), 1e-30)).float())


@pytest.mark.parametrize("empty", [False, True])
@pytest.mark.parametrize("front", [0, 1, 3])
def test_padding_in_front_is_left_out_and_a_causal_pattern_stays_one(front, empty):
    out, tokens = padded(6, front, empty=empty), [*["<pad>"] * front, *"abcdef"[front:]]
    mask = torch.tensor([[0] * front + [1] * (6 - front)])
    for given in (
        ExternalAttention(out, tokens),
        ExternalAttention(out, tokens, mask=mask),
        ExternalAttention(out, tokens, mask=mask[0].tolist()),
    ):
        attention = given.attention()
        assert attention.kind == "causal" and attention.keys == tuple("abcdef"[front:]) == attention.queries
        assert np.array_equal(attention.weights, np.stack([layer[0, :, front:, front:] for layer in out]))
        assert (f"{front} token" in given.model.name) is bool(front) and given.side.text.startswith(
            "abcdef"[front]
        )
    picture = viz.heatmap(out, tokens, mask=mask, layer=-1, head=-1)
    seen = np.tril(np.ones((6 - front, 6 - front), bool))
    assert numbers(out[1][0, 2, front:, front:].numpy()[seen]) in picture.packet.parts.values()


def test_a_mask_leaves_out_padding_behind_and_of_the_text_that_is_read(bart):
    both = ExternalAttention(padded(4, 0, causal=False), list("abcd"), mask=[1, 1, 1, 0]).attention()
    assert both.kind == "self" and both.keys == both.queries == ("a", "b", "c")
    written, read = ["</s>", "<s>", "un"], ["<s>", "a", "car", "</s>"]
    cross = ExternalAttention(bart.cross_attentions, written, read, mask=[1, 1, 1, 0]).attention()
    assert cross.queries == tuple(written) and cross.keys == tuple(read[:3])
    uniform = ExternalAttention(np.full((1, 2, 3, 3), 1 / 3), list("abc")).attention()
    assert uniform.keys == ("a", "b", "c"), "even rows alone are no padding"
    for wrong in ([1, 1], [0, 0, 0], [1, 2, 1], "111"):
        with pytest.raises(InputError, match="attention_mask|array of numbers"):
            ExternalAttention(GOOD, list("abc"), mask=wrong)


@pytest.mark.parametrize("draw", [*BY_HEAD, viz.arithmetic, viz.qkv])
def test_negative_heads_and_layers_count_from_the_end(draw):
    run = build("gpt").run("The animal")
    config = run.model.config
    one, other = draw(run, -1, -2), draw(run, config.n_layers - 1, config.n_heads - 2)
    assert one.name == other.name and one.packet.to_bytes() == other.packet.to_bytes()
    with pytest.raises(InputError, match="no head -"):
        draw(run, 0, -config.n_heads - 1)


GOOD = np.full((2, 2, 3, 3), 1 / 3)


@pytest.mark.parametrize(
    ("attentions", "tokens", "said"),
    [
        (GOOD, ["a", "b"], "2 tokens for 3 queries"),
        (GOOD, "abc", "a list of tokens"),
        (GOOD, [1, 2, 3], "a list of tokens"),
        (GOOD[0], ["a", "b", "c"], "have the shape"),
        (GOOD * 2, ["a", "b", "c"], "no attention weights"),
        (GOOD - 1, ["a", "b", "c"], "no attention weights"),
        (GOOD * np.nan, ["a", "b", "c"], "no attention weights"),
        (np.zeros((0, 2, 3, 3)), ["a", "b", "c"], "have the shape"),
        ((), ["a"], "no attentions in what the model returned"),
        ((None, None), ["a"], "attn_implementation"),
        (((torch.ones(1, 1, 1, 1),),), ["a"], "for each token that was generated"),
        ((torch.ones(1, 1, 1, 1), torch.ones(1, 2, 1, 1)), ["a"], "The layers have the shapes"),
        ("patterns", ["a"], "not an array of numbers"),
        (object(), ["a"], "not an array of numbers"),
    ],
)
def test_what_is_no_attention_is_refused_in_words(attentions, tokens, said):
    with pytest.raises(InputError, match=said):
        viz.grid(attentions, tokens)


def test_a_layer_or_head_that_is_not_there_and_missing_tokens_are_named(bert):
    with pytest.raises(InputError, match=r"no head 4 .*It has 4"):
        viz.heatmap(bert, TOKENS, head=4)
    for wrong in ("mean of all", 1.0, [0]):
        with pytest.raises(InputError, match=r"no layer .*It has 3"):
            viz.heatmap(bert, TOKENS, layer=wrong)
    with pytest.raises(InputError, match=r"no row 2"):
        viz.heatmap(bert, TOKENS, row=2)
    with pytest.raises(InputError, match=r"Call viz\.head_view\(attentions, tokens\)"):
        viz.head_view(bert)
    with pytest.raises(InputError, match="There is no attention 'cross'"):
        viz.heatmap(bert, TOKENS, kind="cross")
