"""BERT as a model: one text or two, hidden words, outputs that are computed when asked for."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from small_models import build

import core
from core.analysis.attribution.ablation_sweep import ModelInput, ablation_effects
from core.analysis.attribution.target_token import OutputTarget, default_row, output_target, target_rows
from core.analysis.task_outputs import answer_span, chances, tagged_words
from core.edits import ScaleHead, ZeroHead
from core.layers.task_head import Head, TaskHead
from core.model import Model
from core.models import Batch, families
from core.run.token_sequence import TokenSequence
from core.text import Tokenizer
from core.text.learn import learn_word_list


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
        with pytest.raises(core.InputError, match="This checkpoint has no"):
            ask()
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
    with pytest.raises(core.InputError, match=said):
        call(reader)


# ---------------- Classes, tags and answers as people read them: sigmoid where several classes hold, a word's tag is its first token's, an answer ends behind its begin.


SIDE = TokenSequence(
    "who?",
    ("[CLS]", "who", "?", "[SEP]", "a", "white", "ca", "##r", "[SEP]"),
    tuple(range(9)),
    (None, (0, 3), (3, 4), None, (0, 1), (2, 7), (8, 10), (10, 11), None),
    (0, 0, 0, 0, 1, 1, 1, 1, 1),
    9,
    "a white car",
)


TEXT = "the white car"


def small_encoder(*, score: bool = False, **changes) -> Model:
    """Return a small BERT with random weights and one head."""
    backend = learn_word_list([TEXT], 10, first=("<pad>", "<s>", "</s>"))
    spec = families()["bert"]
    bare = {"masked_lm": False, "next_sentence": False, "pooler": score, "n_layers": 2}
    config = replace(spec.config.tiny(), **bare, n_vocab=backend.get_vocab_size(), **changes)
    torch.manual_seed(3)
    network = spec.network(config)
    for weight in network.parameters():
        torch.nn.init.normal_(weight, std=0.3)
    head = Head(output="score", n_out=1, pooled=True, d_in=config.d_model) if score else None
    if head is not None:
        network.task = TaskHead(head)
    tokenizer = Tokenizer(backend, pad=1, start=2, end=3)
    return Model("small", spec, config, network, tokenizer, head=head)


def run_of(**outputs):
    return SimpleNamespace(side=SIDE, source=None, **outputs)


@pytest.mark.parametrize(
    ("begin", "end", "text"),
    [
        (5, 7, "white car"),
        (1, 5, "a white"),
        (7, 5, "r"),
        (4, 4, "a"),
        (8, 7, "a white car"),
        (4, 0, "a white car"),
    ],
)
def test_an_answer_is_one_span_of_the_second_text(begin, end, text):
    scores = np.zeros((9, 2), dtype=np.float32)
    scores[begin, 0], scores[end, 1] = 4, 3
    scores[4, 0] += 0.1
    scores[7, 1] += 0.2
    scores[5, 1] += 0.3 if (begin, end) == (1, 5) else 0
    found = answer_span(run_of(answer=scores))
    assert found is not None and found.text == text
    wanted = np.exp(scores[found.tokens[0], 0]) / np.exp(scores[:, 0]).sum()
    assert found.begins == pytest.approx(wanted)


def test_a_word_has_the_tag_of_its_first_token():
    scores = np.zeros((9, 2), dtype=np.float32)
    scores[6, 1], scores[7, 0] = 2, 9
    found = tagged_words(run_of(tags=scores, model=SimpleNamespace(tag_names=("O", "THING"))))
    assert [(each.word, each.tag) for each in found] == [
        *(("who", "O"), ("?", "O"), ("a", "O"), ("white", "O")),
        ("car", "THING"),
    ]
    assert found[-1].chance == pytest.approx(1 / (1 + np.exp(-2)))


def test_several_classes_are_each_by_itself():
    scores = np.array([2.0, 2.0, -2.0])
    for several, wanted in ((True, [0.8808, 0.8808, 0.1192]), (False, [0.4955, 0.4955, 0.0091])):
        head = Head(output="classes", n_out=3, d_in=4, several=several)
        model = SimpleNamespace(head=head, main_output="classes")
        assert chances(model, scores) == pytest.approx(wanted, abs=1e-4)
        asked = OutputTarget(0, 0, activation="sigmoid" if several else "softmax")
        assert asked.value(scores[None]) == pytest.approx(np.log(wanted[0]), abs=1e-4)
        assert asked.goal(torch.tensor(scores)).item() == pytest.approx(np.log(wanted[0]), abs=1e-4)


@pytest.mark.parametrize(
    "changes", [{"n_tags": 5}, {"answers": True}, {"n_classes": 3}, {"score": True}], ids=str
)
def test_a_question_about_an_output_is_one_number_and_its_gradient(changes):
    """The number, what ablating a head changes of it, and the slope along what a head hands on, by finite differences."""
    model = small_encoder(**changes)
    run = model.run(TEXT)
    row = default_row(run)
    asked = output_target(run, row, int(run.scores[row].argmax()))
    value = asked.value(run.scores)
    assert asked.goal(torch.tensor(run.scores)).item() == pytest.approx(value, abs=1e-5)
    path = "layer.1.self_attn.heads"
    traced = model.run(TEXT, keep=[path], grad=asked.goal)
    slope = float((traced.trace.grad(path)[0] * traced.trace[path][0]).sum())
    near = [asked.value(model.run(TEXT, edits=[ScaleHead(path, 0, 1 + e)]).scores) for e in (1e-2, -1e-2)]
    assert (near[0] - near[1]) / 2e-2 == pytest.approx(slope, abs=2e-3)
    off = asked.value(model.run(TEXT, edits=[ZeroHead(path, 0)]).scores)
    assert ablation_effects(model, ModelInput(TEXT), asked, "self")[1, 0] == pytest.approx(
        off - value, abs=1e-5
    )
    assert all(word.row in target_rows(run) for word in (tagged_words(run) if "n_tags" in changes else ()))


def test_a_tagger_is_asked_about_the_word_with_the_rarest_tag():
    scores = np.zeros((9, 2), dtype=np.float32)
    scores[5, 1], scores[4, 1] = 2, 1
    tagger = SimpleNamespace(tag_names=("O", "THING"), main_output="tags", whole_input=False)
    assert default_row(run_of(tags=scores, model=tagger)) == 5


@pytest.mark.parametrize(("pool", "wanted"), [("first", 0.0), ("last", 2.0), ("mean", 1.0), ("max", 2.0)])
def test_padding_is_never_pooled(pool, wanted):
    head = TaskHead(Head(output="score", n_out=1, pool=pool, d_in=1, biases=(True, True, False)))
    torch.nn.init.ones_(head.out.weight)
    hidden = torch.tensor([[[0.0], [1.0], [2.0], [99.0]]])
    assert head(hidden, real=torch.tensor([[True, True, True, False]])).item() == wanted
