"""The arithmetic and the source in a real browser: what the page shows is read there, calculated again and compared."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pytest
from sampling import sampled
from settling import press
from shown_values import states
from small_app import Visit, saved

from core.analysis.arithmetic import digits

APP = """
import functools
import streamlit as st
import core
from core import edits
from core.analysis.arithmetic.cell import cell_arithmetic
from core.analysis.arithmetic.source import source_lines, tensor_card
from viz.instruments import arithmetic, source

@st.cache_resource
def opened(name):
    return core.open_model(name)

@st.cache_data(hash_funcs={tuple: repr})
def cell(name, kind):
    return {"translator-en-es": ("She has a white car.", 2, 5, 4, 3), "gpt-mini": ("Once upon a time there was a little girl who lived", 2, 1, 7, 3),
            "induction-tiny": ("a b c d a b c", 1, 0, 5, 2), "prompt-tiny": ("abcab", 1, 1, 3, 1), "copy-gru-attention": ("abcdefgh", 0, 0, 2, 3)}[name]

ask = st.query_params
st.set_page_config(layout="wide")
name, kind, show = ask.get("model", "gpt-mini"), ask.get("kind", "causal"), ask.get("show", "both")
text, layer, head, query, key = cell(name, kind)
model = opened(name)
found = model.spec.kind(kind)
chosen = (edits.ZeroHead(found.path(layer, "heads"), head=head),) if ask.get("edit") else ()
run = model.run(text, edits=chosen)
if ask.get("key"):
    key = int(ask["key"])
st.title("Arithmetic")
path = None
if show in ("both", "lines"):
    path = arithmetic(cell_arithmetic(run, kind, layer, head, query, key), key="a").path
    st.text(f"tensor {path}")
if show in ("both", "source"):
    lines = source_lines(run, kind, layer, chosen)
    slot = st.session_state.get("shown")
    got = source(lines, key="s", selected=path, card=tensor_card(run, slot) if slot else None, height=460)
    if got.path != slot:
        st.session_state.shown = got.path
        st.rerun()
    st.text(f"line {got.path}")
"""
MODELS = [
    ("gpt-mini", "causal"),
    ("translator-en-es", "cross"),
    ("copy-gru-attention", "alignment"),
    ("translator-en-es", "self"),
    ("translator-en-es", "causal"),
    ("induction-tiny", "causal"),
    ("prompt-tiny", "causal"),
]
ATTENTION = (Path(__file__).parents[2] / "core/layers/attention.py").read_text("utf-8").splitlines()
READ = """(root) => [...root.querySelectorAll('.step')].map((step) => ({
  name: step.dataset.name, title: step.querySelector('h5').innerText, put: step.querySelector('.put')?.innerText ?? '',
  math: step.querySelector('.math')?.innerText ?? '', cites: step.querySelector('.cites').innerText,
  sum: step.querySelector('.total .value')?.innerText ?? '', rest: step.querySelector('.more .rest')?.innerText ?? '',
  rows: [...step.querySelectorAll('tbody tr:not(.more)')].map((row) => ({ label: row.querySelector('th').innerText,
    factors: [...row.querySelectorAll('.factor')].map((cell) => cell.innerText), value: row.querySelector('.value').innerText })),
}))"""


class Seen(Visit):
    tall = 900


@pytest.fixture
def visit(visit: Any) -> Any:
    """Opens the page; what it sent is `page.sent`."""

    def open_page(query: str, **more: Any) -> Any:
        seen = visit(query, **more)
        seen.page.wait_for_selector(".arith .step, .source .line", state="attached")
        seen.page.sent = seen.sent
        return seen.page

    return open_page


KNOWN = {
    "root": math.sqrt,
    "exp": math.exp,
    "tanh": math.tanh,
    "sigma": lambda x: 1 / (1 + math.exp(-x)),
    "abs": abs,
}


def calculate(text: str) -> float:
    """What an expression on the page says, by its own characters."""
    text = re.sub(r"√(\d[\d.]*)", r"√(\1)", text.replace("∞", "1e999"))
    for sign, word in {"√": "root", "e^": "exp", "σ": "sigma", "·": "*", "−": "-", "²": "**2"}.items():
        text = text.replace(sign, word)
    assert re.fullmatch(r"[\d\s+\-*/().e]*", re.sub(r"root|exp|tanh|sigma", "", text)), text
    return eval(text, {"__builtins__": {}}, KNOWN)


def places(text: str) -> int:
    return len(text.partition(".")[2])


def near(number: float, text: str) -> bool:
    return (
        number == digits.parse_number(text)
        or abs(number - digits.parse_number(text)) <= 0.5 * 10.0 ** -places(text) * (1 + 1e-6) + 1e-12
    )


def check(steps: list[dict[str, Any]]) -> int:
    """Every line on the page, calculated from its own text; returns how many sums there were."""
    sums = 0
    for step in steps:
        assert step["cites"] and step["math"], step["name"]
        if step["put"]:
            left, right = step["put"].split(" = ")
            assert near(calculate(left), right.strip()), step["put"]
        for row in step["rows"]:
            if row["factors"]:
                assert near(calculate("".join(row["factors"])), row["value"]), row
        if step["sum"]:
            shown = [row["value"] for row in step["rows"]] + ([step["rest"]] if step["rest"] else [])
            decimals = {places(text) for text in shown}
            assert len(decimals) == 1 and decimals.pop() >= places(step["sum"]) + 3
            scale = 10 ** (places(shown[0]) - places(step["sum"]))
            assert (
                2 * abs(sum(map(digits.parse_units, shown)) - digits.parse_units(step["sum"]) * scale) < scale
            ), step
            sums += 1
    return sums


def says(page: Any, text: str) -> None:
    page.get_by_text(text, exact=True).wait_for()


@pytest.mark.slow
@pytest.mark.parametrize(("model", "kind"), sampled(MODELS))
def test_the_text_of_the_page_adds_up_folded_and_open(visit: Any, model: str, kind: str) -> None:
    page = visit(f"lines&model={model}&kind={kind}")
    folded = page.locator(".arith").evaluate(READ)
    assert check(folded) >= 4
    assert any(step["rest"] for step in folded)
    before = len(page.sent)
    page.get_by_role("button", name="All terms").click()
    opened = page.locator(".arith").evaluate(READ)
    assert check(opened) >= 4
    assert not any(step["rest"] for step in opened) and len(page.sent) == before, "opening asks nobody"
    for short, long in zip(folded, opened, strict=True):
        assert (short["sum"], short["put"]) == (long["sum"], long["put"]) and len(short["rows"]) <= len(
            long["rows"]
        )
    labels = [row["label"] for row in next(step for step in opened if step["name"] == "product")["rows"]]
    assert labels == [str(i) for i in range(len(labels))], "open, the terms stand in their own order"


def test_bars_have_sides_a_long_vector_opens_by_keyboard_and_is_saved_and_a_line_of_the_file_shows_its_tensor(
    visit: Any, tmp_path: Path
) -> None:
    page = visit("both")
    weight = float(page.locator(".arith").get_attribute("data-weight"))
    assert page.locator(".arith .title").inner_text() == f"How is {round(weight * 100)}% computed?"
    sides = page.locator(
        ".arith"
    ).evaluate("""(root) => [...root.querySelectorAll('.step[data-name="product"] tbody tr:not(.more)')].map((row) => {
        const bar = row.querySelector('.bar').getBoundingClientRect(), cell = row.querySelector('.value').getBoundingClientRect();
        return [row.querySelector('.value').innerText, bar.left + bar.width / 2 < cell.left + cell.width / 2, getComputedStyle(row.querySelector('.bar')).backgroundColor, bar.width]; })""")
    assert {value.startswith("−") for value, *_ in sides} == {True, False}
    assert all(value.startswith("−") == left for value, left, *_ in sides), "below zero to the left"
    assert len({(left, colour) for _, left, colour, _ in sides}) == 2, "a side has its colour"
    assert [width for *_, width in sides] == sorted((width for *_, width in sides), reverse=True)
    text = saved(page, "csv", tmp_path, ".arith").read_text("utf-8-sig")
    shown = next(step for step in page.locator(".arith").evaluate(READ) if step["name"] == "scale")
    assert (
        shown["put"].split(" = ")[0] in text
        and len([row for row in text.splitlines() if row.startswith("product")]) == 33
    )
    more = page.locator('.step[data-name="product"] .more button')
    assert more.inner_text() == "and 26 more: sum" and more.get_attribute("aria-expanded") == "false"
    more.focus()
    page.keyboard.press("Enter")
    assert page.locator('.step[data-name="product"] tbody tr').count() == 33
    assert page.locator(".arith").get_attribute("data-open") == "product"
    focused = "(root) => root.getRootNode().activeElement.getAttribute('aria-expanded')"
    assert page.locator(".arith").evaluate(focused) == "true"
    page.keyboard.press("Enter")
    assert (
        page.locator(".arith").get_attribute("data-open") == ""
        and page.locator(".arith").evaluate(focused) == "false"
    )
    says(page, "line None")
    rows = page.locator(".source").evaluate(
        "(root) => [...root.querySelectorAll('.line')].map((line) => [Number(line.dataset.number), line.querySelector('.text').textContent])"
    )
    assert len(rows) > 10 and all(ATTENTION[number - 1] == text for number, text in rows)
    page.locator(".source .tapped", has_text='tap("pattern"').click()
    says(page, "line layer.2.self_attn.pattern")
    page.locator(".source .card dd").first.wait_for()
    card = page.locator(".source .card").inner_text()
    assert (
        "layer.2.self_attn.pattern" in card
        and "head 8 × query" in card
        and "largest" in card
        and "1.000" in card
    )
    assert page.locator(".source").get_attribute("data-path") == "layer.2.self_attn.pattern"


@pytest.mark.slow
def test_an_edited_tensor_is_said(visit: Any) -> None:
    page = visit("both&edit=1")
    (used,) = page.locator(".arith .used").all_inner_texts()
    assert states(used, "edit", "0.0000")
    assert page.locator('.step[data-name="output"] .used').count() == 1
    assert page.locator(".source .badge").count() == 1
    number, line = page.locator(".source .edited .row").inner_text().split("\n")[:2]
    assert line == ATTENTION[int(number) - 1] and 'tap("heads"' in line
    assert "ZeroHead" in page.locator(".source .edited .row").get_attribute("aria-label")


@pytest.mark.slow
def test_a_tensor_and_a_line_of_code_find_each_other(visit: Any) -> None:
    page = visit("both")
    says(page, "tensor None")
    page.locator('.step[data-name="scale"] .path').click()
    says(page, "tensor layer.2.self_attn.scores")
    says(page, "line layer.2.self_attn.scores")
    chosen = page.locator('.source .tapped[aria-pressed="true"]')
    assert chosen.count() == 1 and 'tap("scores"' in chosen.inner_text()
    assert re.fullmatch(r"head 8 × query (\d+) × key \1", page.locator(".source .card .shape").inner_text())


@pytest.mark.slow
def test_the_source_is_walked_by_keyboard(visit: Any) -> None:
    page = visit("source&model=copy-gru-attention&kind=alignment")
    taps = str(page.locator(".source").get_attribute("data-taps")).split()
    assert taps == [
        f"decoder.attn.{leaf}" for leaf in ("k", "v", "allowed", "pattern", "q", "scores", "heads", "context")
    ]
    assert page.locator(".source .tapped[tabindex='0']").count() == 1, "one stop for the Tab key"
    page.locator(".source .tapped").first.focus()
    press(page, "ArrowDown", "ArrowDown", "ArrowDown", "End", "ArrowUp", "ArrowUp")
    page.keyboard.press("Enter")
    says(page, "line decoder.attn.scores")
    files = page.locator(".source .file").all_inner_texts()
    assert files == [
        "core/layers/recurrent/alignment.py",
        "core/layers/scores.py",
        "core/layers/attention.py",
    ]
