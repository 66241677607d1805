"""Model.run on small random models: what a run holds, and what is refused in three parts."""

from __future__ import annotations

import itertools
import threading

import numpy as np
import pytest
import torch
from small_models import build

import core
from core.edits import Patch, ZeroHead
from core.errors import InputError
from core.text.tokenizer import LONGEST
from core.trace import OFF, Recorder, record


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
    assert attention.weights.shape == (writer.config.n_layers, writer.config.n_heads, n, n)
    assert attention.weights.dtype == np.float32
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
    one = writer.run("The animal", keep="layer.1.self_attn.pattern|layer.0.resid_mid").trace
    assert set(one.names()) == {"layer.0.resid_mid", "layer.1.self_attn.allowed", "layer.1.self_attn.pattern"}
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
    with pytest.raises(core.InputError, match=said):
        call(writer, translator)


# ---------------- The trace by itself: what it keeps, what it refuses.


def test_off_returns_its_argument_and_its_scope_is_itself():
    value = torch.arange(3)
    assert OFF("x", value, "pos") is value
    assert (OFF / "layer.0" / "self_attn") is OFF


def test_a_path_names_the_call_not_the_module():
    layer = torch.nn.Linear(3, 3).eval()

    def four_calls(x, tap):
        for step in range(4):
            x = (tap / f"step.{step}")("out", layer(x), "batch d_model")
        return x

    out, trace = record(four_calls, torch.ones(2, 3))
    assert trace.names() == [f"step.{step}.out" for step in range(4)]
    assert torch.equal(trace["step.3.out"], out)
    assert trace.stack("step.*.out").shape == (4, 2, 3)


@pytest.mark.parametrize(
    ("body", "keep", "edits", "said"),
    [
        (lambda x, tap: tap("a", x, "batch pos"), ["*"], [], "has 1 axes"),
        (lambda x, tap: tap("a", tap("a", x, "pos"), "pos"), ["*"], [], "tapped twice"),
        (lambda x, tap: tap("a", x, "pos"), ["*.pattern"], [], "met no value"),
        (lambda x, tap: tap("a", x, "pos"), ["*"], [core.edits.Scale("b", 2.0)], "met no value"),
        (
            lambda x, tap: tap("a", x, "pos"),
            ["*"],
            [core.edits.Patch("a", torch.ones(1, dtype=torch.float64))],
            None,
        ),
    ],
)
def test_loud_by_construction(body, keep, edits, said):
    if said is None:
        out, _ = record(body, torch.zeros(3), keep=keep, edits=edits)
        assert out.dtype == torch.float32
        return
    with pytest.raises(ValueError, match=said):
        record(body, torch.zeros(3), keep=keep, edits=edits)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda value: value[:1], r"makes \(1,\) torch.float32 of \(3,\) torch.float32 at 'a'"),
        (lambda value: value.double(), r"makes \(3,\) torch.float64 of \(3,\) torch.float32 at 'a'"),
        (lambda value: value + torch.ones(2), "The function of the edit at 'a' raises RuntimeError"),
    ],
)
def test_an_edit_keeps_shape_and_dtype(change, said):
    with pytest.raises(core.InputError, match=said) as caught:
        record(lambda x, tap: tap("a", x, "pos"), torch.zeros(3), edits=[core.edits.Function("a", change)])
    assert caught.value.rule.count("shape and dtype") == 1 and caught.value.remedy


def test_training_mode_is_refused():
    class Net(torch.nn.Module):
        def forward(self, x, tap=OFF):
            return tap("x", x, "pos")

    with pytest.raises(ValueError, match="training mode"):
        record(Net(), torch.ones(1))


def test_in_place_operations_on_a_named_value_are_caught():
    def careless(x, tap):
        kept = tap("x", x * 1, "pos")
        kept.mul_(2)
        return kept

    _, trace = record(careless, torch.ones(2))
    assert trace.changed_in_place() == ["x"]


def test_two_recorders_on_one_network_never_meet():
    layer = torch.nn.Linear(5, 5).eval()

    def net(x, tap):
        return (tap / "layer.0")("out", layer(x), "batch d_model")

    inputs = [torch.full((1, 5), float(i)) for i in range(8)]
    alone = [record(net, x)[1]["layer.0.out"] for x in inputs]
    seen = {i: [] for i in range(8)}

    def work(i):
        edits = [core.edits.Scale("layer.0.out", 3.0)] if i % 2 else []
        for _ in range(50):
            seen[i].append(record(net, inputs[i], edits=edits)[1]["layer.0.out"])

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i, values in seen.items():
        wanted = alone[i] * 3.0 if i % 2 else alone[i]
        assert len(values) == 50 and all(torch.equal(value, wanted) for value in values)


def test_the_limit_counts_bytes():
    recorder = Recorder(limit=100)
    recorder("a", torch.zeros(10), "pos")
    with pytest.raises(MemoryError):
        recorder("b", torch.zeros(100), "pos")


# ---------------- Runs on another device: the same values, in the processor's memory again; the other device here is the cpu under another name.


THERE = "cpu:0"


@pytest.mark.quick(2)
@pytest.mark.parametrize("name", ["translator-en-es", "bert-mini", "gpt-mini"])
def test_a_run_on_a_device_has_the_values_of_a_run_on_the_cpu(name):
    model = core.open_model(name)
    text = "The animal was [MASK]." if name == "bert-mini" else "The animal was tired."
    plain = model.run(text)
    where = plain.trace.names("*.heads")[0]
    for edits in ((), (ZeroHead(where, 1), Patch(where, plain.trace[where]))):
        plain, there = model.run(text, edits=edits), model.run(text, edits=edits, device=THERE)
        assert [*plain.trace] == [*there.trace] and plain.target_text == there.target_text
        for path in plain.trace:
            np.testing.assert_array_equal(plain.trace[path], there.trace[path])
        np.testing.assert_array_equal(plain.logits, there.logits)


def test_gradients_come_back_from_a_device():
    model = core.open_model("gpt-mini")
    plain, there = (
        model.run("The animal was tired.", grad=lambda logits: logits[-1, 7], device=device)
        for device in ("cpu", THERE)
    )
    for path in plain.trace.names("*.pattern"):
        np.testing.assert_allclose(plain.trace.grad(path), there.trace.grad(path), atol=1e-7)


@pytest.mark.parametrize("device", ["typewriter", "cuda:99"])
def test_a_device_that_is_not_there_is_refused(device):
    with pytest.raises(InputError, match=device):
        core.open_model("gpt-mini").run("a", device=device)


def test_what_is_read_on_stays_on_the_cpu():
    with pytest.raises(InputError, match="reads_on"):
        core.open_model("gpt-mini").run("a", reads_on=True, device=THERE)
