"""What the two instruments send: every figure as text, long vectors whole, code as pieces; sources that exist."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import torch
from streamlit.testing.v1 import AppTest

import core
from core import edits
from core.analysis.arithmetic import digits
from core.analysis.arithmetic.cell import cell_arithmetic
from core.analysis.arithmetic.lines import CellArithmetic
from core.analysis.arithmetic.source import source_lines, tensor_card
from core.layers import scores
from core.models import families
from viz.instruments.arithmetic.arithmetic import arithmetic_packet, source_names
from viz.instruments.kit.payload import Packet
from viz.instruments.source.source import source_packet
from viz.labels import visible
from viz.sources import SOURCES

CELL = (2, 1, 7, 3)


@pytest.fixture(scope="module")
def run() -> core.Run:
    return core.open_model("gpt-mini").run("Once upon a time there was a little girl who lived")


def part(packet: Packet, name: str) -> Any:
    return json.loads(packet.parts[packet.header[name]])


def numbers(data: bytes) -> Iterator[int]:
    """What figures.py packs, read back one by one as figures.js does."""
    value = shift = 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if not byte & 128:
            yield -(value + 1) // 2 if value % 2 else value // 2
            value = shift = 0


def arrived(packet: Packet) -> dict[str, dict[str, Any]]:
    """The lines as the browser has them, by name: sentences with their numbers, `terms` of (name, factors, value)."""
    fill, labels, found = iter(packet.header["numbers"]), part(packet, "labels"), {}
    rest = {
        shared: numbers(packet.parts[packet.header[name]])
        for name, shared in (("row", True), ("pair", False))
    }
    for said, told in zip(part(packet, "lines"), packet.header["told"], strict=True):
        line = {"few": None, "rest": "", "put": "", "result": "", **said, **told}
        for name in ("title", "words", "equation", "path"):
            line[name] = re.sub("#", lambda _: next(fill), said[name])
        line["columns"] = [re.sub("#", lambda _: next(fill), column) for column in said["columns"]]
        if said["shared"] is not None:
            take = rest[said["shared"]]
            decimals, columns = next(take), []
            for _ in range(next(take)):
                twice = next(take)
                units = [next(take)] * (twice // 2) if twice % 2 else [next(take) for _ in range(twice // 2)]
                columns.append([digits.format_units(unit, decimals) for unit in units])
            at = [next(take) for _ in range(next(take))] or range(len(columns[-1]))
            for column, place, text in told.get("odd", ()):
                columns[column][place] = text
            names = [str(i) if said["labels"] is None else labels[said["labels"]][i] for i in at]
            line["terms"] = list(zip(names, zip(*columns[:-1], strict=True), columns[-1], strict=True))
        found[said["name"]] = line
    assert next(fill, None) is None and not any(list(left) for left in rest.values()), "nothing is left over"
    return found


def same(packet: Packet, lines: CellArithmetic) -> None:
    """Every text of the lines has arrived, letter by letter."""
    told = arrived(packet)
    assert list(told) == [line.name for line in lines.lines]
    for line in lines.lines:
        mine, few = told[line.name], line.leading_terms()
        for name in ("title", "words", "equation", "path", "result"):
            assert mine[name] == getattr(line, name), (line.name, name)
        assert (
            mine["put"] == line.expression
            and tuple(mine["columns"]) == line.columns
            and mine.get("used", "") == line.replacement
            and mine.get("chosen") == line.selected_index
        )
        shown = [
            (visible(term.label) if line.axis == "key" else term.label, term.factors, term.value)
            for term in line.terms
        ]
        assert mine.get("terms", []) == shown
        folded = len(few) < len(line.terms)
        assert mine["few"] == (list(few) if folded else None) and mine["rest"] == (
            line.remainder(few) if folded and line.result else ""
        )


def test_every_term_travels_and_few_are_shown_first(run: core.Run) -> None:
    lines = cell_arithmetic(run, "causal", *CELL)
    packet = sent(arithmetic_packet(lines))
    same(packet, lines)
    product = arrived(packet)["product"]
    assert len(product["terms"]) == 32 and len(product["few"]) == 6 and product["axis"] == "no."
    shown = [product["terms"][i][2] for i in product["few"]] + [product["rest"]]
    assert digits.exact_sum(shown) == digits.exact_sum([value for *_, value in product["terms"]])


def sent(packet: Packet) -> Packet:
    """The packet after its header went through JSON."""
    return Packet(json.loads(json.dumps(packet.header)), packet.parts)


@pytest.mark.quick(2)
@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("translator-en-es", ("self", "causal", "cross")),
        ("gpt-mini", ("causal",)),
        ("induction-tiny", ("causal",)),
        ("prompt-tiny", ("causal",)),
        ("copy-gru-attention", ("alignment",)),
    ],
)
def test_every_text_of_every_model_arrives_letter_by_letter(name: str, kinds: tuple[str, ...]) -> None:
    run = core.open_model(name).run(
        "ab" if name == "prompt-tiny" else "abc" if name.startswith("copy") else "a b c d a b"
    )
    for kind in kinds:
        weights = run.attention(kind).weights
        for query, key in ((0, 0), (weights.shape[2] - 1, 1), (1, weights.shape[3] - 1)):
            lines = cell_arithmetic(run, kind, weights.shape[0] - 1, 0, query, key)
            same(sent(arithmetic_packet(lines)), lines)


@pytest.mark.quick(3)
@pytest.mark.parametrize(
    "edit",
    [
        edits.Scale("layer.2.self_attn.q", float("nan")),
        edits.Scale("layer.2.self_attn.q", float("inf")),
        edits.Scale("layer.2.self_attn.v", 1e13),
        edits.Scale("layer.2.self_attn.v", 1e-20),
        edits.Forbid("layer.2.self_attn.allowed", query=7),
        edits.Forbid("layer.2.self_attn.allowed", key=2),
        edits.ZeroHead("layer.2.self_attn.heads", head=1),
    ],
    ids=repr,
)
def test_odd_numbers_and_edits_arrive_letter_by_letter(edit: core.trace.Edit) -> None:
    stopped = edits.Patch(
        "layer.2.self_attn.out", torch.zeros(())
    )  # numbers that are not finite reach nothing that the model computes
    run = core.open_model("gpt-mini").run(
        "Once upon a time there was a little girl who lived", edits=[edit, stopped]
    )
    for key in (3, 2):
        lines = cell_arithmetic(run, "causal", *CELL[:3], key)
        same(sent(arithmetic_packet(lines)), lines)


def test_words_are_made_visible_and_never_longer_than_their_place(run: core.Run) -> None:
    lines = cell_arithmetic(run, "causal", *CELL)
    packet = arithmetic_packet(lines)
    assert packet.header["key"] == "·" + run.tokens[CELL[3]].strip() and not any(
        name.startswith(" ") for name, *_ in arrived(packet)["denominator"]["terms"]
    )
    assert arithmetic_packet(lines, words=("a\nb", "")).header["query"] == "a↵b"


def test_what_cells_have_in_common_is_sent_once(run: core.Run) -> None:
    one, two = (arithmetic_packet(cell_arithmetic(run, "causal", *CELL)) for _ in range(2))
    key = arithmetic_packet(cell_arithmetic(run, "causal", *CELL[:3], 4))
    head = arithmetic_packet(cell_arithmetic(run, "causal", 3, 4, *CELL[2:]))
    parts = ("lines", "labels", "row", "pair")
    assert [[one.header[name] == other.header[name] for name in parts] for other in (two, key, head)] == [
        [True] * 4,
        [True] * 3 + [False],
        [True] * 2 + [False] * 2,
    ]
    assert len(one.to_bytes(cached=two.parts)) < 1700
    for packet, cell in ((key, (*CELL[:3], 4)), (head, (3, 4, *CELL[2:]))):
        same(sent(packet), cell_arithmetic(run, "causal", *cell))


def test_the_code_is_sent_once_for_all_layers(run: core.Run) -> None:
    one, two = (source_packet(source_lines(run, "causal", layer)) for layer in (2, 3))
    assert one.header["lines"] == two.header["lines"] and one.header["scope"] != two.header["scope"]
    assert len(two.to_bytes(cached=one.parts)) < 500


def cites_of(**changes: object) -> set[tuple[str, str, str]]:
    family = families()["seq2seq"]
    torch.manual_seed(0)
    config = replace(
        family.config.tiny(),
        n_vocab=len(core.open_model("copy-gru-attention").tokenizer),
        n_ctx=41,
        **changes,
    )
    model = core.Model(
        "tiny", family, config, family.network(config), core.open_model("copy-gru-attention").tokenizer
    )
    return {
        cite
        for line in cell_arithmetic(model.run("abc", target="abc"), "alignment", 0, 0, 1, 1).lines
        for cite in line.cites
    }


@pytest.mark.slow
def test_every_equation_is_in_a_document_that_the_atlas_cites(run: core.Run) -> None:
    found = {cite for line in cell_arithmetic(run, "causal", *CELL).lines for cite in line.cites}
    for attention in ("bahdanau", "luong-global", "luong-local-m", "luong-local-p"):
        for score in scores.SCORES:
            found |= cites_of(attention=attention, score=score)
    assert {document for document, *_ in found} <= set(SOURCES)
    for cite in found:
        brief, whole = source_names(cite)
        assert brief and whole.startswith(SOURCES[cite[0]].short)
    equations = {item for document, _, item in found if document == "ghojogh2020"}
    assert equations >= {f"Eq. ({n})" for n in (3, 5, 6, 8, 9, 10, 11, 12, 22, 23)} | {"Eqs. (28), (29)"}
    for line in cell_arithmetic(run, "causal", *CELL).lines:
        assert any(SOURCES[document].teaching for document, *_ in line.cites), (
            f"{line.name}: a document that teaches it"
        )


def test_source_lines_come_in_pieces_with_their_tensors(run: core.Run) -> None:
    change = edits.ZeroHead("layer.2.self_attn.heads", head=1)
    lines = source_lines(run, "causal", 2, [change])
    packet = source_packet(
        lines, selected="layer.2.self_attn.scores", card=tensor_card(run, "layer.2.self_attn.scores")
    )
    told = part(packet, "lines")
    leaves = ["q", "k", "v", "heads", "out", "scores", "allowed", "pattern"]
    assert [line["path"] for line in told if line["path"]] == leaves and packet.header[
        "scope"
    ] == "layer.2.self_attn."
    assert packet.header["selected"] == "layer.2.self_attn.scores"
    assert ["".join(text for _, text in line["spans"]) for line in told] == [line.text for line in lines]
    made = next(line for line in told if line["leaf"] == "scores")
    assert made["axes"] == ["head", "query", "key"]
    assert [packet.header["sizes"][axis] for axis in made["axes"]] == [8, len(run.tokens), len(run.tokens)]
    assert {told[i]["leaf"]: list(words) for i, words in packet.header["edits"].items()} == {
        "heads": [repr(change)]
    }
    card = part(packet, "card")
    value = run.trace["layer.2.self_attn.scores"]
    assert (
        digits.parse_number(dict(card["numbers"])["largest"]) == pytest.approx(float(value.max()), rel=1e-3)
        and len(card["first"]) == 8
    )
    own = source_packet(lines, edits={"layer.2.self_attn.q": ["by hand"]}).header["edits"]
    assert {told[i]["leaf"]: list(words) for i, words in own.items()} == {"q": ["by hand"]}


def test_a_mask_is_told_as_a_mask(run: core.Run) -> None:
    path = "layer.2.self_attn.allowed"
    card = part(source_packet(source_lines(run, "causal", 2), card=tensor_card(run, path)), "card")
    assert [name for name, _ in card["numbers"]] == ["share of True"] and set(card["first"]) <= {
        "True",
        "False",
    }


SCRIPT = """
import core, streamlit as st
from core.analysis.arithmetic.cell import cell_arithmetic
from core.analysis.arithmetic.lines import CellArithmetic
from core.analysis.arithmetic.source import source_lines
from viz.instruments import arithmetic, source
run = core.open_model("gpt-mini").run("Once upon a time there was a little girl who lived")
a = arithmetic(cell_arithmetic(run, "causal", 2, 1, 7, 3), key="a", selected="layer.2.self_attn.pattern")
s = source(source_lines(run, "causal", 2), key="s", selected=a.path)
st.text(f"{a.path} {s.path}")
n = arithmetic(cell_arithmetic(run, "causal", 2, 1, 7, 3), key="b", selected="nonsense")
st.text(f"{n.path}")
"""


def test_the_faces_hand_the_choice_on() -> None:
    at = AppTest.from_string(SCRIPT).run(timeout=60)
    assert not at.exception
    assert [text.value for text in at.text] == ["layer.2.self_attn.pattern layer.2.self_attn.pattern", "None"]
