"""Every instrument in every format that its menu offers, every file opened by another program; by keyboard, by ear, at night and on a phone, whatever its words."""

from __future__ import annotations

import ast
import csv
import importlib
import io
import pkgutil
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from every_page import FOCUSED, fits_sideways, lit, serious
from PIL import Image
from small_app import SVG, Visitor, drawn_texts

from viz import instruments, theme
from viz.instruments.kit.component import Instrument
from viz.workspace.decode.controls import OPENING

TOLD = {"model": "translator-en-es", "kind": "cross", "text": "She has a white car.", "layer": 1, "head": 5}
LINES = "import viz\n\nprint('lines of Python')"
ROUGH = [
    "<img src=x onerror=window.owned=1>",
    "a" * 60,
    "\u0645\u0631\u062d\u0628\u0627",
    "\n",
    "  ",
    "\u202egnp.exe",
]
"""Words that nobody expects."""
APP = f"""
import numpy as np, streamlit as st
import core
from core.analysis.arithmetic.cell import cell_arithmetic
from core.analysis.arithmetic.source import source_lines
from viz.instruments import (Branch, Grid, Point, Score, Sign, arithmetic, board, candidates, diagram, grid, head_view, heatmap, marked, mask_editor, picture_view, plane, qkv,
                             sketch, source, strip, timeline, tree, weighing, whole_model, words_view)
from viz.instruments.candidates.candidates import Bar, Way
from viz.instruments.diagram.diagram import Edge, Node
from viz.instruments.kit import origin
from viz.instruments.timeline.timeline import Moment

st.set_page_config(layout="wide")
origin.tell(**{TOLD!r})
rough = "rough" in st.query_params
show = st.query_params["show"]
english = {ROUGH!r} if rough else "She has a white car .".split()
she, has = english[:2]
may = np.tri(6, dtype=bool)
look = np.where(may, np.random.default_rng(0).random((6, 6)), 0)
look /= look.sum(1, keepdims=True)
more = dict(key="x", python={LINES!r})
if show in ("arithmetic", "source"):
    run = st.cache_resource(core.open_model)("translator-en-es").run("She has a white car.")
    if show == "arithmetic":
        arithmetic(cell_arithmetic(run, "cross", 1, 5, 2, 1), words=(she, has) if rough else None, **more)
    else:
        source(source_lines(run, "cross", 1), **more)
elif show == "board":
    board([[Grid("Q", [[1.0, -1.5]], "1 x 2", rows=[she], columns=[has, "b"], edit=True), Sign("="), Grid("K", [[-0.25], [2.0]], "2 x 1")]], **more)
elif show == "candidates":
    way = lambda *scores: Way("softmax", (("score", "1 + 1", "2"),), scores)
    candidates([Bar(5, she, 0.7, 1.0, None, way(-0.5, -0.5)), Bar(9, has, 0.3, 0.0, "top-k", way(-1.5, -np.inf))], taken_id=5, filters=["top-k"], **more)
elif show == "diagram":
    diagram([Node("a", she, (50, 1), (40, 1), tooltip=f"{{she}} (encoder)", picture=[[0.0, -2.0]]), Node("b", "Attention", (50, 3), (40, 1))], edges=[Edge(((50, 1.5), (50, 2.5)))], rows=5, **more)
elif show == "grid":
    grid(np.random.default_rng(0).dirichlet(np.full(6, .3), size=(2, 3, 6)), queries=english, keys=english, **more)
elif show == "head_view":
    head_view(np.stack([look, look]), english, english, heads=[0, 5], allowed=np.stack([may, may]), **more)
elif show == "heatmap":
    heatmap(look, english, english, allowed=may, scores=np.where(may, -look, 0), **more)
elif show == "marked":
    marked(english, above=look[-1], below=look[4], names=("start", "end"), notes=["NOUN"] * 6, pick="word", **more)
elif show == "mask_editor":
    mask_editor(may, english, english, **more)
elif show == "picture":
    picture_view(np.arange(64).reshape(8, 8) * 4, np.hstack([look[:, :1], look[:, 2:]]), (2, 2), rows=english, special=["class token"], **more)
elif show == "plane":
    plane([Point("query", (1.2, 0.6), "query"), Point(she, (1.5, -0.2)), Point(has, (0.2, 1.4))], values=[(1.5, 1.5), (-1.5, 1)], scores=[Score("dot", 2)], **more)
elif show == "qkv":
    qkv("auto", [she, has], q=[1.0, -2.0], k=[[0.5, 0.0], [1.0, -1.0]], v=[[1.0, 0.0], [-1.0, 2.0]], scores=[0.5, 3.0], weights=[0.25, 0.75], width=8, **more)
elif show == "sketch":
    from core.data import doodles
    sketch(doodles.as_text(doodles.example("fish")), **more)
elif show == "strip":
    strip(look, english, allowed=may, **more)
elif show == "timeline":
    timeline([Moment(she, 0.5, 1.0, 1.5), Moment(has, 0.25, 2.0, None, "greedy")], prompt="Once", **more)
elif show == "tree":
    tree([Branch(-1, she, "best", -0.7, "kept", 0.5), Branch(-1, has, "pruned", -np.inf, "", None)], **more)
elif show == "weighing":
    weighing(english, [0.0, 1.5, 0.0, 2.0, 5.0, 0.25], **more)
elif show == "whole_model":
    from viz.instruments.whole_model.whole_model import Stack
    own = Stack("", english, np.random.default_rng(0).normal(size=(3, 6, 64)), dict(causal=np.stack([np.stack([look] * 2)] * 2)))
    whole_model([own], logits=[0.5, 2.0, -1.0], names=[she, has, "c"], position=5, **more)
elif show == "words":
    words_view(look, english, english, allowed=may, layout="one", reading=True, **more)
"""
FOUND = (
    (name, value)
    for _, name, _ in pkgutil.iter_modules(instruments.__path__)
    if name != "kit"
    for value in vars(importlib.import_module(f"viz.instruments.{name}.{name}")).values()
)
DECLARED = {name: value for name, value in FOUND if isinstance(value, Instrument)}
NUMBER = re.compile(r"[-+\u2212]?(\d+\.?\d*(e[-+]?\d+)?|nan|inf)\s*%?")
CONTENTS = {
    "arithmetic": (130, "line,term,calculation,value", ""),
    "board": (5, "matrix,row,column,value", "Q,1,2,-1.5"),
    "candidates": (
        3,
        "token,id,probability,after filters,cut,taken,logit,top-k,cut by the rule",
        "has,9,0.3,0,cut by top-k,,-1.5,,",
    ),
    "diagram": (3, "box,label,about it", "b,Attention,"),
    "grid": (217, "layer,head,query position,key position,query,key,weight", "1,2,4,3,car,white,0.6665622"),
    "head_view": (43, "head,query position,query,key position,key,weight", "5,4,car,2,a,0.2722646"),
    "heatmap": (
        37,
        "query position,key position,query,key,weight,score,allowed",
        "4,2,car,a,0.2722646,-0.2722646,1",
    ),
    "marked": (7, "word,start,end,label", "She,0.248577,0.168016,NOUN"),
    "mask_editor": (37, "query position,key position,query,key,allowed", "2,4,a,car,0"),
    "picture": (
        31,
        "query position,key position,query,key,cell row,cell column,weight",
        '4,3,car,"row 2, column 1",1,0,0.18717104',
    ),
    "plane": (4, "name,role,x,y,score,weight", "has,key,0.2,1.4,1.08,0.2314752165009825"),
    "qkv": (3, "key,score,weight", "has,3,0.75"),
    "sketch": (785, "row,column,brightness (0 to 255)", "0,1,0"),
    "source": (None, "file,line,text,path,axes,edits", ""),
    "strip": (7, "query position,key position,query,key,weight", "3,2,white,a,0.032365263"),
    "timeline": (3, 'step,token,probability,"surprisal, bits","entropy, bits",why', "2,has,0.25,2,,greedy"),
    "tree": (3, "node,parent,step,token,state,p,score,says", "1,-1,0,has,pruned,,-inf,"),
    "weighing": (7, "word,importance,weight", "has,1.5,0.02738853514089773"),
    "whole_model": (4, "candidate,logit,probability", "has,0.5,0.1752903921400367"),
    "words": (37, "query position,key position,query,key,weight", "4,2,car,a,0.2722646"),
}
"""Of the table that is saved: how many lines it has, its first one and another."""
PICTURES = ("diagram", "picture", "plane", "sketch")
"""They lay pixels below their lines."""
OFFERED = """(all) => all.filter((item) => !item.closest('[hidden]:not(.save-list)')).map((item) => item.dataset.kind)"""
HEARD = """(button) => {
  window.heard = [];
  new MutationObserver(() => heard.push(button.textContent)).observe(button, { childList: true });
}"""
"""What a button says for two seconds is not waited for: on a busy machine they are over."""
OWN = """() => {
  let at = document.activeElement;
  while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
  return Boolean(at?.closest(".atlas")) && !at.closest(".save");
}"""
"""Whether the focus is within an instrument, and not on its menu of what is saved."""
STATE = "(root) => [root.outerHTML, ...[...root.querySelectorAll('input, select')].map((one) => one.value)]"
NEXT_FRAME = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
IN_WORDS = ("marked", "source")
"""Their buttons say in words what they have in numbers or code, so that their names do not begin with what is seen."""
NO_NAME = re.compile(r"^\s*$")
KEYS = ("ArrowRight", "ArrowDown", "Enter", " ")
NIGHT = f"* {{ --st-link-color: {theme.DARK.link} !important; }}"
"""Pages of Streamlit alone have colours of their own."""


def check_table(path: Path, counted: bool) -> None:
    """A column of numbers is read as numbers by a program, what is forbidden is empty in it; where numbers are `counted` there is one."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        head, *rows = csv.reader(file)
    assert rows and {len(row) for row in rows} == {len(head)} and len(set(head)) == len(head)
    columns = ([cell for cell in column if cell] for column in zip(*rows, strict=True))
    numeric = [cells for cells in columns if cells and all(map(NUMBER.fullmatch, cells))]
    assert [cell for cells in numeric for cell in cells if set("\u2212%") & set(cell)] == []
    assert numeric or not counted


def check_archive(path: Path, told: dict[str, Any]) -> None:
    """Whose numbers, exact numbers, and words."""
    with np.load(path, allow_pickle=False) as arrays:
        found = {name: arrays[name] for name in arrays}
    # several heads are named one after the other
    assert {name: found[name].ravel()[-1].item() for name in told} == told
    own = {name: array for name, array in found.items() if name not in TOLD and not name.endswith(".axes")}
    kinds = {array.dtype.kind for array in own.values()}
    assert kinds & {"f", "b"} and "O" not in kinds and "exactness" not in own
    assert any(array.dtype.kind == "U" and array.ndim for array in own.values()), list(own)


@pytest.mark.quick(1)
@pytest.mark.parametrize("name", DECLARED)
def test_what_an_instrument_offers_to_save_is_complete(
    name: str, visit: Visitor, alone: Any, tmp_path: Path
) -> None:
    seen = visit(name, permissions=["clipboard-read", "clipboard-write"])
    button = seen.page.locator(".save-open:not(.compare)").first
    button.wait_for()
    offered = seen.page.locator(".save-list").first.locator(".save-item").evaluate_all(OFFERED)
    assert [kind for kind in offered if kind != "npz"] == ["png", "svg", "html", "csv", "zip", "py", "copy"]
    before = len(seen.sent)
    files = {kind: seen.saved(kind, tmp_path) for kind in offered if kind != "copy"}
    assert len(seen.sent) <= before + 1, "at most the numbers that are drawn rounded are asked for, once"
    whose = "translator-en-es-cross-(l1-h(5|0)|all-heads|steps)"
    assert all(re.match(whose, path.name) for path in files.values()), files
    # such a picture is of no single layer and head
    every = any(word in files["svg"].name for word in ("all-heads", "-steps"))
    tree, said = ET.parse(files["svg"]).getroot(), drawn_texts(files["svg"])
    above = " ".join(said[:4])
    assert re.search(
        "translator-en-es, cross-attention" + ("" if every else ", layer 1, heads? (5|0, 5)"), above
    )
    assert f"“{OPENING[True]}”" in above
    assert len(said) > 4 and "this head" not in " ".join(said)
    assert name in PICTURES or not list(tree.iter(f"{SVG}image")), "lines and letters only"
    with Image.open(files["png"]) as image:
        size = [float(tree.get(side, 0)) for side in ("width", "height")]
        assert [image.width / 2, image.height / 2] == pytest.approx(size, abs=1)
        assert len(set(image.convert("RGB").resize((200, 200)).get_flattened_data())) > 10
    assert ("npz" in files) == DECLARED[name].numbers
    check_table(files["csv"], DECLARED[name].numbers)
    n_lines, head, row = CONTENTS[name]
    lines = files["csv"].read_text("utf-8-sig").splitlines()
    assert lines[0] == head and row in [*lines, ""] and n_lines in (len(lines), None)
    if DECLARED[name].numbers:
        told = {key: value for key, value in TOLD.items() if not every or key not in ("layer", "head")}
        check_archive(files["npz"], told)
    assert files["py"].read_text("utf-8") == LINES + "\n" and ast.parse(LINES)
    button.evaluate(HEARD)
    button.click()
    seen.page.locator('.save-item[data-kind="copy"]').first.click()
    seen.page.locator('.atlas[data-saved="clipboard"]').wait_for()
    assert seen.page.evaluate("heard.includes('Copied')")
    assert seen.page.evaluate("navigator.clipboard.readText()") == LINES
    page = alone(files["html"])
    told = page.locator("header.told").inner_text()
    assert OPENING[True] in told and (every or "layer 1" in told)
    with Image.open(io.BytesIO(page.locator(".atlas").screenshot())) as image:
        assert len(set(image.convert("RGB").get_flattened_data())) > 20
    assert page.locator(".save-item[data-kind=py]").get_attribute("hidden") is None


def answers(page: Any, instrument: Any) -> bool:
    """Whether one of the keys changes the instrument, or moves on in it, where the focus is."""
    before = instrument.evaluate(STATE), page.evaluate(FOCUSED)
    for key in KEYS:
        page.keyboard.press(key)
        page.evaluate(NEXT_FRAME)
        if (instrument.evaluate(STATE), page.evaluate(FOCUSED)) != before:
            return True
    return False


@pytest.mark.quick(1)
@pytest.mark.parametrize("name", DECLARED)
def test_an_instrument_is_for_keyboard_ear_night_and_phone(name: str, visit: Visitor) -> None:
    seen = visit(name, width=390)
    page, instrument = seen.page, seen.page.locator(".atlas").first
    fits_sideways(page, 390)
    wrong = serious(page, "light")
    assert [one for one in wrong if name not in IN_WORDS or "label-content-name-mismatch" not in one] == []
    faint, stops, answered = [], 0, False
    for _ in range(12):
        page.keyboard.press("Tab")
        if page.evaluate(OWN):
            place, has_ring = page.evaluate(FOCUSED)
            faint += [] if has_ring else [place]
            stops += 1
            answered = answered or answers(page, instrument)
    assert stops and answered and faint == []
    by_day = instrument.screenshot()
    page.add_style_tag(content=NIGHT)
    lit(page, "dark")
    assert serious(page, "dark") == []
    assert instrument.screenshot() != by_day
    page = visit(f"{name}&rough", width=390).page
    fits_sideways(page, 390)
    assert page.evaluate("window.owned") is None and page.locator(".atlas img[src=x]").count() == 0
    assert page.locator(".atlas").get_by_role("option", name=NO_NAME).count() == 0
