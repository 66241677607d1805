"""What all instruments save with, on a bare page: the pen that draws an SVG, and the files of numbers."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_app import saved, saved_rows

from viz.instruments.kit.component import bundle, kit


@pytest.fixture
def bench(new_page: Callable[..., Any]) -> Any:
    """A bare page with what all instruments share, under `globalThis.kit`."""
    page = new_page(levels=())
    page.set_content('<div class="atlas" style="--st-background-color:#fbfaf7"></div>')
    modules = "...kit_common, ...kit_save_save, ...kit_save_svg_pen"
    page.add_script_tag(content=f"{kit()}\nglobalThis.kit = {{ {modules} }};", type="module")
    page.wait_for_function("globalThis.kit")
    return page


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
    assert {name: back[name].tolist() for name in ("f8", "u1", "i4", "b1", "cube", "words", "f4.axes")} == {
        "f8": [0.1, 1e300],
        "u1": [0, 128, 255],
        "i4": [-5],
        "b1": [[False], [True]],
        "cube": [[[1, 2]], [[3, 4]]],
        "words": ["", "\U0001f600\ufffd", "<b>"],
        "f4.axes": ["query", "key"],
    }
    assert back["none"].shape == (0, 4)
    assert saved_rows(bench, tmp_path) == [
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
