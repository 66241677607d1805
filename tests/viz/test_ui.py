"""State, controls, the error boundary, labels, colours, exports, the server's own settings."""

from __future__ import annotations

import io
import json
import tomllib
import unicodedata
from pathlib import Path

import altair as alt
import numpy as np
import pytest
from altair.utils import schemapi
from hypothesis import given
from hypothesis import strategies as some
from shown_values import states
from streamlit.testing.v1 import AppTest
from workspace_pages import again, linked

from viz import labels, theme
from viz.widgets import export, page_parts

ROOT = Path(__file__).resolve().parents[2]
CONFIG = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text("utf-8"))

PAGE = """
import streamlit as st
from viz.widgets import controls
from viz.shell import state, selection
slug = st.session_state.get("go", "masks")
state.begin(slug)
text = controls.text("Sentence", "text", "hello")
layer = controls.pills("Layer", [0, 1, 2, 3], "layer", 0)
selection.set_selection(text=text, layer=layer)
window = controls.slider("Window", 1, 9, f"{slug}.window", 2)
heat = controls.slider("Heat", 0.0, 2.0, f"{slug}.heat", 1.0, 0.1)
on = controls.toggle("On", f"{slug}.on", True)
st.session_state["got"] = (text, layer, window, heat, on)
st.session_state["query"] = state.query()
st.button("Restore", on_click=state.restore)
"""


def app(**query: str) -> AppTest:
    test = AppTest.from_string(PAGE, default_timeout=60)
    for name, value in query.items():
        test.query_params[name.replace("__", ".")] = value
    return again(test)


def got(test: AppTest) -> tuple[object, ...]:
    return test.session_state["got"]


def test_defaults_are_not_put_in_the_link() -> None:
    test = app()
    assert got(test) == ("hello", 0, 2, 1.0, True)
    assert linked(test) == {}


def test_the_link_comes_first() -> None:
    test = app(text="so <b>", layer="3", masks__window="7", masks__heat="0.5", masks__on="0")
    assert got(test) == ("so <b>", 3, 7, 0.5, False)
    assert not test.text  # no notice


def test_a_choice_is_written_to_the_link() -> None:
    test = app()
    test.slider[0].set_value(5).run()
    test.text_input[0].set_value("a&b =c").run()
    assert got(test) == ("a&b =c", 0, 5, 1.0, True)
    assert linked(test) == {"masks.window": "5", "text": "a&b =c"}
    assert test.session_state["query"] == "masks.window=5&text=a%26b+%3Dc"


def test_choices_travel_and_own_names_stay() -> None:
    test = app(text="mine", layer="2", masks__window="4")
    test.session_state["go"] = "other"
    test.query_params.clear()  # what Streamlit does on a page change
    test.run()
    assert {"text": "mine", "layer": "2"}.items() <= linked(test).items()
    assert "masks.window" not in test.session_state["query"]


def test_restore_brings_the_opening_state_back() -> None:
    test = app(text="mine", layer="2", word="blanco", masks__window="4")
    test.button[0].click().run()
    assert got(test) == ("hello", 0, 2, 1.0, True)
    assert linked(test) == {}


@pytest.mark.parametrize(
    ("name", "raw", "shown", "rule"),
    [
        ("layer", "99", 3, "one of: 0, 1, 2, 3."),
        ("layer", "-7", 0, "one of"),
        ("layer", "abc", 0, "one of"),
        ("masks.window", "99", 9, "a whole number from 1 to 9."),
        ("masks.window", "2.5", 2, "a whole number"),
        ("masks.heat", "nan", 1.0, "a number from 0 to 2."),
        ("masks.heat", "1e99", 2.0, "a number"),
        ("masks.on", "yes", True, "1 or 0."),
    ],
)
def test_nonsense_gives_the_nearest_value_and_three_parts(
    name: str, raw: str, shown: object, rule: str
) -> None:
    test = app(**{name: raw})
    place = {"layer": 1, "masks.window": 2, "masks.heat": 3, "masks.on": 4}[name]
    assert got(test)[place] == shown
    what, why = (element.value for element in test.text)
    assert states(what, f"{name}={raw}") and rule in why and "Shown instead:" in why
    test.run()
    assert not test.text  # the link was put right


def test_long_text_stays_out_of_the_link_and_the_page_says_so() -> None:
    test = app()
    test.text_input[0].set_value("word " * 500).run()
    assert "text" not in linked(test) and "not put" in test.caption[0].value
    for _ in range(2):
        assert got(test)[0] == "word " * 500
        test.run()


def test_a_fast_second_click_does_not_undo_the_first() -> None:
    script = """
import streamlit as st
from viz.shell import state
state.begin("masks")
if "layer" not in st.session_state:
    st.session_state.layer = state.read("layer", 0, state.whole_number(0, 9))
    state.write(layer=4)
    st.query_params["layer"] = "1"  # the browser's next message still has the old link
st.session_state["now"] = state.read("layer", 0, state.whole_number(0, 9))
"""
    test = AppTest.from_string(script)
    test.query_params["layer"] = "1"
    test.run()
    assert test.session_state["now"] == 4


def test_streamlit_still_tells_back_from_forward() -> None:
    from streamlit.runtime.scriptrunner_utils.script_run_context import ScriptRunContext

    assert "is_history_navigation" in ScriptRunContext.__dataclass_fields__


@given(some.text())
def test_a_label_is_never_markup(text: str) -> None:
    assert not set("<>") & set(labels.plotly_label(text))
    hidden = {"Cc", "Cf", "Cs", "Zs", "Zl", "Zp"}
    joining = {"\u200c", "\u200d", *map(chr, range(0xE0020, 0xE0080))}
    assert not any(
        unicodedata.category(letter) in hidden and letter not in joining for letter in labels.visible(text)
    )


def test_what_joins_letters_stays_between_them_and_has_a_name_alone() -> None:
    persian, wales = "می\u200cخواهم", "\U0001f3f4\U000e0067\U000e0062\U000e0077\U000e006c\U000e0073\U000e007f"
    assert labels.visible(persian) == persian and labels.visible(wales) == wales
    assert labels.visible("\u200c") == "U+200C" and labels.visible("\ufe0f") == "U+FE0F"
    assert labels.visible("so\u00adft") == "soU+00ADft"


@given(some.text(alphabet="ab*_[]()!`$\\:<>#~", max_size=30))
def test_literal_text_keeps_every_letter(text: str) -> None:
    escaped = labels.literal(text)
    assert labels._MARKDOWN.sub("", escaped.replace("\\\\", "")) == labels._MARKDOWN.sub(
        "", text.replace("\\", "")
    )
    assert "![" not in escaped
    assert len(escaped) == sum(2 if labels._MARKDOWN.match(letter) else 1 for letter in text)


GUARD = """
import streamlit as st
from core.errors import InputError
from core.serving.engine import Busy, Superseded
from viz.shell import errors
class Panic(BaseException): pass
kinds = {{"input": InputError("The text is empty.", "A model needs a word.", "Type one."), "bug": KeyError("/secret/path"),
          "busy": Busy("The queue is empty.", "Nobody else is let in.", "Type one."), "panic": Panic("/secret/path")}}
st.text_input("Sentence", "mine")
with errors.guard():
    raise kinds[{kind!r}]
st.text("after")
"""


@pytest.mark.parametrize("kind", ["input", "busy", "bug", "panic"])
def test_the_boundary_shows_no_path_and_keeps_the_text(kind: str) -> None:
    test = AppTest.from_string(GUARD.format(kind=kind)).run()
    told = " ".join(element.value for element in test.text)
    assert not test.exception and "/secret" not in told and "Traceback" not in told
    assert told.endswith("after") and test.text_input[0].value == "mine"
    assert states(told, "is empty", "Type one") == (kind in ("input", "busy"))
    assert ("server's log" in told) == (kind in ("bug", "panic"))


def test_the_boundary_lets_streamlit_stop_and_rerun() -> None:
    test = AppTest.from_string("""
import streamlit as st
from viz.shell import errors
with errors.guard():
    if "again" not in st.session_state:
        st.session_state.again = True
        st.rerun()
    st.text("second run")
    st.stop()
st.text("never")
""").run()
    assert [element.value for element in test.text] == ["second run"]


def test_closed_folds_compute_nothing_and_open_ones_do() -> None:
    test = AppTest.from_string("""
import numpy as np, pandas as pd, streamlit as st
from viz.widgets import page_parts
def count(name, value):
    st.session_state[name] = st.session_state.get(name, 0) + 1
    return value
if st.session_state.get("go"):
    st.session_state["fold:a.table"] = st.session_state["fold:a.take"] = True
page_parts.table_fold(lambda: count("table", pd.DataFrame({"x": [1]})), "a")
page_parts.export_fold(lambda: count("data", {"w": np.eye(2)}), "import core", key="a")
""").run()
    assert not test.exception and "table" not in test.session_state and "data" not in test.session_state
    test.session_state["go"] = True
    again(test)
    assert (test.session_state["table"], test.session_state["data"]) == (1, 1)
    link, frame, python = [code.value for code in test.code]
    assert (link, python) == ("http://127.0.0.1:8501/", "import core")
    assert frame.startswith(f'<iframe src="{link}?embed=1" title="Attention Atlas" ')


def test_data_comes_back_as_it_was() -> None:
    arrays = {
        "w": np.float32([[0.1, 0.9]]),
        "ids": np.arange(3),
        "may": np.array([True]),
        "say": np.array(["=1", "a,b"]),
    }
    with np.load(io.BytesIO(export.npz(arrays))) as back:
        assert all((back[name] == value).all() for name, value in arrays.items())
    rows = export.csv(arrays).split("\r\n")
    assert rows[:3] == ["array,i0,i1,value", "w,0,0,0.1", "w,0,1,0.9"]
    assert rows[3:] == ["ids,0,,0", "ids,1,,1", "ids,2,,2", "may,0,,1", ""], (
        "words are left to the archive, yes is 1"
    )
    bits = export.Labelled(np.float32([[0.5, 1]]), {"head": ["L0.H0"], "other head": ["=a", "b,c"]})
    both = {"bits": bits, "ids": np.arange(1)}
    assert export.csv(both).split("\r\n") == [
        "array,head,other head,i0,value",
        "bits,L0.H0,'=a,,0.5",
        'bits,L0.H0,"b,c",,1',
        "ids,,,0,0",
        "",
    ]
    with np.load(io.BytesIO(export.npz(both))) as back:
        assert back["bits"].tolist() == [[0.5, 1]] and back["bits, other head"].tolist() == ["=a", "b,c"]
        assert back["bits, head"].tolist() == ["L0.H0"]
    assert export.csv({"=1": np.arange(1), "a,b": np.arange(1)}).split("\r\n")[1:3] == [
        "'=1,0,0",
        '"a,b",0,0',
    ]


def test_the_code_is_drawn_here_or_not_at_all() -> None:
    assert (export.qr("http://127.0.0.1:8501/?layer=3") or b"").startswith(b"\x89PNG")
    assert export.qr("x" * 4000) is None


@pytest.mark.parametrize("palette", [theme.LIGHT, theme.DARK], ids=["light", "dark"])
def test_contrast(palette: theme.Palette) -> None:
    assert theme.contrast("#ffffff", palette.primary) >= 4.5  # white on a primary button
    for ground in (palette.background, palette.surface):
        assert theme.contrast(palette.text, ground) >= 7
        assert theme.contrast(palette.muted, ground) >= 4.5
    assert all(theme.contrast(colour, palette.background) >= 3 for colour in palette.categorical)
    steps = [theme._luminance(colour) for colour in palette.sequential]
    assert steps == sorted(steps, reverse=palette is theme.LIGHT)


COLOURS = {
    "primaryColor": "primary",
    "linkColor": "link",
    "backgroundColor": "background",
    "secondaryBackgroundColor": "surface",
    "textColor": "text",
    "borderColor": "line",
    "chartCategoricalColors": "categorical",
    "chartSequentialColors": "sequential",
}


def test_the_configuration_has_the_same_colours() -> None:
    for name, palette in (("light", theme.LIGHT), ("dark", theme.DARK)):
        for setting, colour in COLOURS.items():
            told, wanted = CONFIG["theme"][name][setting], getattr(palette, colour)
            assert (tuple(told) if isinstance(told, list) else told) == wanted, (name, setting)
        assert theme.contrast(palette.link, palette.background) >= 4.5


def test_every_dark_colour_belongs_to_one_light_colour() -> None:
    pairs = theme.dark_twins()
    assert len(set(pairs.values())) == len(pairs)
    assert theme.in_dark(theme.in_dark({"a": [theme.TEXT]})) == {"a": [theme.DARK.text]}


def test_the_defaults_are_safe_and_local() -> None:
    server = CONFIG["server"]
    assert (server["address"], server["showEmailPrompt"]) == ("127.0.0.1", False)
    assert "headless" not in server  # a newcomer's browser opens by itself
    assert CONFIG["browser"]["gatherUsageStats"] is False
    assert (CONFIG["client"]["showErrorDetails"], CONFIG["client"]["toolbarMode"]) == ("none", "minimal")
    static = ROOT / "viz" / "static"
    for face in CONFIG["theme"]["fontFaces"]:
        assert (static / face["url"].removeprefix("app/static/")).read_bytes()[:4] == b"wOF2"
    assert len(list(static.glob("LICENSE-*.txt"))) == 4
    assert (static / "favicon.svg").exists()


def test_a_chart_that_breaks_the_schema_is_refused_here_though_the_server_does_not_look():
    """Vega-Lite would draw nothing and say so only in the browser."""
    wrong = alt.Chart(alt.Data(values=[{"x": 0}])).mark_point()
    wrong.encoding = {"x": {"field": "x", "type": "no such type"}}
    with pytest.raises(schemapi.SchemaValidationError):
        page_parts.show(wrong, "wrong", "")


def test_a_column_of_numbers_has_equally_many_digits_in_each_row() -> None:
    test = AppTest.from_string(
        "import pandas as pd\nfrom viz.widgets import page_parts\n"
        "page_parts.dataframe(pd.DataFrame({'score': [0.826, 1.0, 8.341, -1.067], 'small': [2e-6, 0.0, 1e-9, 0.5e-3], 'n': [1, 2, 3, 4], 'word': list('abcd')}), key='t')"
    ).run()
    columns = json.loads(test.dataframe[0].proto.columns)
    assert {name: column["type_config"]["format"] for name, column in columns.items()} == {
        "score": "%.3f",
        "small": "%.1e",
    }
    drawn = [path.name for path in (ROOT / "viz").rglob("*.py") if "st.dataframe(" in path.read_text("utf-8")]
    assert drawn == ["page_parts.py"], "tables are drawn by page_parts.dataframe"
