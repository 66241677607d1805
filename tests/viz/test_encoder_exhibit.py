"""The encoder and its stack without a browser: every number of every step against the run, for both encoders."""

from __future__ import annotations

import numpy as np
import pytest
from drawn_layers import drawn_rows
from exhibit_pages import drawn, figure, said
from packets import opened, unpacked
from shown_values import states
from streamlit.testing.v1 import AppTest

from viz.charts.curves import number
from viz.course.exhibit import fill_in
from viz.course.transformer.encoder import exhibit, maths, steps
from viz.course.transformer.encoder.params import MODELS, SENTENCES, SHAPES, Params
from viz.number_text import or_exactly_zero


def page(
    step: int = 1,
    *folded: str,
    state: dict[str, object] | None = None,
    text: str | None = None,
    layer: str | None = None,
    **link: str,
) -> AppTest:
    names = {
        f"encoder.{name}": value for name, value in ({"step": str(step), "of": "bert-mini"} | link).items()
    }
    names |= {name: value for name, value in (("text", text), ("layer", layer)) if value is not None}
    return drawn("encoder", names, {f"fold:{name}": True for name in folded} | (state or {}), guarded=True)


def matrices(test: AppTest) -> dict[str, bytes]:
    sent = [element.proto.bytes for element in test.get("bidi_component") if element.proto.bytes]
    return {opened(packet)[0]["title"]: packet for packet in sent if "scale" in opened(packet)[0]}


@pytest.fixture(scope="module", params=MODELS)
def data(request):
    return exhibit.compute(Params(model=request.param))


def test_the_question_is_answered_by_this_sentence():
    answers = set()
    for text in SENTENCES[:2]:
        found = exhibit.compute(Params(text))
        first, cosines = (maths.cosines(found.states[at]) for at in (0, -1))
        word = steps.drawn_to(first, cosines, steps.word_positions(found))
        last = cosines[word].copy()
        last[word] = -2
        answer = found.words[int(last.argmax())]
        answers.add(answer)
        assert steps.nearest(first, word) != int(last.argmax()), "the nearest word has changed"
        before = page(1, text=text)
        assert (
            not before.exception
            and number(float(last.max())) not in said(before)
            and len(matrices(before)) == 1
        )
        after = page(1, text=text, state={"predict:encoder.alike": answer})
        assert (
            "Right." in said(after)
            and f"to {number(float(last.max()))}." in said(after)
            and len(matrices(after)) == 2
        )
    assert len(answers) == 2


def test_one_layer_in_numbers_for_one_word(data):
    word, of = 2, data.run.model.name
    test = page(2, of=of, word=str(word), layer="1")
    stages = maths.stages(data.run, 1, word)
    by = {stage.name: stage.vector for stage in stages}
    assert states(
        said(test), f"{np.linalg.norm(by['attention']):.2f}", f"{np.linalg.norm(by['feed-forward']):.2f}"
    )
    assert figure(test)["data"][0]["z"]["shape"].replace(" ", "") == f"7,{data.states.shape[2]}"


@pytest.mark.quick(1)
def test_the_stack_is_read_after_n_layers_and_equals_a_loop(data):
    """C067, C068."""
    n = data.run.model.config.n_layers
    assert data.off < 1e-4
    for at in (0, 1, n):
        test = page(3, "encoder.equation", of=data.run.model.name, N=str(at))
        (packet,) = matrices(test).values()
        np.testing.assert_allclose(unpacked(packet), maths.cosines(data.states[at]), atol=2e-3)
        assert f"After {at} layers" in said(
            test
        ) and f"differ by {or_exactly_zero(data.off, f'{data.off:.0e}')}" in said(test)
        assert number(float(data.depth.with_input[at].mean())) in said(test)


@pytest.mark.quick(2)
@pytest.mark.parametrize(
    ("link", "model"),
    [
        ({}, "bert-mini"),
        ({"text": "You are welcome."}, "bert-mini"),
        ({"encoder.step": "4"}, "translator-en-es"),
        ({"encoder.word": "2", "encoder.step": "2", "text": "You are welcome."}, "translator-en-es"),
        ({"encoder.N": "0", "encoder.step": "3"}, "translator-en-es"),
        ({"encoder.step": "4", "encoder.of": "bert-mini"}, "bert-mini"),
    ],
)
def test_a_link_without_a_model_opens_the_encoder_that_it_meant(link: dict[str, str], model: str):
    """The translator's was the opening one before BERT came first."""
    test = drawn("encoder", link, {}, guarded=True)
    assert not test.exception and test.query_params["encoder.of"] == model
    assert {name: test.query_params[name] for name in link} == link


def test_maps_by_layer_and_head(data):
    """C067."""
    n, h = data.run.model.config.n_layers, data.run.model.config.n_heads
    test = page(4, of=data.run.model.name)
    assert f"{n} × {h} = {n * h} maps" in said(test)
    (packet,) = matrices(test).values()
    np.testing.assert_allclose(unpacked(packet), data.run.attention("self").weights[n - 1, 0], atol=2e-3)


def test_over_depth_for_a_chosen_word(data):
    test = page(5, of=data.run.model.name, word="3")
    last = data.depth.with_input[-1, 3], data.depth.others[-1, 3]
    assert f"after L{len(data.states) - 2} {number(float(last[0]))} and {number(float(last[1]))}" in said(
        test
    )
    names = list(dict.fromkeys(dot["line"] for dot in drawn_rows(test, mark="line") if not dot["pale"]))
    own, others = names
    assert "itself" in own and "other words" in others
    assert all(name.endswith(f": {data.words[3]}") for name in names)


def test_parameters_are_counted_and_equal_the_formula():
    own, base, printed = (page(6, shape=shape) for shape in SHAPES)
    assert states(said(own), "789,760") and "+ 4 d = 789,760" in said(own).replace("$", "")
    assert "3,152,384. 4(d² + d)" in said(base) and "6 layers: 18,914,304" in said(base)
    assert "1,577,984" in said(printed) and "6 layers: 9,467,904" in said(printed)


def test_the_parameters_stand_below_the_equation():
    assert "3,152,384" in said(page(3, "encoder.equation"))


def test_the_lines_to_take_away_make_the_same_numbers(data):
    names: dict[str, object] = {}
    exec(fill_in(exhibit.EXHIBIT.text.steps[0].code, {}, Params(model=data.run.model.name)), names)
    np.testing.assert_allclose(names["found"].with_input, data.depth.with_input, atol=1e-5)
    np.testing.assert_allclose(names["states"], data.states, atol=1e-4)
