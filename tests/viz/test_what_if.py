"""What if on tiny models of three families: the edits of the link are those of the runs, and each can be taken back."""

from __future__ import annotations

import numpy as np
import pytest
from deep import deep
from packets import opened, unpacked
from streamlit.testing.v1 import AppTest
from tiny_models import served

from core import edits
from core.edits.serialize import to_text
from viz.widgets import pins
from viz.workspace.compare import data as compared
from viz.workspace.shared.what_if_link import EDITS, OFF
from viz.workspace.what_if import data
from viz.workspace.what_if import page as what_if

MODELS = ("tiny-gpt", "tiny-llama", "tiny-translator", "tiny-bert", "tiny-albert", "tiny-bigbird")
TEXT = "She has a white car."
HEADS = {
    "tiny-gpt": "layer.0.self_attn",
    "tiny-llama": "layer.0.self_attn",
    "tiny-translator": "decoder.layer.0.cross_attn",
    "tiny-bert": "layer.0.self_attn",
    "tiny-bigbird": "layer.0.self_attn",
    "tiny-albert": "layer.0.self_attn",
}


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    with (
        pytest.MonkeyPatch.context() as patch,
        served(patch, tmp_path_factory.mktemp("models"), *MODELS) as found,
    ):
        yield found


def page(**link: str) -> AppTest:
    test = AppTest.from_string("from viz.workspace.what_if import page\npage.page()", default_timeout=120)
    for name, value in ({"model": "tiny-gpt", "text": TEXT} | link).items():
        test.query_params[name] = value
    test.run()
    assert not test.exception
    return test


def go(test: AppTest) -> AppTest:
    """Another run, told to send every part again: the test reads each run by itself."""
    test.session_state["_instrument_parts_sent"] = set()
    test.run()
    assert not test.exception
    return test


def touch(test: AppTest, key: str) -> AppTest:
    test.button(key).click()
    return go(test)


def said(test: AppTest) -> str:
    return "\n".join(
        str(element.value) for kind in (test.text, test.markdown, test.caption) for element in kind
    )


def chips(test: AppTest) -> list[str]:
    return [
        button.label.replace("\\", "")
        for button in test.button
        if (button.key or "").startswith("what_if.chip.")
    ]


def picture(test: AppTest, title: str) -> np.ndarray:
    found = [element.proto.bytes for element in test.get("bidi_component") if element.proto.bytes]
    titles = [opened(each)[0].get("title", "") for each in found]
    (packet,) = [
        each
        for each, own in zip(found, titles, strict=True)
        if title in own and ("minus" in title) == ("minus" in own)
    ]
    return unpacked(packet, page=found)


def titles(test: AppTest) -> list[str]:
    found = [
        opened(element.proto.bytes)[0].get("title", "")
        for element in test.get("bidi_component")
        if element.proto.bytes
    ]
    return [title for title in found if title]


def link(*changes, **more: str) -> dict[str, str]:
    return {EDITS: to_text(changes), "layer": "0", "head": "1", **more}


@pytest.mark.quick(3)
@pytest.mark.parametrize("model", MODELS)
def test_the_pictures_are_those_of_the_two_runs(engine, model):
    text = "She has a [MASK] car." if model in ("tiny-bert", "tiny-albert", "tiny-bigbird") else TEXT
    off = edits.ZeroHead(f"{HEADS[model]}.heads", 1)
    test = page(model=model, text=text, **link(off, **{"what_if.inside": "heads"}))
    assert len(chips(test)) == 1 and "head 1 zero-ablated" in chips(test)[0]
    change = what_if.compute(
        what_if.Params(
            model, text, kind=engine.open(model).spec.kinds[-1].name, layer=0, head=1, edits=to_text([off])
        )
    )
    plain, changed = (
        engine.open(model).run(text, target=change.before.target_text, edits=each) for each in ((), (off,))
    )
    found = picture(test, "Change of attention per head")
    n_heads = plain.model.config.n_heads
    assert found.shape == (2 * len(plain.kinds), n_heads)
    rows = list(plain.kinds).index(change.place.kind) * 2
    assert (found[rows] == 0).all() and found[rows + 1].max() > 0
    kind, layer, head = change.place.kind, *np.unravel_index(found[rows : rows + 2].argmax(), (2, n_heads))
    test = page(model=model, text=text, **link(off, **{"what_if.seen": f"{kind}.{layer}.{head}"}))
    a, b = (run.attention(kind).weights[layer, head] for run in (plain, changed))
    np.testing.assert_allclose(picture(test, "before"), a, atol=1e-5)
    np.testing.assert_allclose(picture(test, " after"), b, atol=1e-5)
    np.testing.assert_allclose(picture(test, "after minus before"), b - a, atol=1e-2)


def test_it_opens_with_two_pictures_and_offers_the_rest_one_at_a_time(engine):
    test = page()
    drawn = [element.key for element in test.get("bidi_component")]
    assert drawn == ["restore", "what_if.grid.causal"] and len(test.get("vega_lite_chart")) == 1
    for choice in ("before", None):
        (offered,) = [control for control in test.button_group if (control.key or "").startswith("offered:")]
        offered.set_value(choice)
        go(test)
        assert [title.partition(" ")[2] for title in titles(test)] == (
            ["before", "after", "minus before"] if choice else []
        )
        assert test.query_params["what_if.inside"] in (choice or "none", [choice or "none"])


def test_it_opens_with_the_head_off_that_matters_most(engine):
    test = page()
    change = what_if.compute(what_if.Params("tiny-gpt", TEXT))
    assert (
        len(chips(test)) == 1
        and f"layer {change.place.layer}, head {change.place.head} zero-ablated" in chips(test)[0].lower()
    )
    model, top = engine.open("tiny-gpt"), int(change.before.logits[-1].argmax())

    def still(layer: int, head: int) -> float:
        logits = (
            model.run(TEXT, edits=[edits.ZeroHead(f"layer.{layer}.self_attn.heads", head)])
            .logits[-1]
            .astype(float)
        )
        return float(np.exp(logits - logits.max())[top] / np.exp(logits - logits.max()).sum())

    scores = {
        (0, head): still(0, head) for head in range(3)
    }  # the last layer of two is read by no other head
    assert min(scores, key=scores.__getitem__) == (change.place.layer, change.place.head)
    assert f"Without {change.place}" in said(test)


def test_a_change_is_taken_back_and_the_link_says_so(engine):
    test = page(
        **link(edits.ZeroHead("layer.0.self_attn.heads", 1), edits.Uniform("layer.1.self_attn.scores", 0)),
        **{"what_if.inside": "heads"},
    )
    assert len(chips(test)) == 2
    touch(test, "what_if.chip.0")
    assert len(chips(test)) == 1 and "uniform attention" in chips(test)[0]
    touch(test, "what_if.chip.0")
    assert (
        chips(test) == []
        and "Nothing is changed" in said(test)
        and test.query_params[EDITS] in ("none", ["none"])
    )
    assert (picture(test, "Change of attention per head") == 0).all() and (
        picture(test, "residual stream") == 0
    ).all()


def test_the_head_in_view_is_switched(engine):
    test = page(**{EDITS: "none", "layer": "0", "head": "2"})
    (switch,) = [control for control in test.button_group if (control.key or "").startswith("what_if.mode")]
    for mode, says in (
        ("zero", "head 2 zero-ablated"),
        ("half", "head 2 counts half"),
        ("mean", "its mean over our sentences"),
    ):
        switch.set_value(mode)
        go(test)
        assert not test.exception and says in chips(test)[0].replace("\\", "")
        (switch,) = [
            control for control in test.button_group if (control.key or "").startswith("what_if.mode")
        ]
    change = what_if.compute(
        what_if.Params(
            "tiny-gpt",
            TEXT,
            kind="causal",
            layer=0,
            head=2,
            edits=str(np.ravel(test.query_params[EDITS])[0]),
        )
    )
    mean = change.edits[0].vector
    assert mean == pytest.approx(data.means(engine.open("tiny-gpt"), "causal")[0, 2].tolist())


def test_a_changed_head_is_pinned_with_its_changes(engine):
    test = page(**link(edits.ZeroHead("layer.0.self_attn.heads", 1), **{"what_if.seen": "causal.1.2"}))
    touch(test, "what_if.pin")
    (pinned,) = pins.from_link(str(np.ravel(test.query_params["pins"])[0]))
    assert pinned == pins.View("tiny-gpt", TEXT, "causal", 1, 2, edits="zero:layer.0.self_attn.heads:1")
    np.testing.assert_allclose(
        compared.pane_of(pinned, "token").weights, picture(go(test), "L1.H2 after"), atol=1e-6
    )


def test_a_cell_is_forbidden_and_forced(engine):
    test = page(**link(edits.ZeroHead("layer.0.self_attn.heads", 0), **{"what_if.seen": "causal.1.2"}))
    test.session_state["what_if.before.causal"] = {"cell": {"at": [3, 1], "id": "a"}}
    go(test)
    touch(test, "what_if.forbid")
    assert not test.exception and len(chips(test)) == 2 and picture(test, " after")[3, 1] == 0
    assert "forbid:layer.1.self_attn.allowed:3:1:2" in str(test.query_params[EDITS])
    touch(test, "what_if.chip.1")
    touch(test, "what_if.force")
    assert picture(test, " after")[3, 1] == 1


def test_another_page_leads_here_with_a_head_off(engine):
    test = page(model="tiny-translator", kind="cross", layer="1", head="2", **{EDITS: OFF})
    assert "Cross" in chips(test)[0] and "layer 1, head 2 zero-ablated" in chips(test)[0]
    assert "Its translation after" in said(test) and "the translation" in said(test)


@pytest.mark.parametrize(
    "raw",
    [
        "zero:layer.9.self_attn.heads:0",
        "<b>x",
        "force:layer.0.self_attn.allowed:1:3:0",
        "mean:layer.0.self_attn.heads:0::elsewhere",
        "patch:layer.0.self_attn.heads:0:One",
        "word:embed.token:0:%20xylophonist",
        "zero:layer.0.self_attn.heads:99",
    ],
)
def test_what_cannot_be_made_is_explained_and_the_rest_is_made(engine, raw):
    test = page(**{EDITS: f"{raw};zero:layer.0.self_attn.heads:1", "layer": "0", "head": "1"})
    assert len(chips(test)) == 1 and "head 1 zero-ablated" in chips(test)[0]
    assert "Something went wrong" not in said(test) and len(test.text) > 2


@pytest.mark.parametrize("what", ["even", "temperature", "scale", "places", "drop", "word", "patch"])
@pytest.mark.parametrize("model", deep(MODELS, MODELS[:1]))
def test_the_quiet_menu_makes_each_change(engine, model, what):
    test = page(model=model, **{EDITS: "none", "layer": "0", "head": "1"})
    test.session_state["what_if.more"] = True
    test.session_state["what_if.more.what"] = what
    if what == "word":
        test.session_state["what_if.more.word"] = "a"
    test.run()
    assert not test.exception
    if (model, what) == ("tiny-llama", "places"):
        assert "no vectors" in said(test)
        return
    touch(test, "what_if.more.add")
    assert not test.exception and len(chips(test)) == 1, said(test)


@pytest.mark.parametrize("raw", ["placeless:embed.position", "swap:embed.position:0:1"])
def test_a_link_takes_no_positions_from_a_model_that_adds_none(engine, raw):
    test = page(
        model="tiny-llama", **{EDITS: f"{raw};zero:layer.0.self_attn.heads:1", "layer": "0", "head": "1"}
    )
    assert "has no value" in said(test) and len(chips(test)) == 1


@pytest.mark.quick(2)
@pytest.mark.parametrize("model", MODELS)
def test_the_folds_hold_what_they_say(engine, model):
    test = page(
        model=model,
        text="She has a [MASK] car." if model in ("tiny-bert", "tiny-albert", "tiny-bigbird") else TEXT,
        **{"layer": "0", "head": "1"},
    )
    for name in ("what_if.equation", "what_if.looking", "What if.documents", "what_if.table", "what_if.take"):
        test.session_state[f"fold:{name}"] = True
    go(test)
    assert "vector of length" in said(test) and "from_text(" in "".join(code.value for code in test.code)
    table = test.dataframe[0].value
    assert list(table.columns) == ["what", "before", "after", "change"] and len(table) >= 6 * len(
        engine.open(model).spec.kinds
    )
