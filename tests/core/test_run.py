"""Model.run on small random models: what a run holds, and what is refused in three parts."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch

import core
from core.models import families
from core.text import Tokenizer
from core.text.learn import learn_byte_level_bpe
from core.text.tokenizer import LONGEST

TEXTS = [
    "She has a white car.",
    "Ella tiene un auto blanco.",
    "The animal didn't cross the street because it was too tired.",
] * 4


def build(name: str) -> core.Model:
    torch.manual_seed(7)
    backend = learn_byte_level_bpe(TEXTS, 320, ("<pad>", "<start>", "<end>"), prefix_space=True)
    family = families()[name]
    config = replace(family.config.tiny(), n_vocab=backend.get_vocab_size(), n_ctx=61)
    network = family.network(config)
    for weight in network.parameters():
        torch.nn.init.normal_(weight, std=0.3)
    return core.Model(f"random-{name}", family, config, network, Tokenizer(backend, pad=0, start=1, end=2))


@pytest.fixture(scope="module")
def translator():
    return build("transformer")


@pytest.fixture(scope="module")
def writer():
    return build("gpt")


def test_the_public_face_of_a_decoder(writer):
    run = writer.run("The animal didn't cross.")
    n = len(run.tokens)
    assert run.kinds == ("causal",) and run.source is None and run.target_text is None
    assert "".join(run.tokens).strip() == "The animal didn't cross."
    assert len(run.ids) == len(run.spans) == n and run.logits.shape == (n, writer.config.n_vocab)
    assert run.hidden().shape == (writer.config.n_layers + 1, n, writer.config.d_model)
    assert run.trace["layer.1.self_attn.scores"].shape == (writer.config.n_heads, n, n)
    assert run.trace.axes("layer.1.self_attn.scores") == ("head", "query", "key")
    assert run.trace.names()[-1] == "logits" and run.trace["logits"].shape == run.logits.shape
    attention = run.attention("causal")
    assert (
        attention.weights.shape == (writer.config.n_layers, writer.config.n_heads, n, n)
        and attention.weights.dtype == np.float32
    )
    assert attention.allowed.dtype == bool and (attention.weights[~attention.allowed] == 0).all()
    assert attention.queries == attention.keys == run.tokens and attention.paths == (
        "layer.0.self_attn.pattern",
        "layer.1.self_attn.pattern",
    )


def test_logits_are_those_of_the_network(writer):
    run = writer.run("The animal")
    ids = torch.tensor([run.ids])
    with torch.inference_mode():
        hidden = writer.network(core.models.Batch(ids=ids, real=torch.ones_like(ids, dtype=torch.bool)))
        wanted = writer.network.logits(hidden)[0].numpy()
    np.testing.assert_array_equal(run.logits, wanted)


def test_the_public_face_of_an_encoder_decoder(translator):
    run = translator.run("She has a white car.", target="Ella tiene un auto blanco.")
    assert run.kinds == ("self", "causal", "cross")
    assert (
        run.tokens[0] == "START" and run.spans[0] is None and run.target_text == "Ella tiene un auto blanco."
    )
    assert "".join(run.source.tokens).strip() == "She has a white car."
    assert run.logits.shape[0] == len(run.tokens)
    cross = run.attention("cross")
    assert cross.weights.shape[2:] == (len(run.tokens), len(run.source.tokens))
    assert run.hidden("encoder").shape[1] == len(run.source.tokens) and run.hidden("decoder").shape[1] == len(
        run.tokens
    )
    with pytest.raises(core.InputError):
        run.hidden()


def test_without_a_target_the_model_writes_its_own(translator):
    run = translator.run("She has a white car.")
    assert run.target_text == translator.tokenizer.decode(run.ids[1:])
    assert list(run.ids[1:]) == run.logits.argmax(-1)[: len(run.ids) - 1].tolist(), (
        "greedy: each token is the largest logit before it"
    )
    spans = [span for span in run.spans if span]
    assert all(0 <= a <= b <= len(run.target_text) for a, b in spans) and spans == sorted(spans)


def test_words_join_pieces_and_rows_still_sum_to_one(translator):
    run = translator.run("The animal didn't cross the street.", target="Ella tiene un auto blanco.")
    words = run.attention("self", by="word")
    assert words.keys == ("The", "animal", "didn't", "cross", "the", "street", ".")
    np.testing.assert_allclose(words.weights.sum(-1), 1, atol=1e-5)
    tokens, groups = run.attention("self").weights, [word.pieces for word in run.source.words]
    by_hand = np.array([[tokens[0, 0][np.ix_(q, k)].sum(1).mean() for k in groups] for q in groups])
    np.testing.assert_allclose(words.weights[0, 0], by_hand, atol=1e-6)


def test_writing_names_rows_by_the_word_they_write(translator):
    run = translator.run("She has a car.", target="Ella tiene un auto.")
    reading, writing = run.attention("cross"), run.attention("cross", writing=True)
    assert writing.queries == (*reading.queries[1:], "END") and np.array_equal(
        reading.weights, writing.weights
    )
    words = run.attention("cross", by="word", writing=True)
    assert words.queries == ("Ella", "tiene", "un", "auto", ".", "END")
    first = run.side.next_tokens().words[0].pieces
    np.testing.assert_allclose(words.weights[0, 0, 0].sum(), 1, atol=1e-5)
    assert first[0] == 0, "the first word is written by START's row"


def test_a_padded_batch_gives_what_single_runs_give_without_their_padding(translator, writer):
    texts, targets = (
        ["She has.", "The animal didn't cross the street."],
        ["Ella.", "Ella tiene un auto blanco."],
    )
    together = translator.run_many(texts, targets=targets)
    assert together[0].side.tokens[-1] == together[0].source.tokens[-1] == "PAD"
    for run, text, target in zip(together, texts, targets, strict=True):
        alone = translator.run(text, target=target)
        assert (run.tokens, run.ids, run.spans) == (alone.tokens, alone.ids, alone.spans)
        np.testing.assert_allclose(run.logits, alone.logits, atol=1e-4)
        for side in ("encoder", "decoder"):
            np.testing.assert_allclose(run.hidden(side), alone.hidden(side), atol=1e-4)
        for kind, by, writing in itertools.product(run.kinds, ("token", "word"), (False, True)):
            one, other = (each.attention(kind, by, writing=writing) for each in (run, alone))
            np.testing.assert_allclose(one.weights, other.weights, atol=1e-5)
            assert (one.queries, one.keys, one.rows) == (other.queries, other.keys, other.rows)
        m = len(alone.source.tokens)
        assert (run.trace["decoder.layer.0.cross_attn.pattern"][..., m:] == 0).all()
    short, long = writer.run_many(["Hi.", "The animal didn't cross the street."])
    assert (
        short.logits.shape[0] == short.attention().weights.shape[-1] == len(short.tokens) < len(long.tokens)
    )


def test_models_and_runs_are_one_line_and_traces_complete_their_paths(translator, writer):
    run = writer.run("The animal")
    assert repr(run) == f"Run: {writer.name}, {len(run.ids)} tokens, {len(run.trace.names())} values, causal"
    assert repr(run.attention()).startswith("Attention: causal, ") and repr(run.trace).startswith("Trace: ")
    assert f"Model: {writer.name}, gpt, " in repr(writer) and "None" not in repr(writer)
    read = repr(translator.run("She has.", target="Ella."))
    assert "tokens read, " in read and read.endswith("self, causal, cross")
    assert run.trace._ipython_key_completions_() == list(run.trace) and "logits" in list(run.trace)
    for thing in (writer, run, run.attention(), run.trace, run.trace._trace):
        assert len(repr(thing)) < 120 and "\n" not in repr(thing)


def test_keep_and_edits(writer):
    edit = core.edits.ZeroHead("layer.1.self_attn.heads", head=2)
    run = writer.run("The animal", keep=["*.pattern"], edits=[edit])
    plain = writer.run("The animal", keep=["*.pattern"])
    assert set(run.trace.names()) == {
        f"layer.{i}.self_attn.{leaf}" for i in (0, 1) for leaf in ("allowed", "pattern")
    }
    np.testing.assert_array_equal(run.attention().weights, plain.attention().weights)
    assert not np.array_equal(run.logits, plain.logits)
    with pytest.raises(ValueError, match="patern"):
        writer.run("The animal", keep=["*.patern"])
    with pytest.raises(KeyError, match=r"layer\.0\.self_attn\.pattern"):
        run.trace["layer.0.self_attn.patern"]


def test_edits_change_what_the_model_writes(translator):
    silent = [core.edits.Scale("decoder.layer.*.cross_attn.out", 0.0)]
    one, other = (
        translator.run(text, edits=silent).target_text for text in ("She has a white car.", "The street.")
    )
    assert one[:20] == other[:20], "without cross-attention the source cannot matter"


def test_gradients_agree_with_finite_differences(writer):
    run = writer.run("The animal", grad="logit: car")
    token = writer.tokenizer.encode("car").ids[0]
    path, step = "layer.0.resid_mid", 1e-2
    vector = np.zeros(writer.config.d_model, dtype=np.float32)
    vector[5] = step
    up, down = (
        writer.run("The animal", edits=[core.edits.AddVector(path, sign * vector, position=0)]).logits[
            -1, token
        ]
        for sign in (1, -1)
    )
    np.testing.assert_allclose(run.trace.grad(path)[0, 5], (up - down) / (2 * step), rtol=0.05, atol=1e-3)
    assert run.trace.grad("layer.0.self_attn.pattern").shape == run.trace["layer.0.self_attn.pattern"].shape
    with pytest.raises(KeyError):
        writer.run("The animal").trace.grad(path)


@pytest.mark.parametrize("goal", ["logit: car", lambda logits: logits[-1].max()])
def test_each_text_of_a_batch_has_the_gradient_of_its_own_goal(writer, goal):
    texts, path = ("The animal didn't cross", "A white", "The street"), "layer.0.resid_mid"
    for text, run in zip(texts, writer.run_many(texts, grad=goal), strict=True):
        alone, n = writer.run(text, grad=goal).trace.grad(path), run.side.n_real
        np.testing.assert_allclose(run.trace.grad(path)[:n], alone, atol=1e-5 * np.abs(alone).max())
        assert np.abs(alone).max() > 0 and not run.trace.grad(path)[n:].any()


def test_what_is_no_text_is_refused_in_words(writer):
    for call in (
        lambda: writer.run(["a", "b"]),
        lambda: writer.run([1, 2]),
        lambda: writer.run_many([["a"]]),
    ):
        with pytest.raises(core.InputError, match="run_many"):
            call()


def test_a_run_can_be_shared_because_it_cannot_be_written_to(writer):
    run = writer.run("The animal")
    for array in (run.logits, run.trace["layer.0.self_attn.pattern"]):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


@pytest.mark.parametrize("text", ["👨‍👩‍👧", "\x00", "<|endoftext|><end>", "<b>bold</b>", "  "])
def test_odd_text_runs(writer, text):
    run = writer.run(text)
    assert np.isfinite(run.logits).all() and len(run.tokens) == len(run.ids)


def test_empty_text_starts_from_the_start_token(writer):
    assert writer.run("").tokens == ("START",)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda w, t: t.run(""), "empty"),
        (lambda w, t: t.run("", target="Ella."), "no source"),
        (lambda w, t: w.run("a", target="b"), "no target"),
        (lambda w, t: w.run("a", pair="b"), "pairs"),
        (lambda w, t: w.run("word " * 62), "reads at most 61 at once"),
        (lambda w, t: w.run("a" * (LONGEST + 1)), "20,001 letters"),
        (
            lambda w, t: w.run("The", edits=[core.edits.Scale("layer.0.self_attn.q", float("nan"))]),
            "NaN or infinite",
        ),
        (
            lambda w, t: w.run("The", edits=[core.edits.Scale("layer.0.resid_mid", float("inf"))]),
            "NaN or infinite",
        ),
        (lambda w, t: w.run("half \ud83d of it"), "surrogate"),
        (lambda w, t: w.run("a").attention("cross"), "no attention"),
        (lambda w, t: w.run("a", grad="loss"), "unknown"),
        (lambda w, t: w.run("a").next_sentence, "no output 'next_sentence'"),
        (lambda w, t: w.run_many([]), "no text"),
        (lambda w, t: w.run("The", edits=[core.edits.ZeroHead("layer.0.self_attn.heads", 99)]), "no head 99"),
    ],
)
def test_what_cannot_be_run_is_said_in_three_parts(writer, translator, call, said):
    with pytest.raises(core.InputError, match=said) as caught:
        call(writer, translator)
    assert caught.value.wrong and caught.value.rule and caught.value.remedy
