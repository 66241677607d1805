"""What if on tiny models of three families: the edits of the link are those of the runs, and each can be taken back."""

from __future__ import annotations

import numpy as np
import pytest
from deep import deep
from packets import opened, packets_of, unpacked
from streamlit.testing.v1 import AppTest
from test_inside import EACH, MODELS
from tiny_models import serving
from workspace_pages import again, linked, page, said, sent

from core import edits
from core.edits.serialize import to_text
from core.maths import softmax
from viz.widgets import pins
from viz.workspace.compare import data as compared
from viz.workspace.shared.what_if_link import EDITS, OFF
from viz.workspace.what_if import data
from viz.workspace.what_if import page as what_if

TEXT = "She has a white car."
HEAD = {"layer": "0", "head": "1"}
NONE = {EDITS: "none"} | HEAD


engine = serving(*MODELS)


def changed_page(**link: str) -> AppTest:
    return page("what_if", **{"model": "tiny-gpt", "text": TEXT} | link)


def touch(test: AppTest, key: str) -> AppTest:
    test.button(key).click()
    return again(test)


def chips(test: AppTest) -> list[str]:
    labels = [one.label for one in test.button if (one.key or "").startswith("what_if.chip.")]
    return [label.replace("\\", "") for label in labels]


def pictures(test: AppTest) -> dict[str, bytes]:
    """The packets with a title, by it."""
    titles = {opened(packet)[0]["title"]: packet for packet in sent(test, "title")}
    return {title: packet for title, packet in titles.items() if title}


def picture(test: AppTest, title: str) -> np.ndarray:
    titles = [own for own in pictures(test) if title in own and ("minus" in title) == ("minus" in own)]
    (packet,) = (pictures(test)[own] for own in titles)
    return unpacked(packet, page=packets_of(test))


def link(*changes, **more: str) -> dict[str, str]:
    return {EDITS: to_text(changes), **HEAD, **more}


def control(test: AppTest, key: str):
    (found,) = (each for each in test.button_group if (each.key or "").startswith(key))
    return found


@pytest.mark.quick(3)
@EACH
def test_the_pictures_are_those_of_the_two_runs(engine, model, text):
    reader = engine.open(model)
    off = edits.ZeroHead(reader.spec.kinds[-1].path(0, "heads"), 1)
    test = changed_page(model=model, text=text, **link(off, what_if__inside="heads"))
    assert len(chips(test)) == 1 and "head 1 zero-ablated" in chips(test)[0]
    change = what_if.compute(
        what_if.Params(model, text, kind=reader.spec.kinds[-1].name, layer=0, head=1, edits=to_text([off]))
    )
    plain, changed = (reader.run(text, target=change.before.target_text, edits=each) for each in ((), (off,)))
    found = picture(test, "Change of attention per head")
    n_heads, kind = plain.model.config.n_heads, change.place.kind
    assert found.shape == (2 * len(plain.kinds), n_heads)
    rows = found[list(plain.kinds).index(kind) * 2 :][:2]
    assert (rows[0] == 0).all() and rows[1].max() > 0
    layer, head = np.unravel_index(rows.argmax(), (2, n_heads))
    test = changed_page(model=model, text=text, **link(off, what_if__seen=f"{kind}.{layer}.{head}"))
    a, b = (run.attention(kind).weights[layer, head] for run in (plain, changed))
    for title, weights, atol in (
        ("before", a, 1e-5),
        (" after", b, 1e-5),
        ("after minus before", b - a, 1e-2),
    ):
        np.testing.assert_allclose(picture(test, title), weights, atol=atol)


def test_it_opens_with_two_pictures_and_offers_the_rest_one_at_a_time(engine):
    test = changed_page()
    assert [element.key for element in test.get("bidi_component")][-1:] == ["what_if.grid.causal"]
    assert len(test.get("vega_lite_chart")) == 1 and not pictures(test)
    for choice in ("before", None):
        control(test, "offered:").set_value(choice)
        names = [title.partition(" ")[2] for title in pictures(again(test))]
        assert names == (["before", "after", "minus before"] if choice else [])
        assert linked(test)["what_if.inside"] == (choice or "none")


def test_it_opens_with_the_head_off_that_matters_most(engine):
    test, change = changed_page(), what_if.compute(what_if.Params("tiny-gpt", TEXT))
    model, top = engine.open("tiny-gpt"), int(change.before.logits[-1].argmax())
    still = {}
    for head in range(3):  # the last layer of two is read by no other head
        off = edits.ZeroHead("layer.0.self_attn.heads", head)
        still[0, head] = softmax(model.run(TEXT, edits=[off]).logits[-1])[top]
    assert min(still, key=still.__getitem__) == (change.place.layer, change.place.head)
    (chip,) = chips(test)
    assert f"layer {change.place.layer}, head {change.place.head} zero-ablated" in chip.lower()
    assert f"Without {change.place}" in said(test)


def test_a_change_is_taken_back_and_the_link_says_so(engine):
    two = edits.ZeroHead("layer.0.self_attn.heads", 1), edits.Uniform("layer.1.self_attn.scores", 0)
    test = changed_page(**link(*two, what_if__inside="heads"))
    assert len(chips(test)) == 2
    (left,) = chips(touch(test, "what_if.chip.0"))
    assert "uniform attention" in left
    assert chips(touch(test, "what_if.chip.0")) == []
    assert "Nothing is changed" in said(test) and linked(test)[EDITS] == "none"
    for title in ("Change of attention per head", "residual stream"):
        assert (picture(test, title) == 0).all()


def test_the_head_in_view_is_switched(engine):
    test = changed_page(**NONE | {"head": "2"})
    for mode, says in (
        ("zero", "head 2 zero-ablated"),
        ("half", "head 2 counts half"),
        ("mean", "its mean over"),
    ):
        control(test, "what_if.mode").set_value(mode)
        assert says in chips(again(test))[0]
    place = {"kind": "causal", "layer": 0, "head": 2, "edits": linked(test)[EDITS]}
    (edit,) = what_if.compute(what_if.Params("tiny-gpt", TEXT, **place)).edits
    assert edit.vector == pytest.approx(data.means(engine.open("tiny-gpt"), "causal")[0, 2].tolist())


def test_a_changed_head_is_pinned_with_its_changes(engine):
    off = edits.ZeroHead("layer.0.self_attn.heads", 1)
    test = touch(changed_page(**link(off, what_if__seen="causal.1.2")), "what_if.pin")
    (pinned,) = pins.from_link(linked(test)["pins"])
    assert pinned == pins.View("tiny-gpt", TEXT, "causal", 1, 2, edits=to_text([off]))
    weights = compared.pane_of(pinned, "token").weights
    np.testing.assert_allclose(weights, picture(test, "L1.H2 after"), atol=1e-6)


def test_a_cell_is_forbidden_and_forced(engine):
    test = changed_page(**link(edits.ZeroHead("layer.0.self_attn.heads", 0), what_if__seen="causal.1.2"))
    test.session_state["what_if.before.causal"] = {"cell": {"at": [3, 1], "id": "a"}}
    touch(again(test), "what_if.forbid")
    assert len(chips(test)) == 2 and picture(test, " after")[3, 1] == 0
    assert "forbid:layer.1.self_attn.allowed:3:1:2" in linked(test)[EDITS]
    touch(touch(test, "what_if.chip.1"), "what_if.force")
    assert picture(test, " after")[3, 1] == 1


def test_another_page_leads_here_with_a_head_off(engine):
    test = changed_page(model="tiny-translator", kind="cross", layer="1", head="2", **{EDITS: OFF})
    assert "Cross" in chips(test)[0] and "layer 1, head 2 zero-ablated" in chips(test)[0]
    assert "Its translation after" in said(test) and "the translation" in said(test)


@pytest.mark.parametrize(
    ("model", "raw"),
    [
        *(
            ("tiny-gpt", raw)
            for raw in (
                "zero:layer.9.self_attn.heads:0",
                "<b>x",
                "force:layer.0.self_attn.allowed:1:3:0",
                "mean:layer.0.self_attn.heads:0::elsewhere",
                "patch:layer.0.self_attn.heads:0:One",
                "word:embed.token:0:%20xylophonist",
                "zero:layer.0.self_attn.heads:99",
            )
        ),
        ("tiny-llama", "placeless:embed.position"),  # it adds no positions
        ("tiny-llama", "swap:embed.position:0:1"),
    ],
)
def test_what_cannot_be_made_is_explained_and_the_rest_is_made(engine, model, raw):
    test = changed_page(model=model, **{EDITS: f"{raw};zero:layer.0.self_attn.heads:1"}, **HEAD)
    (chip,) = chips(test)
    assert "head 1 zero-ablated" in chip and len(test.text) > 2
    assert "has no value" in said(test) or model != "tiny-llama"


@pytest.mark.parametrize("what", ["even", "temperature", "scale", "places", "drop", "word", "patch"])
@pytest.mark.parametrize("model", deep(MODELS, MODELS[:1]))
def test_the_quiet_menu_makes_each_change(engine, model, what):
    test = changed_page(model=model, **NONE)
    test.session_state["what_if.more"] = True
    test.session_state["what_if.more.what"] = what
    if what == "word":
        test.session_state["what_if.more.word"] = "a"
    again(test)
    if (model, what) == ("tiny-llama", "places"):
        assert "no vectors" in said(test)
    else:
        assert len(chips(touch(test, "what_if.more.add"))) == 1, said(test)


@pytest.mark.quick(2)
@EACH
def test_the_folds_hold_what_they_say(engine, model, text):
    names = ("what_if.equation", "what_if.looking", "What if.documents", "what_if.table", "what_if.take")
    test = changed_page(model=model, text=text, **HEAD)
    for name in names:
        test.session_state[f"fold:{name}"] = True
    again(test)
    assert "vector of length" in said(test) and "from_text(" in "".join(code.value for code in test.code)
    table = test.dataframe[0].value
    assert list(table.columns) == ["what", "before", "after", "change"]
    assert len(table) >= 6 * len(engine.open(model).spec.kinds)
