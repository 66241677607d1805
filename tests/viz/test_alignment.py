"""The exhibit on alignment, with random models under the shipped names: every number is calculated again from a run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import torch
from deep import deep
from drawn_layers import all_rows, drawn_rows
from exhibit_pages import StepPages, instruments, said
from exhibit_visits import answered
from packets import opened, packets_of, unpacked
from shown_values import states

import core.serving.engine
from core import edits
from core.analysis.preset_checks import check_translation
from core.model import Model
from core.models import families
from core.serving.engine import Engine, Listing, default
from core.text import Tokenizer
from core.text.learn import learn_byte_level_bpe
from viz.course.why.alignment import exhibit, maths
from viz.course.why.alignment.params import SENTENCES, Params
from viz.labels import distinct, percent

KINDS = {
    "bahdanau-en-es": {"attention": "bahdanau"},
    "luong-global-en-es": {"attention": "luong-global", "score": "general", "input_feeding": True},
    "rnn-en-es": {"attention": "none", "bidirectional": False},
}
TEXT = "She has a white car."
STEPS = range(1, len(exhibit.EXHIBIT.steps) + 1)
page = StepPages("alignment", {"text": TEXT}, ("text", "present"))


def build(name: str) -> Model:
    corpus = [*SENTENCES, "Ella tiene un auto blanco.", "De nada."] * 6
    backend = learn_byte_level_bpe(corpus, 420, ("<pad>", "<start>", "<end>"), prefix_space=True)
    family = families()["seq2seq"]
    config = replace(
        family.config.tiny(), n_vocab=backend.get_vocab_size(), n_ctx=128, n_layers=1, **KINDS[name]
    )
    with torch.random.fork_rng():
        torch.manual_seed(11)
        network = family.network(config)
        for weight in network.parameters():
            torch.nn.init.normal_(weight, std=0.4)
    return Model(name, family, config, network, Tokenizer(backend, pad=0, start=1, end=2))


@pytest.fixture(autouse=True)
def engine(request, monkeypatch) -> Iterator[None]:
    made = {name: build(name) for name in getattr(request, "param", KINDS)}
    listing = tuple(Listing(name, True, "", "seq2seq") for name in made)
    with Engine(opener=made.__getitem__, listing=lambda: listing) as engine:
        monkeypatch.setattr(core.serving.engine, "_default", engine)
        yield


@pytest.fixture
def data(engine):
    return exhibit.compute(Params(TEXT))


def matrices(test) -> dict[str, bytes]:
    packets = {opened(packet)[0].get("title"): packet for packet in packets_of(test)}
    return {title: packet for title, packet in packets.items() if "scale" in opened(packet)[0]}


@pytest.mark.quick(1)
@pytest.mark.parametrize("asks", maths.ASKERS)
def test_weights_are_the_softmax_of_the_scores_and_the_context_is_their_mix(asks):
    """C006."""
    data = exhibit.compute(Params(TEXT, asks))
    assert data.model == maths.ASKERS[asks] and data.written_tokens[-1] == "END"
    exps = np.exp(data.scores.astype(float) - data.scores.max(1, keepdims=True))
    np.testing.assert_allclose(exps / exps.sum(1, keepdims=True), data.weights, atol=1e-5)
    np.testing.assert_allclose(data.weights @ data.joined, data.contexts, atol=1e-5)
    own, other = ("before", "now") if asks == "before" else ("now", "before")
    assert getattr(data, own) == 0 < getattr(data, other), "who asks is a matter of the model"


def test_the_backward_half_is_the_forward_cell_on_the_reversed_sentence(data):
    """C007."""
    model = build("bahdanau-en-es")
    np.testing.assert_array_equal(np.concatenate((data.ahead, data.back), 1), data.joined)
    cell = model.network.encoder.backward_cells[0]
    oracle = torch.nn.LSTM(34, 17, batch_first=True)
    oracle.load_state_dict(
        {
            "weight_ih_l0": cell.from_input.weight,
            "weight_hh_l0": cell.from_hidden.weight,
            "bias_ih_l0": cell.from_input.bias,
            "bias_hh_l0": cell.from_hidden.bias,
        }
    )
    x = torch.tensor(model.run(TEXT).trace["encoder.embed.out"])
    with torch.no_grad():
        expected = oracle(x.flip(0)[None])[0][0].flip(0)
    np.testing.assert_allclose(data.back, expected, atol=1e-5)


@pytest.mark.quick(2)
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("asks", deep(maths.ASKERS, list(maths.ASKERS)[1:]))
def test_every_step_opens_for_both_who_ask(step, asks):
    page(step, asks=asks)


@pytest.mark.quick(2)
@pytest.mark.parametrize("engine", [("bahdanau-en-es",)], indirect=True)
@pytest.mark.parametrize("step", STEPS)
def test_one_model_is_enough_and_the_page_says_what_is_missing(step):
    test = page(step, asks="now")
    assert states(said(test), "luong-global-en-es") and (step != 5 or states(said(test), "rnn-en-es"))


@pytest.mark.slow
def test_the_guess_is_answered_by_this_sentence():
    answers = set()
    for text in SENTENCES:
        data, test = exhibit.compute(Params(text)), answered(page(text=text))
        row = data.weights[maths.telling(data)]
        assert page.answer(test, "first") == distinct(data.words)[int(row.argmax())]
        assert f"It gives {percent(row.max())} to" in said(test)
        answers.add(page.answer(test, "first"))
    assert len(answers) > 1


def test_both_directions_and_their_join_with_shapes(data):
    """C007."""
    tiles, n = drawn_rows(page(2), "value"), len(data.words)
    assert [len(tile["value"]) for tile in tiles] == n * [17] + n * [17] + n * [34]
    assert list(dict.fromkeys(tile["name"] for tile in tiles)) == [
        f"from the left → ({n} × 17)",
        f"← from the right ({n} × 17)",
        f"joined, hⱼ ({n} × 34)",
    ]


def test_scores_weights_and_mix_of_a_chosen_word(data):
    """C006."""
    test = page(3, "equation", word=1)
    bars, n = all_rows(test, "number", mark="rect"), len(data.scores[1])
    scores = [float(bar["said"].replace("−", "-")) for bar in bars[:n]]
    assert scores == pytest.approx(data.scores[1], abs=0.006)
    assert [bar["number"] for bar in bars[n:]] == pytest.approx(data.weights[1], abs=1e-6)
    assert states(said(test), f"{data.weights[1].sum():.3f}")
    assert any("derivative" in title for title in matrices(test))


@pytest.mark.parametrize("rows", [1, 3])
def test_the_matrix_grows_a_row_a_word(data, rows):
    """C008."""
    (packet,) = matrices(page(4, rows=rows)).values()
    assert opened(packet)[0]["queries"] == list(data.written_tokens[:rows])
    np.testing.assert_allclose(unpacked(packet), data.weights[:rows], atol=1e-6)


@pytest.mark.slow
def test_without_attention_the_context_is_the_mean(data):
    text, weights, off = maths.even(data.model, TEXT)
    run = build("bahdanau-en-es").run(TEXT, edits=[edits.Uniform("decoder.attn.scores")])
    share = 1 / len(data.words)
    assert text == run.target_text and off < 1e-6
    np.testing.assert_allclose(weights, share, atol=1e-6)
    np.testing.assert_allclose(run.trace["decoder.attn.context"][0], data.joined.mean(0), atol=1e-6)
    assert f"1 / {len(data.words)} = {share:.3f}" in said(page(5))


@pytest.mark.slow
def test_both_trained_orders_side_by_side(data):
    """C009."""
    test = page(6, "equation")
    assert {"sₜ₋₁, Bahdanau: bahdanau-en-es", "sₜ, Luong: luong-global-en-es"} <= {*matrices(test)}
    assert states(said(test), percent(data.weights.max(1).mean()))
    assert states(said(test), "$s_{t-1}$", "0")


def test_a_recurrent_translator_has_no_heads():
    """What the picture says of a touched word speaks of the model: it has one alignment."""
    (packet,) = instruments(page(), "say")
    assert "the model gives" in packet["say"]["looks"]
    assert not any("head" in text for text in packet["say"].values())


@pytest.mark.slow
def test_a_telling_error_of_one_vector_is_told_beside_it_for_a_ready_made_sentence():
    def errors(**link: object) -> str:
        texts = [text.value for text in page(5, **link).text]
        return "\n".join(text for text in texts if text.startswith("A telling error"))

    written = default().open(maths.ONE_VECTOR).run(TEXT, keep=[]).target_text
    right = "“Ella tiene un auto blanco.”"
    assert states(errors(), maths.ONE_VECTOR, f"“{written}”", right)
    assert states(errors(present=1), right), "before a room too"
    assert errors(text="I gave my little sister a red ball.") == "", "nothing is promised of it"
    checked = [check_translation(text, maths.ONE_VECTOR, "") for text in SENTENCES]
    assert all(checked), "each ready-made sentence has a right translation"
