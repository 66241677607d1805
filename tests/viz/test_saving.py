"""What leaves the app is complete: exact numbers, whose they are, and scripts that make their pictures."""

from __future__ import annotations

import base64
import csv
import io
import re
from pathlib import Path

import numpy as np
import pytest
from packets import opened as read
from streamlit.testing.v1 import AppTest
from typed_texts import unfold
from workspace_pages import page

import core
import viz
from core.data import doodles
from viz.instruments.grid.grid import grid_packet
from viz.instruments.kit import origin
from viz.instruments.kit.component import Instrument
from viz.instruments.kit.head_stack import HeadContext, make_stack
from viz.instruments.kit.origin import Origin
from viz.instruments.kit.payload import Packet
from viz.instruments.words.words import words_packet
from viz.widgets import export

WORDS = [f"w{i}" for i in range(60)]
WEIGHTS = np.random.default_rng(0).dirichlet(np.full(60, 0.3), size=(2, 3, 60)).astype(np.float32)
MAY = np.tri(60, dtype=bool)


def values(packet: Packet, name: str = "values") -> np.ndarray:
    return np.frombuffer(packet.parts[packet.header[name]], "<f4")


def test_a_rounded_picture_has_its_numbers_as_they_are_where_it_is_saved() -> None:
    drawn = words_packet(WEIGHTS[1, 2], WORDS, WORDS, allowed=MAY, reading=True)
    assert drawn.header["exact"] is False and drawn.header["kind"] != "f32"
    whole = drawn.with_exact_numbers()
    assert whole.header["exact"] is True and np.array_equal(values(whole), WEIGHTS[1, 2][MAY])
    assert drawn.header["exact"] is False, "what others draw stays as it is"


def test_a_head_of_a_rounded_stack_comes_as_it_is() -> None:
    large = np.random.default_rng(1).dirichlet(np.full(100, 0.3), size=(4, 6, 100)).astype(np.float32)
    stack = make_stack(large)
    assert stack is not None and stack.fields["kind"] == "steps"
    names = [f"w{i}" for i in range(100)]
    drawn = words_packet(large[3, 4], names, names, reading=True, among=HeadContext(stack, (3, 4)))
    assert "values" not in drawn.header and np.array_equal(
        values(drawn.with_exact_numbers()), large[3, 4].ravel()
    )


def test_the_grid_has_every_weight_of_every_head_and_the_words() -> None:
    drawn = grid_packet(WEIGHTS, allowed=MAY, queries=WORDS, keys=WORDS)
    assert "weights" not in drawn.header and drawn.header["queries"] == WORDS
    assert np.array_equal(values(drawn.with_exact_numbers(), "weights"), WEIGHTS[:, :, MAY].ravel())
    assert drawn.with_exact_numbers(most=10).header["exact"] is False, "too many are not sent"


PICTURES = {
    "words": lambda run: viz.words(run, 1, 5),
    "heatmap": lambda run: viz.heatmap(run, 1, 5),
    "grid": lambda run: viz.grid(run),
    "head_view": lambda run: viz.head_view(run, 1, [0, 5]),
    "strip": lambda run: viz.strip(run, 1, 5),
    "arithmetic": lambda run: viz.arithmetic(run, 1, 5, query=2),
    "qkv": lambda run: viz.qkv(run, 1, 5, query=2),
    "source": lambda run: viz.source(run, 1),
    "mean": lambda run: viz.heatmap(run, 1, "mean"),
}


@pytest.fixture(scope="module")
def run() -> core.Run:
    return core.open_model("translator-en-es").run("She has a white car.")


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_says_whose_numbers_it_shows(run: core.Run, name: str) -> None:
    header = PICTURES[name](run).packet.header
    told = header["origin"]
    assert (told["model"], told["text"], told["second_text"], told["kind"]) == (
        "translator-en-es",
        run.source.text,
        run.target_text,
        "cross",
    )
    assert header.get("at") == {"grid": None, "head_view": [1], "source": [1], "mean": [1]}.get(name, [1, 5])
    assert told.get("joined") == ("mean" if name == "mean" else None)
    if name == "heatmap":  # a notebook shows what stands last
        assert header["python"].splitlines()[-2:] == ["picture.save('heatmap.html')", "picture"]


SCRIPTS = {
    "masks": ("masks", [6]),
    "retrieval": ("retrieval", [3]),
    "self_attention": ("self_attention", [2]),
    "weighting": ("weighting", [1]),
    "spans_and_tags": ("spans", [1, 2, 3, 4, 5]),
}
"""Exhibits whose instruments hand out lines of Python, how the link calls them, and the steps at which they do."""


@pytest.mark.slow
def test_the_scripts_of_exhibits_run_as_files_and_write_their_pictures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: dict[str, Packet] = {}

    def show(self: Instrument, packet: Packet, *, key: str, **_: object) -> None:
        origin.now().stamp(packet)
        if packet.header.get("python"):
            found[key] = packet

    monkeypatch.setattr(Instrument, "show", show)
    for slug, (name, steps) in SCRIPTS.items():
        before = len(found)
        for at in steps:
            page(slug, **{f"{name}.step": str(at)})
        assert len(found) > before, slug
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    for key, packet in found.items():
        exec(packet.header["python"], {})
        (saved,) = tmp_path.glob("*.html")
        data = re.search(r'id="packet">([^<]+)<', saved.read_text("utf-8"))
        drawn = read(base64.b64decode(data[1]))[0]  # type: ignore[index]
        assert drawn["origin"] == packet.header["origin"] and drawn.get("at") == packet.header.get("at"), key
        saved.unlink()


def test_a_table_to_take_along_is_all_numbers_and_an_archive_has_the_words() -> None:
    arrays = {"weights": WEIGHTS[0], "allowed": MAY, "keys": np.array(WORDS)}
    rows = list(csv.DictReader(io.StringIO(export.csv(arrays), newline="")))
    assert {row["array"] for row in rows} == {"weights", "allowed"}
    found = np.array([float(row["value"]) for row in rows if row["array"] == "weights"], np.float32)
    assert np.array_equal(found, WEIGHTS[0].ravel())
    with np.load(
        io.BytesIO(
            export.npz({**Origin(model="gpt-mini", kind="causal", layer=2, head=5).arrays(), **arrays})
        )
    ) as kept:
        assert kept["keys"].tolist() == WORDS and (
            str(kept["model"]),
            int(kept["layer"]),
            int(kept["head"]),
        ) == ("gpt-mini", 2, 5)


TOYS = {"weighting", "word_vectors", "score_functions", "self_attention"}
"""Exhibits whose instruments show numbers of their own, of no model."""


@pytest.mark.quick(6)
@pytest.mark.parametrize(
    "slug",
    [
        "look",
        "decode",
        "compare",
        "what_if",
        "find",
        "importance",
        "growth",
        "be_the_head",
        "many_texts",
        "alignment",
        "luong",
        "encoder",
        "cross_attention",
        "walk_through",
        *sorted(TOYS),
    ],
)
def test_every_instrument_of_a_page_is_told_what_it_shows(slug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    told: dict[str, dict] = {}

    def show(self: Instrument, packet: Packet, *, key: str, **_: object) -> None:
        origin.now().stamp(packet)
        told[key] = packet.header["origin"]

    monkeypatch.setattr(Instrument, "show", show)
    page(slug, **{"many_texts.by": "heads"} if slug == "many_texts" else {})  # it opens with points
    assert told
    for key, said in told.items():
        assert said["page"] and (slug in TOYS or (said["model"] and said["text"])), key


@pytest.mark.parametrize("name", ["gpt-mini", "translator-en-es"])
def test_every_chart_of_a_model_card_is_told_whose_it_is_and_what_was_measured(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    unfold(monkeypatch)
    test = page("models", models__which=name)
    charts = [chart.proto.alt.split("\n") for chart in test.get("vega_lite_chart")]
    assert charts and {whose for _, whose, *_ in charts} == {name}
    assert all(": " in said and len(said.split(": ")[0]) > 10 for said, *_ in charts), charts


def test_a_new_page_forgets_what_the_last_one_showed() -> None:
    def script() -> None:
        import streamlit as st

        from viz.instruments.kit import origin

        origin.begin("One")
        origin.tell(model="gpt-mini", text="a", layer=1)
        st.text(repr(origin.now()))
        origin.begin("Two")
        st.text(repr(origin.now()))

    first, second = (element.value for element in AppTest.from_function(script).run().text)
    assert "model='gpt-mini'" in first and "page='One'" in first and second == repr(Origin("Two"))


def test_a_page_that_stands_alone_holds_the_exact_numbers(run: core.Run) -> None:
    """The page that a notebook shows holds the exact numbers, too."""
    long = viz.heatmap(
        core.open_model("gpt-mini").run("The old woman had a little white cat and a big black dog. " * 6),
        2,
        5,
        by="token",
    )
    assert long.packet.header["exact"] is False
    data = re.search(r'id="packet">([^<]+)<', long.html())
    assert data and read(base64.b64decode(data[1]))[0]["kind"] == "f32"


@pytest.mark.parametrize("name", ["cat", "apple"])
def test_a_drawing_is_called_by_its_name_and_size(name: str) -> None:
    """A saved picture's heading has no encoded drawing in it, also for one of a visitor; the archive keeps the exact text."""
    own = doodles.as_text(doodles.example(name))
    theirs = doodles.as_text(doodles.from_strokes([[(0.2, 0.5), (0.8, 0.5)]]))
    heading = " ".join(Origin(model="vit-doodles", text=own, second_text=theirs).heading())
    assert doodles.PREFIX not in heading and f"{name}, 28 × 28" in heading and "a drawing, 28 × 28" in heading
    kept = Origin(model="vit-doodles", text=own)
    assert kept.fields()["called"].endswith(f"{name}, 28 × 28")
    assert kept.arrays()["text"] == own and "called" not in kept.arrays()
