"""BERT as a model: one text or two, hidden words, outputs that are computed when asked for."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import core
from core.models import Batch
from tests.bert_helpers import build


@pytest.fixture(scope="module")
def reader():
    return build()


def test_one_text_stands_between_cls_and_sep(reader):
    run = reader.run("She has a white car.")
    assert run.tokens[0] == "[CLS]" and run.tokens[-1] == "[SEP]"
    assert run.spans[0] is run.spans[-1] is None
    assert set(run.segments) == {0} and run.kinds == ("self",)
    assert run.logits.shape == (len(run.tokens), reader.config.n_vocab)
    assert run.next_sentence.shape == (2,) and run.pooled.shape == (33,)
    assert run.attention().allowed.all()
    assert [word.text for word in run.side.words] == [
        "[CLS]",
        "She",
        "has",
        "a",
        "white",
        "car",
        ".",
        "[SEP]",
    ]


def test_two_texts_are_two_segments_with_places_in_their_own_text(reader):
    first, second = "She has a car.", "It was tired."
    run = reader.run(first, pair=second)
    cut = run.segments.index(1)
    assert run.tokens[cut - 1] == run.tokens[-1] == "[SEP]" and set(run.segments[cut:]) == {1}
    for tokens, spans, text in (
        (run.tokens[:cut], run.spans[:cut], first),
        (run.tokens[cut:], run.spans[cut:], second),
    ):
        assert [text[a:b].lower() for a, b in filter(None, spans)] == [
            token.removeprefix("##") for token, span in zip(tokens, spans, strict=True) if span
        ]
    words = [word.text for word in run.side.words]
    assert words == ["[CLS]", "She", "has", "a", "car", ".", "[SEP]", "It", "was", "tired", ".", "[SEP]"]
    assert sorted(piece for word in run.side.words for piece in word.pieces) == list(range(len(run.tokens)))
    joined = run.attention(by="word")
    assert joined.queries == tuple(words)
    np.testing.assert_allclose(joined.weights.sum(-1), 1, atol=1e-5)


def test_the_segment_of_a_word_changes_the_run(reader):
    ids = torch.tensor([reader.run("She has.", pair="It was.").ids])
    real = torch.ones_like(ids, dtype=torch.bool)
    half = (torch.arange(ids.shape[1]) > 4).long()[None]
    with torch.no_grad():
        one, two = (
            reader.network(Batch(ids=ids, real=real, segments=segments))
            for segments in (torch.zeros_like(ids), half)
        )
    assert (one - two).abs().max() > 0.01
    with torch.no_grad():
        assert torch.equal(reader.network(Batch(ids=ids, real=real)), one)  # no segments are segments of 0


def test_outputs_are_those_of_the_network(reader):
    run = reader.run("She has.", pair="It was tired.")
    batch = Batch(
        ids=torch.tensor([run.ids]),
        real=torch.ones(1, len(run.ids), dtype=torch.bool),
        segments=torch.tensor([run.segments]),
    )
    with torch.inference_mode():
        hidden = reader.network(batch)
        pooled = reader.network.pooled(hidden)
        np.testing.assert_allclose(run.logits, reader.network.logits(hidden)[0], atol=1e-5)
        np.testing.assert_allclose(run.pooled, pooled[0], atol=1e-6)
        np.testing.assert_allclose(run.next_sentence, reader.network.next_sentence(pooled)[0], atol=1e-6)
    np.testing.assert_array_equal(run.trace["pooler.out"], run.pooled)
    np.testing.assert_array_equal(run.trace["next_sentence"], run.next_sentence)
    assert run.trace.axes("masked_lm.act") == ("pos", "d_model") and run.trace.axes("next_sentence") == (
        "class",
    )
    assert run.trace.names()[-3:] == ["pooler.pre", "pooler.out", "next_sentence"]
    assert run.trace.names("masked_lm.*") == ["masked_lm.pre", "masked_lm.act", "masked_lm.norm.out"]


def test_an_edit_of_an_output_is_felt_by_what_reads_it(reader):
    plain = reader.run("She has.")
    edited = reader.run("She has.", edits=[core.edits.Scale("pooler.out", 0.0)])
    bias = reader.network.to_next_sentence.bias.numpy()
    np.testing.assert_array_equal(edited.pooled, np.zeros(33))
    np.testing.assert_allclose(edited.next_sentence, bias)
    np.testing.assert_array_equal(edited.logits, plain.logits)
    late = reader.run("She has.", edits=[core.edits.Scale("next_sentence", 2.0)])
    np.testing.assert_allclose(late.next_sentence, 2 * plain.next_sentence, rtol=1e-6)
    np.testing.assert_array_equal(late.pooled, plain.pooled)


def test_a_checkpoint_without_a_head_runs_and_only_asking_for_it_raises():
    body = build(masked_lm=False, pooler=False, next_sentence=False)
    run = body.run("She has.", pair="It was.")
    assert run.hidden().shape == (3, len(run.tokens), 33)
    for ask in (lambda: run.logits, lambda: run.pooled, lambda: run.next_sentence):
        with pytest.raises(core.InputError, match="This checkpoint has no") as caught:
            ask()
        assert caught.value.rule and caught.value.remedy
    with pytest.raises(core.InputError, match="no head for classes"):
        _ = run.classes
    assert all(path.startswith(("embed", "layer")) for path in run.trace.names())


def test_a_padded_pair_reads_as_it_does_alone(reader):
    texts, pairs = ["She has a white car.", "It."], ["It was tired.", None]
    together = reader.run_many(texts, pairs=pairs)
    for run, text, pair in zip(together, texts, pairs, strict=True):
        alone = reader.run(text, pair=pair)
        n = len(alone.tokens)
        assert run.tokens == alone.tokens and set(run.side.tokens[n:]) <= {"[PAD]"}
        np.testing.assert_allclose(run.logits, alone.logits, atol=1e-4)
        np.testing.assert_allclose(run.next_sentence, alone.next_sentence, atol=1e-5)
        assert (run.trace["layer.0.self_attn.pattern"][..., n:] == 0).all()
    assert "[PAD]" in together[1].side.tokens


def test_the_gradient_of_a_hidden_word_is_that_of_its_own_place(reader):
    run = reader.run("She has a [MASK] car.", grad="logit:car")
    place, car = run.tokens.index("[MASK]"), reader.tokenizer.encode("car").ids[0]
    slope = run.trace.grad("layer.1.resid_out")
    assert np.abs(slope[place]).max() > 0 and (np.delete(slope, place, 0) == 0).all()
    step = 1e-2
    moved = reader.run(
        "She has a [MASK] car.",
        edits=[core.edits.AddVector("layer.1.resid_out", tuple(step * slope[place]), position=place)],
    )
    gained = moved.logits[place, car] - run.logits[place, car]
    assert gained == pytest.approx(step * (slope[place] ** 2).sum(), rel=0.05)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda m: m.run("  "), "The text is empty"),
        (lambda m: m.run("a", pair=" "), "The second text is empty"),
        (lambda m: m.run("a", target="b"), "no target"),
        (lambda m: m.run("car " * 100), "at most 61"),
        (lambda m: m.run("car " * 30, pair="car " * 30), "at most 61"),
        (lambda m: m.run("She has a car.", grad="logit:car"), "No word is hidden"),
        (lambda m: m.run("a", pair="half \ud83d"), "surrogate"),
        (lambda m: build(n_segments=1).run("a", pair="b"), "does not read pairs"),
    ],
)
def test_what_cannot_be_read_is_said_in_three_parts(reader, call, said):
    with pytest.raises(core.InputError, match=said) as caught:
        call(reader)
    assert caught.value.rule and caught.value.remedy
