"""Saving from an instrument: every kind of file is downloaded from a real browser and read back by other programs."""

from __future__ import annotations

import csv
import io
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from settling import settle, still
from small_app import Visitor

from viz.instruments.kit.mount import bundle, kit

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
from viz.instruments import grid, head_view, heatmap, mask_editor, words_view
from viz.instruments.kit import origin
from viz.instruments.strip.strip import strip

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
if show == "grid":
    grid(np.random.default_rng(0).dirichlet(np.full(10, .3), size=(3, 4, 10)), key="g", kinds=[["a", "b", "c", "d"]] * 3, title="All", python={CODE!r})
if show == "lines":
    head_view(np.stack([look, look[::-1]]), spanish, english, key="l", heads=[0, 5], title="Layer 2", python={CODE!r})
if show == "strip":
    strip(np.tri(6) / np.arange(1, 7)[:, None], english, key="s", allowed=np.tri(6, dtype=bool), title="Strip", python={CODE!r})
"""
ENGLISH, SPANISH = ["She", "has", "a", "white", "car", "."], ["Ella", "tiene", "un", "auto", "blanco", "."]
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def alone(chromium: Any) -> Iterator[Any]:
    """Opens a file without a network; no page may complain or ask for anything."""
    contexts, wrong = [], []

    def open_file(path: Path, **more: Any) -> Any:
        context = chromium.new_context(offline=True, **more)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda m: wrong.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on(
            "request",
            lambda r: None if r.url.startswith(("file:", "blob:", "data:")) else wrong.append(r.url),
        )
        page.goto(path.as_uri())
        page.wait_for_selector(".atlas[data-mode]", state="attached")
        still(page)
        return page

    yield open_file
    assert wrong == []
    for context in contexts:
        context.close()


def saved(page: Any, kind: str, folder: Path) -> Path:
    """The file that the menu of the first instrument hands out."""
    page.locator(".save-open:not(.compare)").first.click()
    with page.expect_download() as waiting:
        page.locator(f'.save-item[data-kind="{kind}"]').first.click()
    path = folder / waiting.value.suggested_filename
    waiting.value.save_as(path)
    return path


# ---------------------------------------------------------------- the menu


def test_the_menu_by_keyboard(visit: Visitor) -> None:
    seen = visit("words")
    before, button = len(seen.sent), seen.page.get_by_role("button", name="Save", exact=True)
    button.focus()
    seen.page.keyboard.press("ArrowDown")
    menu = seen.page.get_by_role("menu", name="Save as")
    assert menu.is_visible() and button.get_attribute("aria-expanded") == "true"
    assert menu.get_by_role("menuitem").evaluate_all("(all) => all.map((item) => item.dataset.kind)") == [
        "png",
        "svg",
        "html",
        "csv",
        "npz",
        "py",
        "copy",
    ]

    def walked(*keys: str) -> list[str]:
        out = []
        for key in keys:
            seen.page.keyboard.press(key)
            out.append(
                seen.page.evaluate("""() => {
                let at = document.activeElement;
                while (at.shadowRoot) at = at.shadowRoot.activeElement;
                return at.dataset.kind ?? at.textContent;
            }""")
            )
        return out

    assert walked("ArrowDown", "ArrowUp", "ArrowUp", "ArrowDown", "End", "Home", "h", "n") == [
        "svg",
        "png",
        "copy",
        "png",
        "copy",
        "png",
        "html",
        "npz",
    ]
    assert walked("Escape") == ["Save"]
    assert not menu.is_visible() and button.get_attribute("aria-expanded") == "false"
    seen.page.keyboard.press("Enter")
    assert menu.is_visible()
    assert walked("Tab") != ["png"] and not menu.is_visible()
    assert len(seen.sent) == before


def test_a_click_elsewhere_closes_the_menu(visit: Visitor) -> None:
    seen = visit("words")
    seen.page.locator(".save-open").click()
    assert seen.page.locator(".save-list").is_visible()
    seen.page.mouse.click(5, 5)
    assert not seen.page.locator(".save-list").is_visible()
    seen.page.locator(".save-open").click()
    seen.page.locator(".save-open").click()
    assert not seen.page.locator(".save-list").is_visible()


@pytest.mark.parametrize("show", ["words", "one"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_sees_the_whole_menu(visit: Visitor, show: str, scheme: str) -> None:
    seen = visit(show, width=390, height=600, scheme=scheme, has_touch=True)
    seen.page.locator(".save-open").tap()
    box = seen.page.locator(".save-list").bounding_box()
    assert (
        box["x"] >= 0 and box["x"] + box["width"] <= 390 and box["y"] >= 0 and box["y"] + box["height"] <= 600
    )
    tall = seen.page.locator(".save-item:not([hidden])").evaluate_all(
        "(all) => Math.min(...all.map((i) => i.getBoundingClientRect().height))"
    )
    assert tall >= 32 and seen.width() <= 390
    back = seen.page.locator(".save-list").evaluate("(list) => getComputedStyle(list).backgroundColor")
    assert (max(int(v) for v in back[4:-1].split(",")) < 60) == (scheme == "dark")
    item = seen.page.locator('.save-item[data-kind="py"]')
    assert item.is_visible() == (show == "words")  # without lines of Python there is no such entry


# ---------------------------------------------------------------- pictures


@pytest.mark.parametrize(("scheme", "ratio"), [("light", 1), ("dark", 3)])
def test_png_has_the_pixels_of_a_fine_screen(visit: Visitor, tmp_path: Path, scheme: str, ratio: int) -> None:
    seen = visit("words", scheme=scheme, device_scale_factor=ratio)
    stage = seen.page.locator(".stage").bounding_box()
    path = saved(seen.page, "png", tmp_path)
    assert path.name == "cross-attention-layer-2.png" and seen.attribute("saved") == path.name
    with Image.open(path) as image:
        assert image.width == round((stage["width"] + 32) * max(2, ratio)) and image.height > stage[
            "height"
        ] * max(2, ratio)
        pixels = image.convert("RGB")
        paper = pixels.getpixel((0, 0))
        assert (max(paper) < 60) == (scheme == "dark")
        assert len(set(pixels.resize((image.width // 4, image.height // 4)).get_flattened_data())) > 30


def test_svg_is_clean_and_always_the_same(visit: Visitor, tmp_path: Path) -> None:
    seen = visit("words")
    path = saved(seen.page, "svg", tmp_path)
    text = path.read_text("utf-8")
    tree = ET.fromstring(text)
    names = {element.tag.split("}")[1] for element in tree.iter()}
    assert names <= {"svg", "title", "rect", "path", "text", "tspan", "g", "defs", "clipPath", "pattern"}
    said = ["".join(element.itertext()) for element in tree.iter(f"{SVG}text")]
    assert set(ENGLISH + SPANISH + ["98 %", "English"]) <= set(said)
    assert (
        "Writing blanco, this head gives 98 % of its attention to white." in said
    )  # one text: its words keep their spaces in any font
    assert not re.search(r"\d\.\d{3}", text)  # two places are enough for paper
    assert saved(seen.page, "svg", tmp_path).read_text("utf-8") == text
    seen.page.locator('.word[data-side="target"][data-index="3"]').click()
    assert "Writing auto" in "".join(
        ET.fromstring(saved(seen.page, "svg", tmp_path).read_text("utf-8")).itertext()
    )


def test_a_saved_picture_says_whose_it_is(visit: Visitor, alone: Any, tmp_path: Path) -> None:
    page = visit("told").page
    path = saved(page, "svg", tmp_path)
    assert path.name == "translator-en-es-cross-l1-h5.svg"
    said = [
        "".join(element.itertext()) for element in ET.fromstring(path.read_text("utf-8")).iter(f"{SVG}text")
    ]
    assert said[:2] == [
        "translator-en-es, cross-attention, layer 1, head 5",
        "\u201cShe has a white car.\u201d",
    ]
    assert (
        "Writing blanco, L1.H5 gives 98 % of its attention to white." in said
        and "this head" in page.locator(".sentence").first.inner_text()
    )
    with np.load(saved(page, "npz", tmp_path)) as arrays:
        assert (str(arrays["model"]), str(arrays["kind"]), int(arrays["layer"]), int(arrays["head"])) == (
            "translator-en-es",
            "cross",
            1,
            5,
        )
    note = page.locator(".note").last.inner_text()
    assert sum(
        float(share) for share in re.findall(r"([\d.]+) %(?: of| in)", note.split(" under ")[0])
    ) == pytest.approx(100, abs=1e-9)
    offline = alone(saved(page, "html", tmp_path))
    assert (
        "layer 1, head 5" in offline.locator(".told").inner_text()
        and "this head" not in offline.locator("body").inner_text()
    )


@pytest.mark.parametrize("show", ["words", "heat", "mask", "grid", "lines", "strip"])
def test_each_instrument_saves_each_kind(visit: Visitor, alone: Any, tmp_path: Path, show: str) -> None:
    seen = visit(show)
    before = len(seen.sent)
    files = {kind: saved(seen.page, kind, tmp_path) for kind in ("png", "svg", "html", "csv", "npz")}
    with Image.open(files["png"]) as image:
        assert (
            image.width > 500 and len(set(image.convert("RGB").resize((200, 200)).get_flattened_data())) > 10
        )
        tree = ET.fromstring(files["svg"].read_text("utf-8"))
        assert [float(tree.get("width")), float(tree.get("height"))] == pytest.approx(
            [image.width / 2, image.height / 2], abs=1
        )
    assert not list(tree.iter(f"{SVG}image"))  # lines and letters only
    with files["csv"].open(encoding="utf-8-sig", newline="") as file:
        assert len({len(row) for row in csv.reader(file)}) == 1
    with np.load(files["npz"], allow_pickle=False) as arrays:
        assert all(arrays[name].dtype != object for name in arrays)
    page = alone(files["html"])
    with Image.open(io.BytesIO(page.locator(".atlas").screenshot())) as image:
        assert len(set(image.convert("RGB").get_flattened_data())) > 20
    assert page.locator(".save-item[data-kind=py]").get_attribute("hidden") is None
    assert len(seen.sent) == before + (
        show == "grid"
    )  # its thumbnails are rounded: asked once for all files that hold numbers


def test_a_heatmap_is_cells_in_svg_and_an_image_when_there_are_thousands(
    visit: Visitor, tmp_path: Path
) -> None:
    seen = visit("heat")
    tree = ET.fromstring(saved(seen.page, "svg", tmp_path).read_text("utf-8"))
    open_cells = int(np.tri(12, k=2).sum())
    cells = [
        r
        for r in tree.iter(f"{SVG}rect")
        if r.get("width") == r.get("height") and (r.get("fill") or "none") != "none"
    ]
    assert (
        len(cells) >= open_cells
        and not list(tree.iter(f"{SVG}image"))
        and len(list(tree.iter(f"{SVG}pattern"))) == 1
    )
    large = ET.fromstring(saved(visit("heat&n=80").page, "svg", tmp_path).read_text("utf-8"))
    assert len(list(large.iter(f"{SVG}image"))) == 1 and len(list(large.iter(f"{SVG}rect"))) < 100


def test_a_heatmap_says_what_is_forbidden_and_hovers_offline(
    visit: Visitor, alone: Any, tmp_path: Path
) -> None:
    seen = visit("heat")
    true = np.random.default_rng(0).dirichlet(np.full(12, 0.3), size=12)
    with saved(seen.page, "csv", tmp_path).open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.reader(file))[1:]
    assert (
        rows[1 * 12 + 2][4] == "nan"
        and rows[0 * 12 + 11][4:] == ["", "0"]
        and np.float32(rows[4 * 12 + 3][4]) == np.float32(true[4, 3])
    )
    page = alone(saved(seen.page, "html", tmp_path))
    left, top, unit = (float(v) for v in page.locator(".atlas").get_attribute("data-place").split(","))
    pane = page.locator(".pane").bounding_box()
    page.mouse.move(pane["x"] + left + 4.5 * unit, pane["y"] + top + 7.5 * unit)
    assert page.locator(".atlas").get_attribute("data-hover") == "7,4"
    assert float(page.locator(".atlas").get_attribute("data-value")) == float(np.float32(true[7, 4]))
    page.mouse.click(pane["x"] + left + 4.5 * unit, pane["y"] + top + 7.5 * unit)
    assert (
        page.locator(".atlas").get_attribute("data-cell") == "7,4"
    )  # a click marks; there is nobody to tell


def test_a_mask_is_saved_as_it_is_now(visit: Visitor, alone: Any, tmp_path: Path) -> None:
    seen = visit("mask")
    seen.page.locator(".matrix .frame").focus()
    for key in ("ArrowDown", "ArrowRight", "ArrowRight", "Space"):
        seen.page.keyboard.press(key)
    seen.page.wait_for_function("document.activeElement")
    settle(seen.page)
    now = np.tri(6, dtype=bool)
    now[0, 2] = True
    with np.load(saved(seen.page, "npz", tmp_path)) as arrays:
        assert np.array_equal(arrays["allowed"], now) and arrays["keys"].tolist() == ENGLISH
    with saved(seen.page, "csv", tmp_path).open(encoding="utf-8-sig", newline="") as file:
        assert [row[4] for row in csv.reader(file)][1:] == [str(int(v)) for v in now.ravel()]
    page = alone(saved(seen.page, "html", tmp_path))
    assert page.locator(".atlas").get_attribute("data-allowed") == "22"
    page.get_by_role("button", name="Start again").click()
    assert page.locator(".atlas").get_attribute("data-allowed") == "21"
    page.get_by_role("button", name="Undo").click()
    with np.load(saved(page, "npz", tmp_path)) as arrays:
        assert np.array_equal(arrays["allowed"], now)


def test_sixty_words_are_saved_whole(visit: Visitor, tmp_path: Path) -> None:
    seen = visit("many", width=390)
    assert seen.attribute("flow") == "scroll"
    tree = ET.fromstring(saved(seen.page, "svg", tmp_path).read_text("utf-8"))
    assert float(tree.get("width")) > 1000
    assert {f"w{i}" for i in range(60)} <= {"".join(e.itertext()) for e in tree.iter(f"{SVG}text")}


def test_hostile_words_stay_words(visit: Visitor, alone: Any, tmp_path: Path) -> None:
    seen = visit("evil")
    tree = ET.fromstring(saved(seen.page, "svg", tmp_path).read_text("utf-8"))
    assert not any(element.tag.endswith(("script", "foreignObject", "image")) for element in tree.iter())
    assert "]]></title><script>window.owned=1</script>" in "".join(tree.itertext())
    with saved(seen.page, "csv", tmp_path).open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.reader(file))
    assert [row[2] for row in rows[1::6]] == [EVIL[0], EVIL[1], "'=1+1", *EVIL[3:]]  # a formula stays text
    path = saved(seen.page, "html", tmp_path)
    assert EVIL[0] not in path.read_text("utf-8") and path.read_text("utf-8").count("</script>") == 3
    page = alone(path)
    assert page.evaluate("window.owned") is None
    assert page.locator(".atlas script, .atlas b > *").count() == 0
    assert page.title() == "]]></title><script>window.owned=1</script>"
    assert page.locator('.word[data-side="source"][data-index="0"]').get_attribute("title") == EVIL[0]


# ---------------------------------------------------------------- numbers


def test_csv_and_npz_hold_what_is_shown(visit: Visitor, tmp_path: Path) -> None:
    seen = visit("words")
    before = len(seen.sent)
    with saved(seen.page, "csv", tmp_path).open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["query position", "key position", "query", "key", "weight"] and len(rows) == 37
    assert rows[4 * 6 + 3 + 1] == ["4", "3", "blanco", "white", "0.981"]
    assert [[float(row[4]) for row in rows[1 + 6 * r : 7 + 6 * r]] for r in range(6)] == LOOK
    with np.load(saved(seen.page, "npz", tmp_path)) as arrays:
        assert arrays["weights"].dtype == np.float32 and np.array_equal(arrays["weights"], np.float32(LOOK))
        assert arrays["allowed"].dtype == bool and arrays["allowed"].all()
        assert arrays["queries"].tolist() == SPANISH and arrays["keys"].tolist() == ENGLISH
        assert arrays["weights.axes"].tolist() == ["query", "key"]
    settle(seen.page)
    assert len(seen.sent) == before


def test_the_numbers_of_a_long_text_are_drawn_rounded_and_saved_as_they_are(
    visit: Visitor, alone: Any, tmp_path: Path
) -> None:
    seen = visit("many")
    assert "in steps of" in seen.page.locator(".note").inner_text()
    true = np.float32(np.random.default_rng(0).dirichlet(np.full(60, 0.3), size=60))
    with saved(seen.page, "csv", tmp_path).open(encoding="utf-8-sig", newline="") as file:
        header, *rows = csv.reader(file)
    assert header == ["query position", "key position", "query", "key", "weight"]
    assert np.array_equal(np.float32([row[4] for row in rows]).reshape(60, 60), true)
    for page in (seen.page, alone(saved(seen.page, "html", tmp_path))):
        with np.load(saved(page, "npz", tmp_path)) as arrays:
            assert np.array_equal(arrays["weights"], true) and "exactness" not in arrays


def test_python_is_saved_and_copied_each_by_its_name(visit: Visitor, address: str, tmp_path: Path) -> None:
    seen = visit("words", permissions=["clipboard-read", "clipboard-write"])
    seen.page.locator(".save-open").click()
    item = seen.page.locator('.save-item[data-kind="copy"]')
    assert item.locator("span").first.inner_text() == "Copy"
    item.click()
    seen.page.get_by_role("button", name="Copied").wait_for()
    assert seen.page.evaluate("navigator.clipboard.readText()") == CODE
    assert saved(seen.page, "py", tmp_path).read_text("utf-8") == CODE + "\n" and seen.attribute(
        "saved"
    ).endswith(".py")


def test_without_a_clipboard_nothing_is_called_copy(visit: Visitor, alone: Any, tmp_path: Path) -> None:
    page = alone(saved(visit("words").page, "html", tmp_path))
    page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    page.emulate_media(color_scheme="dark")  # drawn anew
    page.locator('.atlas[data-mode="dark"]').wait_for()
    page.locator(".save-open").click()
    assert (
        page.locator('.save-item[data-kind="py"]').is_visible()
        and not page.locator('.save-item[data-kind="copy"]').is_visible()
    )


# ---------------------------------------------------------------- a page that stands alone


def test_the_page_works_offline_and_saves_itself_again(visit: Visitor, alone: Any, tmp_path: Path) -> None:
    seen = visit("words")
    seen.page.locator('.word[data-side="target"][data-index="3"]').click()
    first = saved(seen.page, "html", tmp_path)
    page = alone(first, color_scheme="dark")
    assert page.locator(".atlas").get_attribute("data-mode") == "dark"
    assert (
        page.locator(".sentence").inner_text()
        == "Writing auto, this head gives 84 % of its attention to car."
    )  # as it was when saved
    page.locator('.word[data-side="target"][data-index="4"]').hover()
    assert (
        page.locator(".sentence").inner_text()
        == "Writing blanco, this head gives 98 % of its attention to white."
    )
    page.emulate_media(color_scheme="light")
    page.locator('.atlas[data-mode="light"]').wait_for()
    (tmp_path / "again").mkdir()
    again = saved(page, "html", tmp_path / "again")
    assert (
        alone(again).locator(".sentence").inner_text()
        == "Writing blanco, this head gives 98 % of its attention to white."
    )
    with np.load(saved(page, "npz", tmp_path)) as arrays:
        assert np.array_equal(arrays["weights"], np.float32(LOOK))


# ---------------------------------------------------------------- the pens themselves


@pytest.fixture
def bench(chromium: Any) -> Iterator[Any]:
    """A bare page with what all instruments share, under `globalThis.kit`."""
    context = chromium.new_context()
    page = context.new_page()
    page.set_content('<div class="atlas" style="--st-background-color:#fbfaf7"></div>')
    modules = "...kit_common, ...kit_save_save, ...kit_save_svg_pen"
    page.add_script_tag(content=f"{kit()}\nglobalThis.kit = {{ {modules} }};", type="module")
    page.wait_for_function("globalThis.kit")
    yield page
    context.close()


PAINT = """
function paint(pen, theme, hatching) {
    pen.fillStyle = "#ffffff"; pen.fillRect(0, 0, 300, 200);
    pen.save(); pen.translate(60, 50); pen.rotate(-Math.PI / 5); pen.fillStyle = "rgb(200 30 60 / 0.5)"; pen.fillRect(-20, -10, 40, 20);
    pen.strokeStyle = "#3f51b5"; pen.lineWidth = 3; pen.strokeRect(-30, -20, 60, 40); pen.restore();
    pen.beginPath(); pen.arc(130, 50, 30, 0.4, 4.6); pen.lineTo(130, 50); pen.closePath(); pen.fillStyle = "#2a9d8f"; pen.fill();
    pen.beginPath(); pen.arc(210, 50, 25, 0, Math.PI * 2); pen.strokeStyle = "black"; pen.lineWidth = 4; pen.stroke();
    pen.beginPath(); pen.roundRect(250, 20, 40, 60, 12); pen.fillStyle = hatching(pen, theme); pen.fill(); pen.strokeStyle = theme.text; pen.lineWidth = 1; pen.stroke();
    pen.save(); pen.beginPath(); pen.rect(10, 110, 60, 50); pen.clip(); pen.translate(5, 5);
    pen.beginPath(); pen.arc(60, 150, 40, 0, 7, false); pen.fillStyle = "#b5446e"; pen.fill(); pen.restore();
    pen.beginPath(); pen.moveTo(90, 120); pen.bezierCurveTo(120, 90, 150, 190, 170, 130); pen.quadraticCurveTo(180, 100, 190, 160);
    pen.globalAlpha = 0.6; pen.lineCap = "round"; pen.lineWidth = 6; pen.strokeStyle = "#7a6ff0"; pen.stroke(); pen.globalAlpha = 1;
    const tile = Object.assign(document.createElement("canvas"), { width: 2, height: 2 }), t = tile.getContext("2d");
    t.fillStyle = "#ff8800"; t.fillRect(0, 0, 1, 1); t.fillStyle = "#004488"; t.fillRect(1, 1, 1, 1);
    pen.imageSmoothingEnabled = false; pen.drawImage(tile, 210, 110, 40, 40); pen.drawImage(tile, 0, 0, 1, 1, 260, 110, 20, 20);
    const ramp = pen.createLinearGradient(210, 0, 290, 0); ramp.addColorStop(0, "#fbfaf7"); ramp.addColorStop(1, "#1a2152");
    pen.fillStyle = ramp; pen.fillRect(210, 160, 80, 12);
    pen.fillStyle = "#000000"; pen.font = "600 14px sans-serif";
    for (const [i, base] of ["alphabetic", "middle", "top", "bottom"].entries()) { pen.textBaseline = base; pen.textAlign = ["left", "center", "right", "start"][i]; pen.fillText("Hq", 20 + i * 40, 185); }
    pen.textBaseline = "middle"; pen.textAlign = "left"; pen.fillText("a very long label", 190, 188, 60);
}
"""


def test_svg_pen_draws_what_a_canvas_draws(bench: Any) -> None:
    """The same strokes on both, compared pixel by pixel at twice the size."""
    different, svg = bench.evaluate(
        "async () => {"
        + PAINT
        + """
        const { SvgPen, hatching, readTheme } = kit, theme = readTheme(document.querySelector(".atlas"));
        const sheet = () => { const c = document.createElement("canvas"); c.width = 600; c.height = 400; const p = c.getContext("2d"); return p; };
        const canvas = sheet(), drawn = sheet(), pen = new SvgPen(300, 200);
        canvas.scale(2, 2); paint(canvas, theme, hatching); paint(pen, theme, hatching);
        const svg = pen.toString(), image = new Image();
        image.src = "data:image/svg+xml;base64," + btoa(svg);
        await image.decode();
        drawn.drawImage(image, 0, 0, 600, 400);
        const [a, b] = [canvas, drawn].map((p) => p.getImageData(0, 0, 600, 400).data);
        const far = [];
        for (let y = 0; y < 8; y++) for (let x = 0; x < 12; x++) {     // tiles of 50 x 50
            let sum = 0;
            for (let j = 0; j < 50; j++) for (let i = 0; i < 50; i++) for (let c = 0; c < 3; c++) { const k = ((y * 50 + j) * 600 + x * 50 + i) * 4 + c; sum += Math.abs(a[k] - b[k]); }
            far.push(sum / 7500);
        }
        return [far, svg];
    }"""
    )
    ET.fromstring(svg)
    assert max(different) < 4, max(different)  # of 255, in the worst tile
    assert svg.count("<pattern") == 1 and svg.count("<clipPath") == 1 and "foreignObject" not in svg


def test_every_kind_of_array_comes_back(bench: Any, tmp_path: Path) -> None:
    bench.evaluate("""() => {
        const view = { root: document.querySelector(".atlas") }, where = kit.make("div", "", view.root);
        kit.saveMenu(view, where, {
            name: "=cmd|' /C calc'!A0 \\u0645 <b>", size: () => [10, 10], paint() {}, code: "", packet: null,
            rows: () => [["a", "b"], ["=1", 0.1], ["+2", NaN], ["-3 x", -Infinity], ["@x", Math.fround(0.1)], [" pad", 1e-7], ["q\\"u", 16777216]],
            arrays: () => ({
                f4: { shape: [2, 3], values: Float32Array.of(0.1, NaN, Infinity, -1, 0, 3e-8), axes: ["query", "key"] },
                f8: { shape: [2], values: [0.1, 1e300] }, u1: { shape: [3], values: Uint8Array.of(0, 128, 255) },
                i4: { shape: [1], values: Int32Array.of(-5) }, b1: { shape: [2, 1], values: Uint8Array.of(0, 1), bool: true },
                words: { shape: [3], values: ["", "\\u{1f600}\\ud800", "<b>"] }, cube: { shape: [2, 1, 2], values: Float32Array.of(1, 2, 3, 4) },
                none: { shape: [0, 4], values: new Float32Array(0) },
            }),
        });
        kit.saveMenu(view, where, { ...view.saving.spec });
    }""")
    assert bench.locator(".save-open").count() == 1  # a second call updates
    path = saved(bench, "npz", tmp_path)
    assert path.name == "cmd-c-calc-a0-\u0645-b.npz"
    with np.load(path, allow_pickle=False) as arrays:
        back = {name: arrays[name] for name in arrays}
    assert np.array_equal(back["f4"], np.float32([[0.1, np.nan, np.inf], [-1, 0, 3e-8]]), equal_nan=True)
    assert (
        back["f8"].tolist() == [0.1, 1e300]
        and back["u1"].tolist() == [0, 128, 255]
        and back["i4"].tolist() == [-5]
    )
    assert (
        back["b1"].tolist() == [[False], [True]]
        and back["cube"].tolist() == [[[1, 2]], [[3, 4]]]
        and back["none"].shape == (0, 4)
    )
    assert back["words"].tolist() == ["", "\U0001f600\ufffd", "<b>"] and back["f4.axes"].tolist() == [
        "query",
        "key",
    ]
    rows = list(csv.reader(io.StringIO(saved(bench, "csv", tmp_path).read_text("utf-8-sig"), newline="")))
    assert rows == [
        ["a", "b"],
        ["'=1", "0.1"],
        ["'+2", "nan"],
        ["'-3 x", "-inf"],
        ["'@x", "0.1"],
        [" pad", "1e-7"],
        ['q"u', "16777216"],
    ]


def test_no_string_of_the_code_can_end_a_script() -> None:
    for source in (kit(), bundle("words/words")):
        assert not any(bad in source for bad in ("<script", "</script", "<!--"))
