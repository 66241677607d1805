"""Saving from an instrument: every kind of file is downloaded from a real browser and read back by other programs."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
import zipfile
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from sampling import sampled
from settling import settle
from shown_values import states
from small_app import SVG, Visitor, drawn_texts, saved, saved_arrays, saved_rows, saved_texts

from viz.workspace.decode.controls import OPENING

LOOK = [
    [0.93, 0.04, 0.01, 0.01, 0.005, 0.005],
    [0.03, 0.9, 0.05, 0.01, 0.005, 0.005],
    [0.01, 0.02, 0.95, 0.01, 0.005, 0.005],
    [0.01, 0.01, 0.03, 0.1, 0.84, 0.01],
    [0.002, 0.003, 0.005, 0.981, 0.007, 0.002],
    [0.2, 0.15, 0.1, 0.1, 0.25, 0.2],
]
EVIL = [
    "</script><script>window.owned=1</script>",
    "<!--<script>",
    "=1+1",
    '"a", b',
    "\u0645\u0631\u062d\u0628\u0627",
    "\U0001f600 x",
]
CODE = 'import core\nimport viz\n\nrun = core.open_model("translator-en-es").run("She has a white car.")\nviz.words(run, 1, 5)'
APP = f"""
import numpy as np, streamlit as st
from viz.instruments import head_view, heatmap, mask_editor, words_view
from viz.instruments.kit import origin

english, spanish = "She has a white car .".split(), "Ella tiene un auto blanco .".split()
evil, show = {EVIL!r}, st.query_params.get("show")
look = np.array({LOOK!r})
if show == "told":
    origin.tell(model="translator-en-es", text="She has a white car.", kind="cross", layer=1, head=5)
    words_view(np.vstack([look, np.full(6, 1 / 6)]), ["START", *spanish], english, key="t")
    head_view(look, spanish, english, key="v", heads=[5])
if show == "words":
    words_view(np.vstack([look, np.full(6, 1 / 6)]), ["START", *spanish], english, key="w", names=("English", "Spanish"),
               caption="Cross attention, layer 2", python={CODE!r}, url="word")
if show == "evil":
    words_view(look, evil, evil, key="w", reading=True, caption="]]></title><script>window.owned=1</script>")
if show == "one":
    words_view(np.tri(6) / np.arange(1, 7)[:, None], english, english, key="w", layout="one", allowed=np.tri(6, dtype=bool), reading=True)
if show == "many":
    n = 60
    words_view(np.random.default_rng(0).dirichlet(np.full(n, .3), size=n), [f"w{{i}}" for i in range(n)], [f"w{{i}}" for i in range(n)],
               key="w", reading=True)
if show == "heat":
    n = int(st.query_params.get("n", 12))
    values = np.random.default_rng(0).dirichlet(np.full(n, .3), size=n)
    values[1, 2] = np.nan
    words = (english * n)[:n]
    heatmap(values, words, words, key="h", allowed=np.tri(n, k=2, dtype=bool), title="Layer 2, head 5", numbers=True, selected=(4, 3), python={CODE!r})
if show == "mask":
    mask = mask_editor(np.tri(6, dtype=bool), english, english, key="m", title="Causal", python={CODE!r})
"""
ENGLISH, SPANISH = ["She", "has", "a", "white", "car", "."], ["Ella", "tiene", "un", "auto", "blanco", "."]
FOCUSED = """() => {
  let at = document.activeElement;
  while (at.shadowRoot) at = at.shadowRoot.activeElement;
  return at.dataset.kind ?? at.textContent;
}"""


@pytest.mark.slow
def test_the_menu_by_keyboard(visit: Visitor) -> None:
    seen = visit("words")
    before, button = len(seen.sent), seen.page.get_by_role("button", name="Save", exact=True)
    button.focus()
    seen.press("ArrowDown")
    menu = seen.page.get_by_role("menu", name="Save as")
    assert menu.is_visible() and button.get_attribute("aria-expanded") == "true"
    kinds = menu.locator(":scope > [role=menuitem]").evaluate_all("(all) => all.map((i) => i.dataset.kind)")
    assert kinds == ["png", "svg", "html", "csv", "npz", "zip", "py", "copy"]

    def walked(*keys: str) -> list[str]:
        out = []
        for key in keys:
            seen.press(key)
            out.append(seen.page.evaluate(FOCUSED))
        return out

    steps = walked("ArrowDown", "ArrowUp", "ArrowUp", "ArrowDown", "End", "Home", "h", "n")
    assert steps == ["svg", "png", "copy", "png", "copy", "png", "html", "npz"]
    assert walked("Escape") == ["Save"]
    assert not menu.is_visible() and button.get_attribute("aria-expanded") == "false"
    seen.press("Enter")
    assert menu.is_visible()
    assert walked("Tab") != ["png"] and not menu.is_visible()
    for shut in (lambda: seen.page.mouse.click(5, 5), button.click):  # a click elsewhere, one on the button
        button.click()
        assert menu.is_visible()
        shut()
        assert not menu.is_visible()
    assert len(seen.sent) == before


@pytest.mark.slow
@pytest.mark.parametrize(("show", "scheme"), sampled([("one", "dark"), ("words", "light")]))
def test_a_phone_sees_the_whole_menu(visit: Visitor, show: str, scheme: str) -> None:
    seen = visit(show, width=390, height=600, scheme=scheme, has_touch=True)
    seen.page.locator(".save-open").tap()
    box = seen.page.locator(".save-list").bounding_box()
    assert min(box["x"], box["y"]) >= 0
    assert box["x"] + box["width"] <= 390 and box["y"] + box["height"] <= 600 and seen.width() <= 390
    heights = "(all) => all.filter((i) => i.checkVisibility()).map((i) => i.getBoundingClientRect().height)"
    assert min(seen.page.locator(".save-item:not([hidden])").evaluate_all(heights)) >= 32
    back = seen.page.locator(".save-list").evaluate("(list) => getComputedStyle(list).backgroundColor")
    assert (max(int(v) for v in back[4:-1].split(",")) < 60) == (scheme == "dark")
    item = seen.page.locator('.save-item[data-kind="py"]')
    assert item.is_visible() == (show == "words")  # without lines of Python there is no such entry


def has_fine_pixels(seen: Any, folder: Path, scheme: str, ratio: int) -> None:
    stage, times = seen.page.locator(".stage").bounding_box(), max(2, ratio)
    path = saved(seen.page, "png", folder)
    assert path.name == "cross-attention-layer-2.png" and seen.attribute("saved") == path.name
    with Image.open(path) as image:
        assert image.width == round((stage["width"] + 32) * times) and image.height > stage["height"] * times
        pixels = image.convert("RGB")
    assert (max(pixels.getpixel((0, 0))) < 60) == (scheme == "dark")
    assert len(set(pixels.resize((pixels.width // 4, pixels.height // 4)).get_flattened_data())) > 30


@pytest.mark.slow
def test_png_has_the_pixels_of_a_fine_screen(visit: Visitor, tmp_path: Path) -> None:
    has_fine_pixels(visit("words", scheme="dark", device_scale_factor=3), tmp_path, "dark", 3)


def test_what_is_saved_is_what_is_shown_and_the_saved_page_works_offline_and_saves_itself_again(
    visit: Visitor, alone: Any, tmp_path: Path
) -> None:
    seen = visit("words")
    has_fine_pixels(seen, tmp_path, "light", 1)
    before = len(seen.sent)
    rows = saved_rows(seen.page, tmp_path)
    assert rows[0] == ["query position", "key position", "query", "key", "weight"] and len(rows) == 37
    assert rows[4 * 6 + 3 + 1] == ["4", "3", "blanco", "white", "0.981"]
    assert [[float(row[4]) for row in rows[1 + 6 * r : 7 + 6 * r]] for r in range(6)] == LOOK
    arrays = saved_arrays(seen.page, tmp_path)
    assert arrays["weights"].dtype == np.float32 and np.array_equal(arrays["weights"], np.float32(LOOK))
    assert arrays["allowed"].dtype == bool and arrays["allowed"].all()
    assert arrays["queries"].tolist() == SPANISH and arrays["keys"].tolist() == ENGLISH
    assert arrays["weights.axes"].tolist() == ["query", "key"]
    settle(seen.page)
    assert len(seen.sent) == before
    path = saved(seen.page, "svg", tmp_path)
    text, said = path.read_text("utf-8"), drawn_texts(path)
    names = {element.tag.removeprefix(SVG) for element in ET.fromstring(text).iter()}
    assert names <= {"svg", "title", "rect", "path", "text", "tspan", "g", "defs", "clipPath", "pattern"}
    assert {*ENGLISH, *SPANISH, "98%", "English"} <= set(said)
    assert any(
        states(line, "blanco", "98%", "white") for line in said
    )  # one text keeps its spaces in any font
    assert not re.search(r"\d\.\d{3}", text)  # two places are enough for paper
    assert saved(seen.page, "svg", tmp_path).read_text("utf-8") == text
    seen.page.locator('.word[data-side="target"][data-index="3"]').click()
    assert any("Writing auto" in line for line in saved_texts(seen.page, tmp_path))

    page = alone(saved(seen.page, "html", tmp_path), color_scheme="dark")
    sentence = page.locator(".sentence")
    assert page.locator(".atlas").get_attribute("data-mode") == "dark"
    assert states(sentence.inner_text(), "auto", "84%", "car")  # as it was when saved
    page.locator('.word[data-side="target"][data-index="4"]').hover()
    assert states(sentence.inner_text(), "blanco", "98%", "white")
    page.emulate_media(color_scheme="light")
    page.locator('.atlas[data-mode="light"]').wait_for()
    assert np.array_equal(saved_arrays(page, tmp_path)["weights"], np.float32(LOOK))
    (tmp_path / "again").mkdir()
    page.goto(saved(page, "html", tmp_path / "again").as_uri())
    page.wait_for_selector(".atlas[data-mode]", state="attached")
    assert states(sentence.inner_text(), "blanco", "98%", "white")


def test_a_saved_picture_says_whose_it_is(visit: Visitor, alone: Any, tmp_path: Path) -> None:
    page = visit("told").page
    path = saved(page, "svg", tmp_path)
    assert path.name == "translator-en-es-cross-l1-h5.svg"
    said = drawn_texts(path)
    assert states(said[0], "translator-en-es", "cross-attention", "layer 1", "head 5")
    assert said[1].strip("“”") == OPENING[True]
    assert any(states(line, "blanco", "L1.H5", "98%", "white") for line in said)
    assert "this head" in page.locator(".sentence").first.inner_text()
    arrays = saved_arrays(page, tmp_path)
    whose = [arrays[name].item() for name in ("model", "kind", "layer", "head")]
    assert whose == ["translator-en-es", "cross", 1, 5]
    shares = re.findall(r"([\d.]+)%(?: of| in)", page.locator(".note").last.inner_text().split(" under ")[0])
    assert sum(map(float, shares)) == pytest.approx(100, abs=1e-9)
    offline = alone(saved(page, "html", tmp_path))
    assert "layer 1, head 5" in offline.locator(".told").inner_text()
    assert "this head" not in offline.locator("body").inner_text()


class Frames(HTMLParser):
    """The tags of a text, each with what it says."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def test_what_is_copied_for_other_programs_is_never_markup(visit: Visitor, tmp_path: Path) -> None:
    page = visit("evil", permissions=["clipboard-read", "clipboard-write"]).page
    page.evaluate("globalThis.atlasLink = true")  # as every page of the app says

    def copied(kind: str) -> str:
        page.locator(".save-open").click()
        page.locator(f'.save-copies .save-item[data-kind="{kind}"]').click()
        page.locator('.atlas[data-saved="clipboard"]').wait_for()
        page.locator(".atlas").evaluate("(atlas) => { delete atlas.dataset.saved; }")
        return page.evaluate("navigator.clipboard.readText()")

    page.evaluate("history.replaceState(null, '', location.href + '&text=a)b%5D%3E$x$&present=1&q=`')")
    link = copied("link")
    assert link.endswith("&text=a%29b%5D%3E%24x%24&q=%60") and "show=evil" in link
    framed, words = f"{link}&embed=1", "]]></title><script>window.owned=1</script>"
    for kind, source in (("iframe", "src"), ("quarto", "src"), ("reveal", "data-src")):
        tags = Frames(text := copied(kind)).tags
        assert [name for name, _ in tags if name != "section"] == ["iframe"]
        assert "`" not in text.replace("```", "")
        assert tags[-1][1][source] == framed and tags[-1][1]["title"] == words
    # no sign of Markdown without its backslash
    plain = re.compile(r"(?:\\[!-/:-@\[-`{-~]|&#\d+;|[^\\`*_{}\[\]#|~$^@:=%<>&])+")
    label, address = copied("markdown")[1:-1].split("](")
    assert plain.fullmatch(label) and unescape(re.sub(r"\\(.)", r"\1", label)) == words and address == link
    first, width, empty, caption, last = copied("myst").split("\n")
    assert (first, width, empty, last) == (f":::{{iframe}} {framed}", ":width: 100%", "", ":::")
    assert caption == label == copied("quarto").split("\n")[-2]
    with zipfile.ZipFile(saved(page, "zip", tmp_path)) as archive:
        assert archive.testzip() is None
        name = archive.namelist()[0].removesuffix(".tex")
        assert archive.namelist() == [f"{name}.tex", f"{name}.svg", f"{name}.bib"]
        tex, svg, bib = (archive.read(file).decode() for file in archive.namelist())
    assert ET.fromstring(svg).tag == f"{SVG}svg" and bib.startswith("@misc{attention-atlas,\n")
    escaped = words.replace("<", r"\textless{}").replace(">", r"\textgreater{}")
    assert rf"\caption{{{escaped}." in tex
    assert f"\\includesvg[width=\\linewidth]{{{name}}}" in tex and tex.count("{") == tex.count("}")


@pytest.mark.slow
def test_a_heatmap_is_cells_in_svg_and_an_image_when_there_are_thousands(
    visit: Visitor, tmp_path: Path
) -> None:
    def saved_svg(show: str) -> list[ET.Element]:
        return [*ET.parse(saved(visit(show).page, "svg", tmp_path)).getroot().iter()]

    def kinds(parts: list[ET.Element], *names: str) -> list[int]:
        tags = [part.tag.removeprefix(SVG) for part in parts]
        return [tags.count(name) for name in names]

    small = saved_svg("heat")
    square = [part for part in small if part.get("width") and part.get("width") == part.get("height")]
    cells = [part for part in square if (part.get("fill") or "none") != "none"]
    assert len(cells) >= np.tri(12, k=2).sum() and kinds(small, "image", "pattern") == [0, 1]
    images, rectangles = kinds(saved_svg("heat&n=80"), "image", "rect")
    assert images == 1 and rectangles < 100


@pytest.mark.slow
def test_sixty_words_are_saved_whole_and_their_numbers_not_rounded_as_they_are_drawn(
    visit: Visitor, alone: Any, tmp_path: Path
) -> None:
    seen = visit("many", width=390)
    assert seen.attribute("flow") == "scroll" and "in steps of" in seen.text(".note")
    path = saved(seen.page, "svg", tmp_path)
    assert float(ET.parse(path).getroot().get("width")) > 1000
    assert {f"w{i}" for i in range(60)} <= {*drawn_texts(path)}
    true = np.float32(np.random.default_rng(0).dirichlet(np.full(60, 0.3), size=60))
    header, *rows = saved_rows(seen.page, tmp_path)
    assert header == ["query position", "key position", "query", "key", "weight"]
    assert np.array_equal(np.float32([row[4] for row in rows]).reshape(60, 60), true)
    for page in (seen.page, alone(saved(seen.page, "html", tmp_path))):
        arrays = saved_arrays(page, tmp_path)
        assert np.array_equal(arrays["weights"], true) and "exactness" not in arrays
