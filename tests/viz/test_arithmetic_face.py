"""What the two instruments send: every figure as text, long vectors whole, code as pieces; sources that exist."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from streamlit.testing.v1 import AppTest

import core
from core import edits
from core.layers import scores
from core.lessons import digits
from core.lessons.arithmetic import lines_of
from core.lessons.source import source_of, tensor_card
from core.models import families
from viz.instruments import mount
from viz.instruments.arithmetic import ARITHMETIC, arithmetic_packet, cited
from viz.instruments.payload import Packet
from viz.instruments.picture import Picture
from viz.instruments.source import SOURCE, source_packet
from viz.sources import SOURCES

FOLDER = Path(mount.__file__).parent
CELL = (2, 1, 7, 3)


@pytest.fixture(scope="module")
def run() -> core.Run:
    return core.open_model("gpt-mini").run("Once upon a time there was a little girl who lived")


def part(packet: Packet, name: str) -> Any:
    return json.loads(packet.parts[packet.header[name]])


def test_every_term_travels_and_few_are_shown_first(run: core.Run) -> None:
    lines = lines_of(run, "causal", *CELL)
    told = {line["name"]: line for line in part(arithmetic_packet(lines), "lines")}
    assert list(told) == [line.name for line in lines.lines]
    product = told["product"]
    assert len(product["terms"]) == 32 and len(product["few"]) == 6 and product["axis"] == "no."
    shown = [product["terms"][i][2] for i in product["few"]] + [product["rest"]]
    assert digits.total(shown) == digits.total([value for *_, value in product["terms"]])
    assert all("".join(cells) == lines["product"].written(term) for (_, cells, _), term in zip(product["terms"], lines["product"].terms, strict=True))


def test_words_are_made_visible_and_never_longer_than_their_place(run: core.Run) -> None:
    lines = lines_of(run, "causal", *CELL)
    packet = arithmetic_packet(lines)
    assert packet.header["key"] == "·" + run.tokens[CELL[3]].strip() and not any(term[0].startswith(" ") for term in next(line for line in part(packet, "lines") if line["name"] == "denominator")["terms"])
    assert arithmetic_packet(lines, words=("a\nb", "")).header["query"] == "a↵b"


def test_the_same_cell_is_sent_once(run: core.Run) -> None:
    one, two = (arithmetic_packet(lines_of(run, "causal", *CELL)) for _ in range(2))
    other = arithmetic_packet(lines_of(run, "causal", *CELL[:3], 4))
    assert one.header["lines"] == two.header["lines"] != other.header["lines"] and one.header["cites"] == other.header["cites"]
    assert len(one.to_bytes(known=two.parts)) < 1200


def cites_of(**changes: object) -> set[tuple[str, str, str]]:
    family = families()["seq2seq"]
    torch.manual_seed(0)
    config = replace(family.config.tiny(), n_vocab=len(core.open_model("copy-gru-attention").tokenizer), n_ctx=41, **changes)
    model = core.Model("tiny", family, config, family.network(config), core.open_model("copy-gru-attention").tokenizer)
    return {cite for line in lines_of(model.run("abc", target="abc"), "alignment", 0, 0, 1, 1).lines for cite in line.cites}


def test_every_equation_is_in_a_document_that_the_atlas_cites(run: core.Run) -> None:
    found = {cite for line in lines_of(run, "causal", *CELL).lines for cite in line.cites}
    for attention in ("bahdanau", "luong-global", "luong-local-m", "luong-local-p"):
        for score in scores.SCORES:
            found |= cites_of(attention=attention, score=score)
    assert {document for document, *_ in found} <= set(SOURCES)
    for cite in found:
        brief, whole = cited(cite)
        assert brief and whole.startswith(SOURCES[cite[0]].short)
    equations = {item for document, _, item in found if document == "ghojogh2020"}
    assert equations >= {f"Eq. ({n})" for n in (3, 5, 6, 8, 9, 10, 11, 12, 22, 23)} | {"Eqs. (28), (29)"}
    for line in lines_of(run, "causal", *CELL).lines:
        assert any(SOURCES[document].teaching for document, *_ in line.cites), f"{line.name}: a document that teaches it"


def test_source_lines_come_in_pieces_with_their_tensors(run: core.Run) -> None:
    change = edits.ZeroHead("layer.2.self_attn.heads", head=1)
    lines = source_of(run, "causal", 2, [change])
    packet = source_packet(lines, selected="layer.2.self_attn.scores", card=tensor_card(run, "layer.2.self_attn.scores"))
    told = part(packet, "lines")
    assert packet.header["paths"] == [f"layer.2.self_attn.{leaf}" for leaf in ("q", "k", "v", "scores", "allowed", "pattern", "heads", "out")]
    assert packet.header["selected"] == 3
    assert ["".join(text for _, text in line["spans"]) for line in told] == [line.text for line in lines]
    made = next(line for line in told if line["leaf"] == "scores")
    assert made["axes"] == [["head", 8], ["query", len(run.tokens)], ["key", len(run.tokens)]]
    assert [line["edits"] for line in told if line["edits"]] == [[repr(change)]]
    card = packet.header["card"]
    value = run.trace["layer.2.self_attn.scores"]
    assert digits.read(dict(card["numbers"])["largest"]) == pytest.approx(float(value.max()), rel=1e-3) and len(card["first"]) == 8
    own = part(source_packet(lines, edits={"layer.2.self_attn.q": ["by hand"]}), "lines")
    assert [line["edits"] for line in own if line["edits"]] == [["by hand"]]


def test_a_mask_is_told_as_a_mask(run: core.Run) -> None:
    path = "layer.2.self_attn.allowed"
    card = source_packet(source_of(run, "causal", 2), card=tensor_card(run, path)).header["card"]
    assert [name for name, _ in card["numbers"]] == ["share of True"] and set(card["first"]) <= {"True", "False"}


def test_both_stand_alone_in_a_notebook(run: core.Run) -> None:
    for picture in (Picture(ARITHMETIC, arithmetic_packet(lines_of(run, "causal", *CELL))), Picture(SOURCE, source_packet(source_of(run, "causal", 2)))):
        page = picture.html()
        assert not re.search(r"(src|href|url)\s*[=(]\s*[\"']?https?://", page) and len(page) < 250_000


SCRIPT = """
import core, streamlit as st
from core.lessons.arithmetic import lines_of
from core.lessons.source import source_of
from viz.instruments import arithmetic, source
run = core.open_model("gpt-mini").run("Once upon a time there was a little girl who lived")
a = arithmetic(lines_of(run, "causal", 2, 1, 7, 3), key="a", selected="layer.2.self_attn.pattern")
s = source(source_of(run, "causal", 2), key="s", selected=a.path)
st.text(f"{a.path} {s.path}")
n = arithmetic(lines_of(run, "causal", 2, 1, 7, 3), key="b", selected="nonsense")
st.text(f"{n.path}")
"""


def test_the_faces_hand_the_choice_on() -> None:
    at = AppTest.from_string(SCRIPT).run(timeout=60)
    assert not at.exception
    assert [text.value for text in at.text] == ["layer.2.self_attn.pattern layer.2.self_attn.pattern", "None"]


def test_the_instruments_need_no_model() -> None:
    code = "import sys, viz.instruments; print(sorted({'torch', 'core'} & set(sys.modules)))"
    out = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, cwd=FOLDER.parents[1], check=True)
    assert out.stdout.strip() == "[]"
