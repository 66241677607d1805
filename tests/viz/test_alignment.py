"""The exhibit on alignment, with random models under the shipped names: every number is calculated again from a run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import torch
from deep import deep
from drawn_layers import all_rows, drawn_rows
from exhibit_pages import said
from packets import opened, unpacked
from shown_values import states
from streamlit.testing.v1 import AppTest

import core.serving.engine
from core import edits
from core.analysis.preset_checks import check_translation
from core.model import Model
from core.models import families
from core.serving.engine import Engine, Listing
from core.text import Tokenizer
from core.text.learn import learn_byte_level_bpe
from viz.course.why.alignment import exhibit, maths, steps
from viz.course.why.alignment.charts import mixing
from viz.course.why.alignment.params import SENTENCES, Params
from viz.labels import distinct, percent

KINDS = {
    "bahdanau-en-es": {"attention": "bahdanau"},
    "luong-global-en-es": {"attention": "luong-global", "score": "general", "input_feeding": True},
    "rnn-en-es": {"attention": "none", "bidirectional": False},
}
SCRIPT = "from viz.shell import errors\nfrom viz.course.why.alignment import exhibit as e\nwith errors.guard():\n    e.EXHIBIT.page()"
TEXT = "She has a white car."


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
def engine(request, monkeypatch) -> Iterator[Engine]:
    there = getattr(request, "param", tuple(KINDS))
    made = {name: build(name) for name in there}
    with Engine(
        opener=made.__getitem__, listing=lambda: tuple(Listing(name, True, "", "seq2seq") for name in there)
    ) as engine:
        monkeypatch.setattr(core.serving.engine, "_default", engine)
        yield engine


def page(step: int = 1, *folded: str, state: dict[str, object] | None = None, **link: str) -> AppTest:
    test = AppTest.from_string(SCRIPT, default_timeout=120)
    for name, value in ({"step": str(step), "text": TEXT} | link).items():
        test.query_params[name if name in ("text", "present") else f"alignment.{name}"] = value
    for name in folded:
        test.session_state[f"fold:{name}"] = True
    for name, value in (state or {}).items():
        test.session_state[name] = value
    test.run()
    assert not test.exception
    return test


def matrices(test: AppTest) -> dict[str, bytes]:
    sent = [element.proto.bytes for element in test.get("bidi_component") if element.proto.bytes]
    return {opened(packet)[0]["title"]: packet for packet in sent if "scale" in opened(packet)[0]}


# ------------------------------------------------------------------ the run


@pytest.mark.quick(1)
@pytest.mark.parametrize("asks", maths.ASKERS)
def test_weights_are_the_softmax_of_the_scores_and_the_context_is_their_mix(asks):
    """C006."""
    data = exhibit.compute(Params(TEXT, asks))
    assert data.model == maths.ASKERS[asks] and data.written_tokens[-1] == "END"
    exps = np.exp(data.scores.astype(float) - data.scores.max(1, keepdims=True))
    np.testing.assert_allclose(exps / exps.sum(1, keepdims=True), data.weights, atol=1e-5)
    np.testing.assert_allclose(data.weights.sum(1), 1, atol=1e-5)
    assert exhibit.thumbnail().count("<rect") >= exhibit.compute(Params(TEXT)).weights.size
    np.testing.assert_allclose(data.weights @ data.joined, data.contexts, atol=1e-5)


def test_the_backward_half_is_the_forward_cell_on_the_reversed_sentence():
    """C007."""
    data, model = exhibit.compute(Params(TEXT)), build("bahdanau-en-es")
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
    run = model.run(TEXT)
    x = torch.tensor(run.trace["encoder.embed.out"])
    with torch.no_grad():
        expected = oracle(x.flip(0)[None])[0][0].flip(0)
    np.testing.assert_allclose(data.back, expected, atol=1e-5)


def test_who_asks_is_a_matter_of_the_model():
    """C009."""
    before, now = (exhibit.compute(Params(TEXT, asks)) for asks in ("before", "now"))
    assert before.before == 0 < before.now and now.now == 0 < now.before


# ------------------------------------------------------------------ the page


@pytest.mark.quick(4)
@pytest.mark.parametrize("step", range(1, len(exhibit.EXHIBIT.steps) + 1))
@pytest.mark.parametrize("asks", deep(maths.ASKERS, list(maths.ASKERS)[1:]))
def test_every_step_has_a_picture_and_a_sentence_of_numbers(step, asks):
    test = page(step, asks=asks)
    assert (
        test.title[0].value == "Alignment"
        and len(test.get("plotly_chart")) + len(test.get("bidi_component")) >= 1
    )
    assert any(character.isdigit() for text in (*test.text, *test.markdown) for character in text.value)


@pytest.mark.quick(2)
@pytest.mark.parametrize("engine", [("bahdanau-en-es",)], indirect=True)
@pytest.mark.parametrize("step", range(1, len(exhibit.EXHIBIT.steps) + 1))
def test_one_model_is_enough_and_the_page_says_what_is_missing(step):
    test = page(step, asks="now")
    assert states(said(test), "luong-global-en-es")
    if step == 5:
        assert states(said(test).replace("\\", ""), "rnn-en-es")


@pytest.mark.slow
def test_the_guess_is_answered_by_this_sentence():
    answers = set()
    for text in SENTENCES:
        data = exhibit.compute(Params(text))
        row = maths.telling(data)
        answer = distinct(data.words)[int(data.weights[row].argmax())]
        answers.add(answer)
        before = page(1, text=text)
        assert f"{percent(data.weights[row].max())} to" not in said(before)
        test = page(1, text=text, state={"predict:alignment.first": answer})
        assert "Right." in said(test).replace(
            "\\", ""
        ) and f"It gives {percent(data.weights[row].max())} to" in said(test)
    assert len(answers) > 1


def test_both_directions_and_their_join_with_shapes():
    """C007."""
    test = page(2)
    n = len(exhibit.compute(Params(TEXT)).words)
    tiles = drawn_rows(test, "value")
    assert [len(tile["value"]) for tile in tiles] == n * [17] + n * [17] + n * [34]
    assert list(dict.fromkeys(tile["name"] for tile in tiles)) == [
        f"from the left → ({n} × 17)",
        f"← from the right ({n} × 17)",
        f"joined, hⱼ ({n} × 34)",
    ]


def test_scores_weights_and_mix_of_a_chosen_word():
    """C006."""
    data = exhibit.compute(Params(TEXT))
    test = page(3, word="1")
    bars, n = all_rows(test, "number", mark="rect"), len(data.scores[1])
    scores, weights = bars[:n], bars[n:]
    assert [bar["said"] for bar in scores] == [
        f"{s:.2f}".replace("-", "−") if f"{s:.2f}" != "-0.00" else "0.00" for s in data.scores[1]
    ]
    assert [bar["number"] for bar in weights] == pytest.approx(data.weights[1], abs=1e-6)
    assert states(said(test), f"{data.weights[1].sum():.3f}")


def test_the_matrix_grows_a_row_a_word():
    """C008."""
    data = exhibit.compute(Params(TEXT))
    for rows in (1, 3):
        (packet,) = matrices(page(4, rows=str(rows))).values()
        assert opened(packet)[0]["queries"] == list(data.written_tokens[:rows])
        np.testing.assert_allclose(unpacked(packet), data.weights[:rows], atol=1e-6)


@pytest.mark.slow
def test_without_attention_the_context_is_the_mean():
    data = exhibit.compute(Params(TEXT))
    text, weights, off = maths.even(data.model, TEXT)
    run = build("bahdanau-en-es").run(TEXT, edits=[edits.Uniform("decoder.attn.scores")])
    assert text == run.target_text and off < 1e-6
    np.testing.assert_allclose(weights, 1 / len(data.words), atol=1e-6)
    np.testing.assert_allclose(run.trace["decoder.attn.context"][0], data.joined.mean(0), atol=1e-6)
    test = page(5)
    assert f"1 / {len(data.words)} = {1 / len(data.words):.3f}" in said(test)
    assert len(test.get("bidi_component")) >= 2


@pytest.mark.slow
def test_both_trained_orders_side_by_side():
    """C009."""
    test = page(6)
    assert set(matrices(test)) == {"sₜ₋₁, Bahdanau: bahdanau-en-es", "sₜ, Luong: luong-global-en-es"}
    largest = exhibit.compute(Params(TEXT)).weights.max(1).mean()
    assert states(said(test), percent(largest))
    assert "difference" not in said(test), "figures of a test stand in the fold"
    assert states(said(page(6, "alignment.equation")), "$s_{t-1}$", "0")


def test_the_equation_has_both_ways_of_scoring_and_the_slopes():
    test = page(3, "alignment.equation")
    told = said(test)
    for phrase in ("Both formulas give these scores", "Raise the score"):
        assert phrase in told, phrase
    assert any("derivative" in title for title in matrices(test))


@pytest.mark.slow
def test_the_lines_to_take_away_make_the_same_context():
    data = exhibit.compute(Params(TEXT))
    names: dict[str, object] = {"build": build}
    exec(steps.code(Params(TEXT), data).replace("core.open_model", "build"), names)
    np.testing.assert_allclose(names["c"], data.contexts, atol=1e-5)


def test_the_figure_as_data():
    figure = mixing(
        np.array([-1.0, 2.0]), np.array([0.05, 0.95]), np.zeros((2, 34)), np.ones(34), ["<b>", "c"]
    )
    assert all(bar["y"] <= bar["y2"] for bar in all_rows(figure, "number", mark="rect"))
    assert [row["said"] for row in drawn_rows(figure, "middle")] == ["−1.00", "2.00", "0.05", "0.95"]
    assert [len(tile["value"]) for tile in drawn_rows(figure, "value")] == [34, 34, 34], (
        "two states and their mix"
    )
    words = [row["said"] for row in all_rows(figure, "said", mark="text")]
    assert {"<b>", "c"} <= {*words}, "text of visitors is no markup"


def test_a_recurrent_translator_has_no_heads():
    """What the picture says of a touched word speaks of the model: it has one alignment."""
    sent = [opened(element.proto.bytes)[0] for element in page().get("bidi_component") if element.proto.bytes]
    (say,) = [packet["say"] for packet in sent if "say" in packet]
    assert "the model gives" in say["looks"] and not any("head" in text for text in say.values())


@pytest.mark.slow
def test_a_telling_error_of_one_vector_is_told_beside_it_for_a_ready_made_sentence():
    def errors(**link: str) -> list[str]:
        return [text.value for text in page(5, **link).text if text.value.startswith("A telling error")]

    written = core.serving.engine.default().open(maths.ONE_VECTOR).run(TEXT, keep=[]).target_text
    right = "Ella tiene un auto blanco."
    assert states("\n".join(errors(text=TEXT)), maths.ONE_VECTOR, f"“{written}”", f"“{right}”")
    assert states("\n".join(errors(text=TEXT, present="1")), f"“{right}”"), "before a room too"
    assert errors(text="I gave my little sister a red ball.") == [], "nothing is promised of it"
    assert all(check_translation(text, maths.ONE_VECTOR, "") for text in SENTENCES), (
        "each ready-made sentence has a right translation"
    )
