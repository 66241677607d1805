"""Instruments in a notebook: pictures of a run that need no server, no network, and believe no word of the data."""

from __future__ import annotations

import base64
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from packets import opened as read
from tiny_models import write

import core
import viz
from viz.instruments.kit.figure import launch
from viz.instruments.kit.picture import Picture
from viz.instruments.words.words import WORDS, words_packet

ROOT = Path(viz.__file__).parents[1]
FIRST, SECOND = "The dog was here.", "It ran away."
EVIL = "</script><script>window.owned=1</script>"


class Tags(HTMLParser):
    """Every element of a page with its attributes, and the text of each script."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data: str) -> None:
        if self.found and self.found[-1][0] == "script":
            self.scripts[-1] += data


def opened(picture: Picture) -> dict[str, Any]:
    """The header in the page, read the way the page reads it."""
    return read(base64.b64decode(Tags(picture.html()).scripts[0]))[0]


def numbers(picture: Picture) -> np.ndarray:
    """The exact weights that a picture carries."""
    header = opened(picture)
    assert header["kind"] == "f32"
    return np.frombuffer(picture.packet.parts[header["values"]], "<f4").reshape(header["shape"])


@pytest.fixture(scope="module")
def run() -> core.Run:
    return core.open_model("translator-en-es").run("She has a white car.")


def drawn(run: core.Run) -> dict[str, Picture]:
    return {
        "words": viz.words(run, 1, 5),
        "heatmap": viz.heatmap(run, 1, 5),
        "grid": viz.grid(run),
        "head_view": viz.head_view(run, 2),
        "pieces": viz.heatmap(run, 0, 2, kind="self", by="token"),
        "some": viz.head_view(run, 1, heads=[5, 0], kind="causal", by="token"),
        "mean": viz.heatmap(run, 1, "mean"),
        "largest": viz.head_view(run, 2, "largest"),
        "rollout": viz.strip(run, 1, "rollout", kind="self"),
        "strip": viz.strip(run, 1, 5),
        "arithmetic": viz.arithmetic(run, 1, 5, query=2),
        "qkv": viz.qkv(run, 1, 5, query=2),
        "whole_model": viz.whole_model(run),
        "source": viz.source(run, 1),
    }


def test_each_instrument_is_a_page_of_its_own(run: core.Run) -> None:
    for name, picture in drawn(run).items():
        page = Tags(picture.html())
        assert [tag for tag, _ in page.found].count("script") == 3, name
        assert not any({"src", "href"} & {*attributes} for _, attributes in page.found), name
        assert picture.html().count("%%PACKET%%") == 1, name  # the one in its own copy of the page
        header = opened(picture)
        assert {*header["needs"]} - {*header["parts"]} == {header["kit"], header["code"]}
        assert (
            page.scripts[2].rstrip() == (picture.instrument.kit + picture.instrument.source).decode().rstrip()
        )
        assert "translator-en-es" in repr(picture)


def test_the_numbers_are_those_of_the_run(run: core.Run) -> None:
    attention = run.attention("cross", by="word", writing=True)
    picture = viz.heatmap(run, 1, 5)
    header = opened(picture)
    assert (header["queries"], header["keys"]) == (list(attention.queries), list(attention.keys))
    assert np.array_equal(numbers(picture), attention.weights[1, 5])
    pieces = opened(viz.heatmap(run, 0, 2, kind="self", by="token"))
    assert {"scores.values", "sizes"} <= set(pieces)


def test_joined_heads_are_their_mean_or_their_largest(run: core.Run) -> None:
    weights = run.attention("cross", by="word", writing=True).weights
    for how, expected in (("mean", weights[1].mean(0)), ("largest", weights[1].max(0))):
        picture = viz.heatmap(run, 1, how)
        header = opened(picture)
        np.testing.assert_allclose(numbers(picture), expected, atol=1e-6)
        assert header["title"].endswith(f"{how} of layer 1") and "scores.values" not in header


def test_one_weight_is_the_one_that_is_asked_for(run: core.Run) -> None:
    weights = run.attention("cross", by="token", writing=True).weights
    told = opened(viz.arithmetic(run, 1, 5, query=2))
    assert told["cell"] == [1, 5, 2, int(weights[1, 5, 2].argmax())]
    assert told["weight"] == pytest.approx(float(weights[1, 5, 2].max()))
    assert opened(viz.arithmetic(run, 1, 5, query=-1, key=0))["cell"] == [1, 5, weights.shape[2] - 1, 0]
    for path in ("decoder.layer.2.cross_attn.pattern", "decoder.layer.2.cross_attn.q"):
        assert opened(viz.source(run, 2, path=path))["selected"] == path
    assert opened(viz.source(run, 2))["selected"] == "decoder.layer.2.cross_attn.pattern"


@pytest.mark.slow
def test_the_lines_make_the_picture_again(
    run: core.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # the lines save it
    for name, picture in drawn(run).items():
        *before, last = picture.packet.header["python"].splitlines()
        space: dict[str, Any] = {}
        exec("\n".join(before), space)
        again = eval(last, space)
        assert again.html() == picture.html(), name


def test_other_families_too(tmp_path: Path) -> None:
    story = core.open_model("gpt-mini").run("Once upon a time")
    assert opened(viz.words(story, 1, 2))["layout"] == "one"
    assert opened(viz.grid(story))["size"] == [story.model.config.n_layers, story.model.config.n_heads]
    copier = core.open_model("copy-gru-attention").run("a b c")
    assert (
        opened(viz.head_view(copier))["heads"] == [0]
        and opened(viz.heatmap(copier, by="token"))["axis"][0] == "written (query)"
    )
    pair = core.open_model(write(tmp_path, "tiny-bert")).run(FIRST, pair=SECOND)
    assert (
        f"model.run({FIRST!r}, pair={SECOND!r})" in viz.head_view(pair, 0, heads=[1]).packet.header["python"]
    )


def test_a_notebook_frame_holds_the_page_and_nothing_escapes_it() -> None:
    words = [EVIL, '"><img src=x onerror=window.owned=1>', "<!--"]
    picture = Picture(
        WORDS, words_packet(np.eye(3), words, words, reading=True, caption=EVIL), name=f'"{EVIL}'
    )
    assert EVIL not in picture.html() and "<img" not in picture.html()
    assert opened(picture)["keys"] == words
    frame = Tags(picture._repr_html_())
    assert [tag for tag, _ in frame.found] == ["div", "iframe"]
    assert frame.found[1][1]["srcdoc"] == picture.html() and frame.found[1][1]["title"] == f'"{EVIL}'
    assert "height:480px" in str(frame.found[1][1]["style"])
    assert "<noscript>" in picture.html()


def test_a_page_is_written_and_its_place_returned(run: core.Run, tmp_path: Path) -> None:
    picture = viz.grid(run)
    path = picture.save(tmp_path / "heads.html")
    assert path == tmp_path / "heads.html" and path.read_text("utf-8") == picture.html()
    (tmp_path / "figures.svg").mkdir()
    for name, options, message in [
        (
            "heads.gif",
            {},
            r"does not end in \.html, \.svg, \.png, \.pdf, \.tex, \.mjs or \.json.*'heads\.html' or 'heads\.svg'",
        ),
        ("heads", {}, r"'heads\.html'"),
        ("none/heads.svg", {}, "There is no folder '.*none'"),
        ("figures.svg", {}, "figures.svg' is a folder.*picture.html'"),
        ("again.html", {"dark": True, "width": 500}, "dark and width cannot be chosen for 'again.html'"),
        ("again.svg", {"scale": 2}, "scale cannot be chosen"),
        ("again.png", {"scale": float("nan")}, "scale=nan cannot be drawn. It is a number from 1 to 10"),
        ("again.pdf", {"width": "500"}, "width='500' cannot be drawn"),
    ]:
        with pytest.raises(core.InputError, match=message):
            picture.save(tmp_path / name, **options)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["figures.svg", "heads.html"]


def test_without_a_browser_a_graphic_is_refused_by_what_is_missing(
    run: core.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from playwright.sync_api import Error

    class NoBrowser:
        def launch(self, **way: str) -> None:
            tried.append(way)
            raise Error("no such file")

    tried: list[dict[str, str]] = []
    monkeypatch.delenv("CHROMIUM", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        core.InputError,
        match=r"\.png here: no Chromium was found that starts.*playwright install chromium.*\.html",
    ):
        launch(NoBrowser(), "png")
    assert tried == [{}, {"channel": "chrome"}, {"channel": "msedge"}]
    monkeypatch.setenv("CHROMIUM", "/none/chromium")
    with pytest.raises(core.InputError, match="CHROMIUM names '/none/chromium', which does not start"):
        launch(NoBrowser(), "png")
    assert tried[3:] == [{"executable_path": "/none/chromium"}]

    monkeypatch.setitem(sys.modules, "playwright.sync_api", None)
    picture = viz.grid(run)
    for save in (picture.svg, lambda: picture.save(tmp_path / "heads.svg")):
        with pytest.raises(
            core.InputError, match=r"the package playwright is not installed.*pip install playwright.*\.html"
        ):
            save()
    assert not (tmp_path / "heads.svg").exists()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda run: viz.heatmap(run, layer=7),
            "no layer 7 in the cross attention of translator-en-es. It has 3, counted from 0",
        ),
        (lambda run: viz.words(run, head=99), "no head 99"),
        (lambda run: viz.head_view(run, layer=0, heads=[0, -99]), "no head -99"),
        (lambda run: viz.grid(run, kind="sideways"), "sideways"),
        (lambda run: viz.heatmap(run, by="letter"), "letter"),
        (lambda run: viz.heatmap(run, head="median"), "how='median' is unknown"),
        (lambda run: viz.strip(run, layer=9, head="mean"), "no layer 9"),
        (lambda run: viz.head_view(run, heads="rollout"), "Rollout is not defined for cross"),
        (lambda run: viz.arithmetic(run, query=-40), "no query -40"),
        (lambda run: viz.arithmetic(run, 1, key=99), "no key 99"),
        (lambda run: viz.source(run, 3), "no layer 3"),
    ],
)
def test_what_a_run_does_not_have_is_refused_by_name(run: core.Run, call: Any, message: str) -> None:
    with pytest.raises(core.InputError, match=message):
        call(run)


@pytest.mark.slow
def test_without_a_server_nothing_complains() -> None:
    code = (
        "import sys, viz; assert not {'torch', 'streamlit'} & set(sys.modules)\n"
        "import core; run = core.open_model('translator-en-es').run('She has a white car.')\n"
        "print(len(viz.grid(run)._repr_html_()) > 10000, len(viz.head_view(run, layer=2)._repr_html_()) > 10000)\n"
        "from streamlit.runtime import Runtime; assert not Runtime.exists()"
    )
    out = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert (out.stdout.strip(), out.stderr) == ("True True", "")


def test_a_picture_is_a_widget_where_anywidget_is_installed(run: core.Run) -> None:
    anywidget = pytest.importorskip("anywidget", reason='pip install "attention-atlas[notebook]"')
    picture: Any = viz.heatmap(run, 1, 5)
    heard: list[Any] = []
    assert isinstance(picture, anywidget.AnyWidget) and isinstance(picture, viz.Picture)
    assert picture.selected is None and repr(picture).startswith("<Picture: ")
    picture.observe(lambda change: heard.append(change.new), "selected")
    picture.set_state({"selected": {"cell": [3, 1]}})  # as a browser's message does
    assert heard == [{"cell": [3, 1]}] == [picture.selected]
    sent = picture.get_state()
    assert sent["_packet"] == picture.packet_bytes() and "export default { render }" in sent["_esm"]
    bundle = picture._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in (bundle[0] if isinstance(bundle, tuple) else bundle)
    assert picture._repr_html_().startswith("<div><iframe ")  # where a notebook is read without a kernel
    picture.close()
