"""The page that an instrument saves stands alone: it works offline, saves again, and no word of it is markup."""

from __future__ import annotations

import asyncio
import io
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from settling import press, settle
from small_app import Visitor, cell_at, saved, saved_arrays, saved_rows
from test_save import APP as APP
from test_save import ENGLISH, EVIL, LOOK, SPANISH

from viz.instruments.kit.figure import file_in
from viz.instruments.kit.origin import Origin
from viz.instruments.kit.picture import Picture
from viz.instruments.words.words import WORDS, After, words_packet


@pytest.mark.slow
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


def test_hostile_words_stay_words(visit: Visitor, alone: Any, tmp_path: Path) -> None:
    seen = visit("evil")
    tree = ET.fromstring(saved(seen.page, "svg", tmp_path).read_text("utf-8"))
    assert not any(element.tag.endswith(("script", "foreignObject", "image")) for element in tree.iter())
    assert "]]></title><script>window.owned=1</script>" in "".join(tree.itertext())
    rows = saved_rows(seen.page, tmp_path)
    assert [row[2] for row in rows[1::6]] == [EVIL[0], EVIL[1], "'=1+1", *EVIL[3:]]  # a formula stays text
    path = saved(seen.page, "html", tmp_path)
    assert EVIL[0] not in path.read_text("utf-8") and path.read_text("utf-8").count("</script>") == 3
    page = alone(path)
    assert page.evaluate("window.owned") is None
    assert page.locator(".atlas script, .atlas b > *").count() == 0
    assert page.title() == "]]></title><script>window.owned=1</script>"
    assert page.locator('.word[data-side="source"][data-index="0"]').get_attribute("title") == EVIL[0]


@pytest.mark.slow
def test_a_heatmap_says_what_is_forbidden_and_hovers_offline(
    visit: Visitor, alone: Any, tmp_path: Path
) -> None:
    seen = visit("heat")
    true = np.random.default_rng(0).dirichlet(np.full(12, 0.3), size=12)
    rows = saved_rows(seen.page, tmp_path)[1:]
    assert (
        rows[1 * 12 + 2][4] == "nan"
        and rows[0 * 12 + 11][4:] == ["", "0"]
        and np.float32(rows[4 * 12 + 3][4]) == np.float32(true[4, 3])
    )
    page = alone(saved(seen.page, "html", tmp_path))
    place = cell_at(page.locator(".atlas").first, 7, 4)
    page.mouse.move(*place)
    assert page.locator(".atlas").get_attribute("data-hover") == "7,4"
    assert float(page.locator(".atlas").get_attribute("data-value")) == float(np.float32(true[7, 4]))
    page.mouse.click(*place)
    assert (
        page.locator(".atlas").get_attribute("data-cell") == "7,4"
    )  # a click marks; there is nobody to tell


@pytest.mark.slow
def test_a_mask_is_saved_as_it_is_now(visit: Visitor, alone: Any, tmp_path: Path) -> None:
    seen = visit("mask")
    press(seen.page, "ArrowDown", "ArrowRight", "ArrowRight", "Space", at=".matrix .frame")
    settle(seen.page)
    now = np.tri(6, dtype=bool)
    now[0, 2] = True
    arrays = saved_arrays(seen.page, tmp_path)
    assert np.array_equal(arrays["allowed"], now) and arrays["keys"].tolist() == ENGLISH
    assert [row[4] for row in saved_rows(seen.page, tmp_path)][1:] == [str(int(v)) for v in now.ravel()]
    page = alone(saved(seen.page, "html", tmp_path))
    assert page.locator(".atlas").get_attribute("data-allowed") == "22"
    page.get_by_role("button", name="Start again").click()
    assert page.locator(".atlas").get_attribute("data-allowed") == "21"
    page.get_by_role("button", name="Undo").click()
    arrays = saved_arrays(page, tmp_path)
    assert np.array_equal(arrays["allowed"], now)


def test_python_saves_the_graphics_that_the_page_itself_saves(
    chromium: Any, alone: Any, tmp_path: Path
) -> None:
    picture = Picture(
        WORDS,
        words_packet(LOOK, SPANISH, ENGLISH, reading=True, caption="Cross"),
        origin=Origin(model="translator-en-es", text="She has a white car.", kind="cross", layer=1, head=5),
    )
    page = alone(picture.save(tmp_path / "words.html"))
    assert asyncio.get_running_loop()  # that of the tests' Chromium: as in a notebook
    text = picture.save(tmp_path / "words.svg").read_bytes()
    assert text == saved(page, "svg", tmp_path).read_bytes() and b"layer 1, head 5" in text

    def saved_file(kind: str) -> bytes:
        return file_in(chromium, picture.html(), kind, width=500, dark=True, scale=3)

    with Image.open(io.BytesIO(saved_file("png"))) as image:
        width, height = image.width / 3, image.height / 3
        assert width == 500 + 32 and max(image.convert("RGB").getpixel((0, 0))) < 60
    pdf = saved_file("pdf")
    assert pdf.startswith(b"%PDF") and len(re.findall(rb"/Type /Page\b", pdf)) == 1
    box = re.search(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", pdf)
    assert [float(side) for side in box.groups()] == pytest.approx([0.75 * width, 0.75 * height], abs=1)


def test_what_only_python_can_write_is_no_button_in_a_page_without_it(alone: Any, tmp_path: Path) -> None:
    packet = words_packet(
        [[1.0, 0], [0.5, 0.5]], ["a", "b"], ["a", "b"], layout="one", after=[After("and", "22%")]
    )
    page = alone(Picture(WORDS, packet).save(tmp_path / "words.html"))
    ghost = page.locator(".ghost")
    assert (ghost.get_attribute("role"), ghost.get_attribute("title")) == ("img", None)
    assert page.get_by_role("img", name="and, 22%").count() == 1 and page.locator("button.ghost").count() == 0
