"""The text of the arithmetic is read back and calculated again: every line is true as it stands on the page."""

from __future__ import annotations

import functools
import math
import re

import numpy as np
import pytest
import torch
from small_models import build

import core
from core import edits
from core.analysis.arithmetic import digits
from core.analysis.arithmetic.cell import attention_row, cell_arithmetic, cell_paths
from core.analysis.arithmetic.lines import FORMS, CellArithmetic, Line
from core.analysis.arithmetic.scores import SCORE_LINES
from core.layers import scores
from core.models.seq2seq import ATTENTIONS

SHIPPED = {
    "translator-en-es": "She has a white car.",
    "gpt-mini": "Once upon a time there was a little girl",
    "induction-tiny": "a b c d a b c",
    "prompt-tiny": "ab",
    "copy-gru-attention": "abcde",
    "speller": "4 7",
}
opened = functools.cache(core.open_model)
CELLS = ((0, 0), (2, 1), (1, 3), (3, 2))
WORDS = {"√": "root", "e^": "exp", "tanh": "tanh", "σ": "sigma"}
KNOWN = {
    "root": math.sqrt,
    "exp": math.exp,
    "tanh": math.tanh,
    "sigma": lambda x: 1 / (1 + math.exp(-x)),
    "abs": abs,
}


def calculate(text: str) -> float:
    """What an expression says, by nothing but its own characters."""
    text = re.sub(r"\|([^|]*)\|", r"abs(\1)", text.replace("∞", "1e999"))
    text = re.sub(r"√(\d[\d.]*)", r"√(\1)", text)
    for sign, word in WORDS.items():
        text = text.replace(sign, word)
    text = text.replace("·", "*").replace("−", "-").replace("²", "**2")
    assert re.fullmatch(r"[\d\s+\-*/().e]*", re.sub(r"root|exp|tanh|sigma|abs", "", text)), text
    return eval(text, {"__builtins__": {}}, KNOWN)


def places(text: str) -> int:
    return len(text.partition(".")[2])


def near(number: float, text: str) -> bool:
    """Whether a number rounds to what is shown (a hair is left for the float that adds it up)."""
    return abs(number - digits.parse_number(text)) <= 0.5 * 10.0 ** -places(text) * (1 + 1e-6) + 1e-12


def check(line: Line):
    for term in line.terms:
        assert near(calculate(line.term_text(term)), term.value), (line.name, term)
    if line.expression:
        assert calculate(line.expression) == digits.parse_number(line.result) or near(
            calculate(line.expression), line.result
        ), (line.name, line.expression, line.result)
    if line.terms and line.result:
        added = digits.exact_sum([term.value for term in line.terms])
        exact = sum(digits.parse_units(term.value) for term in line.terms)
        scale = 10 ** (places(line.terms[0].value) - places(line.result))
        assert digits.parse_units(added) == exact
        assert 2 * abs(exact - digits.parse_units(line.result) * scale) < scale, (
            line.name,
            added,
            line.result,
        )
        assert all(places(term.value) >= places(line.result) + 3 for term in line.terms)
        few = line.leading_terms()
        folded = sum(digits.parse_units(line.terms[i].value) for i in few)
        if len(few) < len(line.terms):
            folded += digits.parse_units(line.remainder(few))
        assert folded == exact, "the folded view adds up as well"
        assert line.selected_index is None or line.selected_index in few
    assert (
        not line.result or line.value == digits.parse_number(line.result) or near(line.value, line.result)
    ), (line.name, line.value, line.result)


def check_all(run: core.Run, found: CellArithmetic):
    for line in found.lines:
        check(line)
        for path in (line.path, *line.reads):
            assert not path or path in run.trace, path
    recorded = run.attention(found.kind).weights[found.layer, found.head, found.query, found.key]
    assert found.weight == recorded
    last = "weighted" if "weighted" in found else "weight"
    assert found[last].value == pytest.approx(recorded, abs=1e-6) or found[last].replacement
    assert found.residue < 2e-4, "the run's own numbers are these"


@pytest.mark.quick(3)
@pytest.mark.parametrize("name", SHIPPED)
def test_every_line_of_a_shipped_model_adds_up(name):
    model = opened(name)
    run = model.run(SHIPPED[name])
    n = 0
    for kind in run.kinds:
        weights = run.attention(kind).weights
        for layer, head in {(0, 0), (weights.shape[0] - 1, weights.shape[1] - 1)}:
            for query, key in CELLS:
                found = cell_arithmetic(
                    run, kind, layer, head, query % weights.shape[2], key % weights.shape[3]
                )
                check_all(run, found)
                n += 1
    assert n >= 4 and any(not run.attention(kind).allowed.all() for kind in run.kinds) == (
        name not in ("copy-gru-attention", "speller")
    )


def test_the_lines_of_a_transformer_are_the_tensors_of_the_run():
    run = opened("translator-en-es").run(SHIPPED["translator-en-es"])
    for kind in ("self", "causal", "cross"):
        found, leaf = cell_arithmetic(run, kind, 1, 3, 3, 2), run.model.spec.kind(kind)
        names = [line.name for line in found.lines]
        assert names == [
            "product",
            "scale",
            "mask",
            "numerator",
            "denominator",
            "weight",
            "value",
            "output",
            "projection",
            "heads",
            "stream",
            "share",
            "stream_share",
        ]
        q, k = (run.trace[leaf.path(1, side)][3] for side in "qk")
        shown = [[digits.parse_number(factor) for factor in term.factors] for term in found["product"].terms]
        assert np.allclose(np.array(shown).T, [q[3], k[2]], atol=1e-5)
        assert found["scale"].value == run.trace[leaf.path(1, "scores")][3, 3, 2]
        assert found["weight"].value == run.trace[leaf.path(1, "pattern")][3, 3, 2]
        shown_value = [digits.parse_number(term.factors[1]) for term in found["value"].terms]
        assert np.allclose(shown_value, run.trace[leaf.path(1, "v")][3, 2], atol=1e-5)
        assert found["output"].value in run.trace[leaf.path(1, "heads")][3, 3]
        assert found["heads"].value in run.trace[leaf.path(1, "out")][3]
        assert found["stream"].value in run.trace[found["stream"].path][3]
        assert found["stream"].path.endswith("resid_cross" if kind == "cross" else "resid_mid")
        other = cell_arithmetic(run, kind, 1, 3, 3, 1)
        assert other["product"].result != found["product"].result


def test_shares_of_all_heads_and_the_bias_make_the_whole():
    model = opened("gpt-mini")
    run = model.run(SHIPPED["gpt-mini"])
    shares = sum(cell_arithmetic(run, "causal", 2, head, 4, 1)["share"].value for head in range(8))
    out, bias = (
        run.trace["layer.2.self_attn.out"][4].astype(float),
        model.network.layers[2].self_attn.to_out.bias.numpy(),
    )
    assert shares + bias @ out / (out @ out) == pytest.approx(1, abs=1e-5)


def test_every_score_function_has_its_lines():
    made = {type(make(4, 4, 3, 5)) for make in scores.SCORES.values()}
    assert made == set(SCORE_LINES)


@pytest.mark.quick(4)
@pytest.mark.parametrize("attention", ATTENTIONS[1:])
@pytest.mark.parametrize("score", scores.SCORES)
def test_recurrent_lines_add_up_and_end_in_the_recorded_score(score, attention):
    model = build("seq2seq", attention=attention, score=score)
    run = model.run("the old cat sat", target="a cat sat on")
    for query, key in ((0, 0), (2, 3), (3, 1)):
        found = cell_arithmetic(run, "alignment", 0, 0, query, key)
        check_all(run, found)
        last = next(line for line in reversed(found.lines) if line.path == "decoder.attn.scores")
        assert last.value == run.trace["decoder.attn.scores"][0, query, key] and not last.replacement
        assert found["mixed"].value in run.trace["decoder.mixed"][query] and not found["mixed"].replacement
        if attention == "luong-local-p":
            assert found["centre"].value == run.trace["decoder.attn.centre"][0, query]
            if "numerator" in found:
                assert found["gaussian"].value == run.trace["decoder.attn.gaussian"][0, query, key]
                assert found["weight"].value == run.trace["decoder.attn.align"][0, query, key]
        assert ("window" in found) == attention.startswith("luong-local")


@pytest.mark.quick(1)
@pytest.mark.parametrize("kind", ["words", "sentences"])
def test_a_learned_query_has_its_lines(kind):
    run = build("han").run("She went. He stayed at home. It rained.")
    attention = run.attention(kind)
    for query, key in zip(*np.nonzero(attention.allowed[0, 0]), strict=True):
        found = cell_arithmetic(run, kind, 0, 0, int(query), int(key))
        names = [line.name for line in found.lines]
        assert names[:5] == ["inner", "key", "product", "mask", "numerator"]
        check_all(run, found)


def test_a_sharp_cosine_says_so():
    model = build("seq2seq", attention="luong-global", score="cosine")
    model.network.decoder.attend.score.sharpness = 3.0
    run = model.run("the old cat", target="a cat")
    found = cell_arithmetic(run, "alignment", 0, 0, 1, 1)
    check_all(run, found)
    assert found["score"].expression.endswith("· 3") and "3" in found["score"].words


@pytest.mark.parametrize(
    ("family", "changes"),
    [
        ("transformer", {"order": "post"}),
        ("transformer", {"order": "pre"}),
        ("gpt", {"order": "post"}),
        ("bert", {}),
        ("albert", {}),
    ],
)
def test_both_orders_of_norm_and_sum(family, changes):
    model = build(family, **changes)
    run = model.run("the old cat sat", target="a cat sat" if family == "transformer" else None)
    for kind in run.kinds:
        for cell in CELLS:
            found = (
                cell_arithmetic(run, kind, 1, 2, *cell)
                if max(cell) < min(run.attention(kind).weights.shape[2:])
                else cell_arithmetic(run, kind, 1, 2, 1, 1)
            )
            check_all(run, found)
            assert not any(line.replacement for line in found.lines)


def test_a_forbidden_cell_and_an_empty_row():
    model = opened("gpt-mini")
    run = model.run(SHIPPED["gpt-mini"])
    found = cell_arithmetic(run, "causal", 0, 0, 1, 3)
    check_all(run, found)
    assert (found["mask"].result, found["weight"].result, "numerator" in found) == ("−∞", "0.0000", False)
    assert len(found["denominator"].terms) == 2, "only what may be looked at is added"
    empty = model.run(SHIPPED["gpt-mini"], edits=[edits.Forbid("layer.0.self_attn.allowed", query=1)])
    nothing = cell_arithmetic(empty, "causal", 0, 0, 1, 0)
    check_all(empty, nothing)
    assert nothing["weight"].result == "0.0000"
    assert "Every key of this row is masked" in nothing["weight"].words
    assert "denominator" not in nothing


@pytest.mark.parametrize(
    ("edit", "name"),
    [
        (edits.Scale("layer.0.self_attn.scores", 2.0), "scale"),
        (edits.ZeroHead("layer.0.self_attn.heads", head=1), "output"),
        (edits.SetPattern("layer.0.self_attn.pattern", query=4, weights=(1.0,) + 9 * (0.0,)), "weight"),
        (edits.AddVector("layer.0.resid_mid", [1.0] * 256), "stream"),
        (edits.Scale("layer.0.self_attn.out", 0.5), "heads"),
    ],
)
def test_an_edit_shows_where_the_run_went_another_way(edit, name):
    run = opened("gpt-mini").run(SHIPPED["gpt-mini"], edits=[edit])
    found = cell_arithmetic(run, "causal", 0, 1, 4, 2)
    for line in found.lines:
        check(line)
    assert [line.name for line in found.lines if line.replacement] == [name]
    assert digits.parse_number(found[name].replacement) != digits.parse_number(found[name].result)


@pytest.mark.slow
def test_what_is_needed_is_enough_and_no_more():
    for name, text in SHIPPED.items():
        model = opened(name)
        for kind in (k.name for k in model.spec.kinds_of(model.config)):
            keep = (
                cell_paths(model.run(text), kind, 0)
                if name != "gpt-mini"
                else cell_paths(model.run(text, keep=["*.pattern"]), kind, 0)
            )
            run = model.run(text, keep=keep)
            found = cell_arithmetic(run, kind, 0, 0, 1, 0)
            assert {path for line in found.lines for path in (line.path, *line.reads) if path} <= set(keep)
            assert attention_row(run, kind, 0, 0, 1).weights[0] == pytest.approx(found.weight, abs=1e-6)


def test_a_cell_that_is_not_there():
    run = opened("induction-tiny").run("a b c")
    with pytest.raises(core.InputError, match="There is no key 9 in causal. It has 3"):
        cell_arithmetic(run, "causal", 0, 0, 0, 9)
    with pytest.raises(KeyError, match="There is no line 'nonsense'; there are product"):
        cell_arithmetic(run, "causal", 0, 0, 0, 0)["nonsense"]


def test_an_element_can_be_followed():
    run = opened("gpt-mini").run(SHIPPED["gpt-mini"])
    found = cell_arithmetic(run, "causal", 0, 0, 4, 2, element=7)
    check_all(run, found)
    assert found["output"].value == run.trace["layer.0.self_attn.heads"][0, 4, 7]


def test_a_number_that_is_none_is_said_and_never_a_zero():
    stopped = edits.Patch(
        "layer.0.self_attn.out", torch.zeros(())
    )  # nothing of it reaches what the model computes
    run = opened("gpt-mini").run(
        SHIPPED["gpt-mini"], edits=[edits.Scale("layer.0.self_attn.q", float("nan")), stopped]
    )
    found = cell_arithmetic(run, "causal", 0, 0, 4, 2)
    assert found["product"].result == found["scale"].result == digits.NOT_A_NUMBER
    assert found["product"].terms[0].value == digits.NOT_A_NUMBER
    for line in found.lines:
        line.remainder(line.leading_terms())


def test_rounding_between_two_is_settled_by_a_digit():
    """A sum that lies on the edge between two shown results: the figures still agree."""
    draw = np.random.default_rng(0)
    for i in range(300):
        column = draw.normal(size=32)
        column[-1] += round(float(column.sum()), 3) + 0.0005 - column.sum() + draw.normal() * 1e-8 * (i % 3)
        noise = float(column.sum()) + draw.normal() * 1e-7
        told = digits.round_sum([column], FORMS["{}"], noise)
        scale = 10 ** (places(told.terms[0]) - places(told.result))
        assert (
            2 * abs(sum(map(digits.parse_units, told.terms)) - digits.parse_units(told.result) * scale)
            < scale
        )
