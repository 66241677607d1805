"""The encoder and its stack: every number of every step against the run, for both encoders."""

from __future__ import annotations

import numpy as np
import pytest
from drawn_layers import drawn_rows
from exhibit_pages import StepPages, drawn, figure, said
from exhibit_visits import answered
from packets import opened, packets_of, unpacked
from shown_values import states

from viz.charts.curves import number
from viz.course.transformer.encoder import exhibit, maths, steps
from viz.course.transformer.encoder.params import MODELS, SENTENCES, SHAPES, Params
from viz.number_text import or_exactly_zero

page = StepPages("encoder", {"of": "bert-mini"}, ("text", "layer"))


def matrices(test) -> list[bytes]:
    return [packet for packet in packets_of(test) if "scale" in opened(packet)[0]]


@pytest.fixture(scope="module", params=MODELS)
def data(request):
    return exhibit.compute(Params(model=request.param))


def test_the_question_is_answered_by_this_sentence():
    answers = set()
    for text in SENTENCES[:2]:
        found = exhibit.compute(Params(text))
        first, cosines = (maths.cosines(found.states[at]) for at in (0, -1))
        word = steps.drawn_to(first, cosines, steps.word_positions(found))
        others = np.where(np.arange(len(cosines)) == word, -2, cosines[word])
        nearest = int(others.argmax())
        before = page(text=text)
        answers.add(page.answer(before, "alike"))
        assert page.answer(before, "alike") == found.words[nearest] and len(matrices(before)) == 1
        assert steps.nearest(first, word) != nearest, "the nearest word has changed"
        after = answered(before)
        assert f"to {number(float(others.max()))}." in said(after) and len(matrices(after)) == 2
    assert len(answers) == 2


def test_one_layer_in_numbers_for_one_word(data):
    test = page(2, of=data.run.model.name, word=2, layer=1)
    lengths = {stage.name: np.linalg.norm(stage.vector) for stage in maths.stages(data.run, 1, 2)}
    assert states(said(test), f"{lengths['attention']:.2f}", f"{lengths['feed-forward']:.2f}")
    assert figure(test)["data"][0]["z"]["shape"].replace(" ", "") == f"7,{data.states.shape[2]}"


@pytest.mark.quick(1)
def test_the_stack_is_read_after_n_layers_and_equals_a_loop(data):
    """C067, C068."""
    assert data.off < 1e-4
    for at in (0, 1, data.run.model.config.n_layers):
        test = page(3, "equation", of=data.run.model.name, N=at)
        (packet,) = matrices(test)
        np.testing.assert_allclose(unpacked(packet), maths.cosines(data.states[at]), atol=2e-3)
        assert f"After {at} layers" in said(test)
        assert f"differ by {or_exactly_zero(data.off, f'{data.off:.0e}')}" in said(test)
        assert number(float(data.depth.with_input[at].mean())) in said(test)


@pytest.mark.quick(2)
@pytest.mark.parametrize(
    ("link", "model"),
    [
        ({}, "bert-mini"),
        ({"text": "You are welcome."}, "bert-mini"),
        ({"step": "4"}, "translator-en-es"),
        ({"word": "2", "step": "2", "text": "You are welcome."}, "translator-en-es"),
        ({"N": "0", "step": "3"}, "translator-en-es"),
        ({"step": "4", "of": "bert-mini"}, "bert-mini"),
    ],
)
def test_a_link_without_a_model_opens_the_encoder_that_it_meant(link: dict[str, str], model: str):
    """The translator's was the opening one before BERT came first."""
    asked = {name if name == "text" else f"encoder.{name}": value for name, value in link.items()}
    test = drawn("encoder", asked, {}, guarded=True)
    assert not test.exception and test.query_params["encoder.of"] == model
    assert {name: test.query_params[name] for name in asked} == asked


def test_maps_by_layer_and_head(data):
    """C067."""
    n, h = data.run.model.config.n_layers, data.run.model.config.n_heads
    test = page(4, of=data.run.model.name)
    assert f"{n} × {h} = {n * h} maps" in said(test)
    (packet,) = matrices(test)
    np.testing.assert_allclose(unpacked(packet), data.run.attention("self").weights[n - 1, 0], atol=2e-3)


def test_over_depth_for_a_chosen_word(data):
    test = page(5, of=data.run.model.name, word=3)
    own, others = (number(float(each[-1, 3])) for each in (data.depth.with_input, data.depth.others))
    assert f"after L{len(data.states) - 2} {own} and {others}" in said(test)
    names = list(dict.fromkeys(dot["line"] for dot in drawn_rows(test, mark="line") if not dot["pale"]))
    assert "itself" in names[0] and "other words" in names[1] and len(names) == 2
    assert all(name.endswith(f": {data.words[3]}") for name in names)


def test_parameters_are_counted_and_equal_the_formula():
    own, base, printed = (said(page(6, shape=shape)) for shape in SHAPES)
    assert "+ 4 d = 789,760" in own.replace("$", "")
    assert "3,152,384. 4(d² + d)" in base and "6 layers: 18,914,304" in base
    assert "1,577,984" in printed and "6 layers: 9,467,904" in printed
