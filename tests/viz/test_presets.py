"""Ready-made sentences in Look and Decode: what is listed, what choosing one does, what is kept."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest
from tiny_models import serving
from workspace_pages import again, click, said
from workspace_pages import page as visited

from core.data.texts import texts
from viz.labels import literal
from viz.shell import state
from viz.workspace.shared import head_ref, presets

MODELS = ("bahdanau", "tiny-bert", "tiny-gpt", "copy-lstm-attention", "prompt-tiny")


engine = serving(*MODELS)


def page(name: str = "look", *, open: bool = True, **link: str) -> AppTest:
    return visited(name, {f"presets:{name}": open}, **link)


def listed(test: AppTest) -> list[str]:
    return [option for radio in test.radio for option in radio.options]


def choose(test: AppTest, text: str) -> AppTest:
    for radio in test.radio:
        for place, option in enumerate(radio.options):
            if option.startswith(literal(text)):
                radio.set_value(place)
                return again(test)
    raise AssertionError(f"{text} is not listed: {listed(test)}")


def linked(test: AppTest) -> dict[str, str]:
    return {name: test.query_params[name] for name in presets.NAMES if name in test.query_params}


def rows(*kinds: str) -> list:
    return [row for row in texts("presets") if row.kind in kinds]


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    ("model", "kinds"),
    [("bahdanau", ("translate",)), ("tiny-gpt", ("continue",)), ("tiny-bert", ("fill", "pair"))],
)
def test_the_list_is_for_the_task_a_few_first_and_all_behind_more(engine, model, kinds):
    test = page(model=model)
    assert 4 <= len(listed(test)) <= 6
    assert len(listed(click(test, " more"))) == len(rows(*kinds))
    assert not page(model=model, open=False).radio, "a closed list is not made"


def test_a_choice_fills_the_box_closes_the_list_and_says_what_there_is_to_see(engine):
    row = rows("translate")[0]
    test = choose(page(model="bahdanau"), row.text)
    assert linked(test) == {"text": row.text} and test.text_input[0].value == row.text
    assert not test.radio and row.note in said(test)


def test_a_given_translation_is_one_touch_away_and_named_as_given(engine):
    row = rows("translate")[0]
    test = choose(page(model="bahdanau"), row.text)
    test = click(test, row.second)
    assert linked(test) == {"text": row.text, "target": row.second}
    test = click(test, "was given")
    assert linked(test) == {"text": row.text}


def test_a_pair_fills_both_boxes_and_a_blank_empties_the_second(engine):
    pair, blank = rows("pair")[0], rows("fill")[0]
    test = choose(page(model="tiny-bert"), pair.text)
    assert linked(test) == {"text": pair.text, "pair": pair.second}
    assert [box.value for box in test.text_input] == [pair.text, pair.second]
    test.session_state["presets:look"] = True
    test = choose(again(test), blank.text)
    assert linked(test) == {"text": blank.text} and len(test.text_input) == 1


def test_what_was_typed_comes_back(engine):
    mine = "<b>mine</b> *and* mine alone"
    test = choose(page(model="bahdanau", text=mine, target="mía"), rows("translate")[1].text)
    assert linked(test) == {"text": rows("translate")[1].text}
    test.session_state["presets:look"] = True
    test = click(again(test), "Back to “<b>mine")
    assert linked(test) == {"text": mine, "target": "mía"}
    test = click(test, "Your own")
    assert test.text_input[0].value == ""
    test = click(test, "Your own")
    assert linked(test) == {"text": mine, "target": "mía"}


def test_a_translation_goes_with_its_sentence(engine):
    test = page(model="bahdanau", open=False, text="I am a student.", target="Soy estudiante.")
    test.text_input[0].set_value("I am tired.")
    assert linked(again(test)) == {"text": "I am tired."}


def test_another_task_keeps_what_was_typed_and_drops_what_was_made_for_the_task(engine):
    for text, kept in (("Money is in the [MASK].", False), ("My own [MASK].", True)):
        test = page(model="tiny-bert", open=False, text=text)
        chips = test.button_group(key="tasks:look")
        assert list(chips.options) == ["Translate", "Continue", "Fill a blank", "Toy tasks"]
        chips.set_value("Translate")
        assert (linked(again(test)).get("text") == text) == kept


def test_decode_lists_them_too(engine):
    row = rows("continue")[1]
    test = choose(page("decode", model="tiny-gpt"), row.text)
    assert test.text_input[0].value == row.text and test.query_params["text"] == row.text
    assert "decode.n" not in test.query_params


def test_every_ready_made_sentence_can_be_read(engine):
    for model in MODELS:
        opened = engine.open(model)
        for row in presets.fitting(opened):
            second = {"pair": "pair", "translate": "target", "copy": "target"}.get(row.kind)
            given = {second: row.second} if second else {}
            assert "<unk>" not in opened.run(row.text, **given, keep=[]).tokens
            assert len(row.note) <= 160, "kept short: it stands in a list"


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    ("name", "model", "kind"), [("look", "copy-lstm-attention", "copy"), ("decode", "prompt-tiny", "prompt")]
)
def test_a_model_of_a_toy_task_opens_with_a_text_of_its_own(engine, name, model, kind):
    test = page(name, model=model)
    assert listed(test) == [literal(row.text) for row in rows(kind)]
    assert test.text_input[0].value == rows(kind)[0].text
    test = choose(test, rows(kind)[2].text)
    assert linked(test) == {"text": rows(kind)[2].text}
    chips = next(group for group in test.button_group if group.key.startswith("tasks:"))
    assert chips.value == "Toy tasks"
    chips.set_value("Continue")
    assert linked(again(test)) == {}, "what was made for the task goes"


def test_look_shows_a_copier_letter_by_letter(engine):
    run = engine.open("copy-lstm-attention").run("k a t", target="kat", keep=["*.pattern"])
    assert (
        head_ref.attention_of(run, "alignment").queries[:3]
        == head_ref.attention_of(run, "alignment").keys
        == ("k", "a", "t")
    )


def test_another_task_is_one_write_of_the_link(engine, monkeypatch):
    """Two would be two entries of the browser's history where they arrive apart: back led to a page that nobody had seen."""
    writes = []
    test = page(model="tiny-bert", text=rows("fill")[0].text, open=False)
    link = state._link
    monkeypatch.setattr(state, "_link", lambda values: (writes.append(values), link(values))[1])
    pills = next(box for box in test.button_group if "Translate" in [*box.options])
    pills.set_value("Translate")
    again(test)
    assert test.query_params["model"] == "bahdanau" and "text" not in test.query_params
    assert writes[0] == {"text": None, "pair": None, "target": None, "model": "bahdanau"}
