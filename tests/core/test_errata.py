"""The errata: each entry computes its evidence, its figures are those of the course, and no figure is typed."""

from __future__ import annotations

import ast
import math
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from viz.course import errata
from viz.course.errata import ERRATA, KINDS, Evidence

IDS = [f"E{number}" for number in range(1, 58)]


@pytest.fixture(scope="module")
def evidence() -> dict[str, Evidence]:
    """Computed as on a server: in inference mode."""
    with torch.inference_mode():
        return {entry.id: entry.evidence() for entry in ERRATA}


def test_all_57_are_there_in_order():
    """C112."""
    assert [entry.id for entry in ERRATA] == IDS
    assert all(entry.kind in KINDS and entry.where for entry in ERRATA)
    assert len({entry.title for entry in ERRATA}) == len({id(entry.evidence) for entry in ERRATA}) == len(IDS)


@pytest.mark.quick(6)
@pytest.mark.parametrize("entry", ERRATA, ids=lambda entry: entry.id)
def test_evidence_is_computed_and_told(entry, evidence):
    """C112."""
    found = evidence[entry.id]
    assert found.sentence.endswith((".", "”.")) and len(found.sentence) < 700
    assert all(isinstance(value, float) and math.isfinite(value) for value in found.numbers.values())
    assert bool(found.numbers) or not found.computed
    for panel in found.panels:
        assert panel.values.shape == (len(panel.rows), len(panel.columns)) and panel.title
        if panel.form == "weights":
            here = panel.values[np.isfinite(panel.values)]
            assert here.min() >= 0 and here.max() <= 1 + 1e-9
    again = entry.evidence()
    assert again.sentence == found.sentence and again.numbers == found.numbers


def test_few_entries_are_only_looked_up(evidence):
    assert {id for id, found in evidence.items() if not found.computed} == {
        "E38",
        "E40",
        "E41",
        "E50",
        "E57",
    }, "and the page says so of each"


FIGURES = {
    "E1": {"printed": "5.64", "sum_1": "1.709", "sum_4": "0.317", "columns": "2.47"},
    "E2": {"printed": "6.26", "first_2": "0.899", "first_4": "0.005", "own": "0.135"},
    "E3": {
        "gap": "1.404",
        "position": 9,
        "dimension": 8,
        "wave_d": "46222",
        "wave_p": "1313",
        "share_d": "0.99964",
        "share_p": "0.98683",
    },
    "E4": {
        "printed_1": "0.9950",
        "example_1": "0.5403",
        "second": "0.5552",
        "least": "4.787",
        "largest": "6.678",
        "right_least": "5.799",
        "right_largest": "5.799",
    },
    "E6": {"printed": "0.001953", "right": (1, 1e-9), "factor": "22.627"},
    "E7": {"printed_stops": 1, "right_stops": 0},
    "E9": {
        "bare_0": 2,
        "bare_1": -2,
        "bare_2": 1,
        "right_0": "0.574",
        "right_2": "0.348",
        "sum": 0.5,
        "no_number": 3,
    },
    "E10": {
        "layer": 3_152_384,
        "layer_printed": 1_577_984,
        "stack": 18_914_304,
        "stack_printed": 9_467_904,
        "large_printed": 184_073_216,
        "large": 335_141_888,
    },
    "E11": {"base": 109_482_240, "large": 335_141_888, "base_heads": 110_106_428, "large_heads": 336_226_108},
    "E12": {"table": 23_440_896, "letters": 589_824},
    "E13": {"printed": 4, "right": 16},
    "E15": {"rows": 5, "pairs": 25, "layer_1": 2, "layer_2": 5},
    "E16": {"post": (1.00, 0.01)},
    "E17": {"nan": 4, "sum_student": 1, "sum_apple": 1},
    "E18": {"attention_50": 1_280_000, "recurrence_50": 13_107_200, "attention_4096": 8_589_934_592},
    "E20": {"base": 109_482_240, "large": 335_141_888, "times": "3.06"},
    "E21": {
        "RoBERTa-base": 124_645_632,
        "RoBERTa-large": 355_359_744,
        "BERT-Large": 335_141_888,
        "GPT-2 XL": 1_557_611_200,
        "DistilBERT": 66_362_880,
        "TinyBERT": 14_350_248,
        "DistilGPT-2": 81_912_576,
    },
    "E24": {"loss_0.1": "2.303", "loss_0.5": "0.693", "loss_0.9": "0.105"},
    "E25": {
        "expected_[MASK]": (1200, 1e-9),
        "expected_random words": (150, 1e-9),
        "expected_left alone": (150, 1e-9),
    },
    "E26": {
        "printed_5": (3.59, 0.05),
        "printed_50": (1.13, 0.02),
        "printed_500": (0.36, 0.01),
        "right": (1, 0.02),
    },
    "E30": {"whole": 256, "pieces": 64},
    "E31": {"scores_1": 4, "scores_3": 5, "heads_3": 4, "out_2": 16, "merged_axes": 3},
    "E33": {"value_0": "0.841471", "value_2": "0.821856", "value_511": (0.999999995, 5e-9), "cut": 3},
    "E34": {"printed_60": 62, "right_60": 60, "right_61": 61},
    "E36": {
        "bare": (0.10, 0.02),
        "scaled": (2.99, 0.05),
        "limit": "88.72",
        "divided": 200,
        "overflows": 1,
        "safe": 1,
    },
    "E37": {"tokens": 131_072, "epochs": "39.7", "epochs_printed": "38.8"},
    "E39": {"gpt2": 124_439_808, "gpt1": 116_534_784, "difference": 7_905_024, "parts": 7_905_024},
    "E42": {"n": 3, "m": 2},
    "E44": {"GPT-2 medium": 354_823_168, "GPT-2 large": 774_030_080, "GPT-3": 174_604_259_328},
    "E45": {"Large": "18.95", "Base": "9.37"},
    "E53": {"ratio": (math.e**2, 1e-9), "plain": "0.451", "sharp": "1.000"},
    "E54": {"greedy": (0.20, 1e-9), "best": (0.36, 1e-9), "beam": (0.36, 1e-9)},
    "E55": {"tokens": 10, "words": 9},
    "E57": {"last": 50_256, "special": 1},
}
"""What the course states: a number, a number and how near, or a text with the last digit that is printed."""


@pytest.mark.parametrize("id", FIGURES)
def test_figures_are_those_of_the_course(id, evidence):
    for name, told in FIGURES[id].items():
        value, near = told if isinstance(told, tuple) else (float(told), 0.0)
        if isinstance(told, str):
            near = 0.5 * 10.0 ** -len(told.partition(".")[2])
        assert evidence[id].numbers[name] == pytest.approx(value, abs=near + 1e-12), name


NOTHING = {
    "E1": "right exchanged",
    "E2": "right",
    "E5": "order",
    "E8": "linear",
    "E14": "asymmetry_equal asymmetry_positive",
    "E15": "rest permuted",
    "E19": "block_2",
    "E32": "with",
    "E47": "values",
    "E48": "prefix",
    "E46": "gap",
    "E49": "gap",
    "E6": "ours",
    "E43": "inside",
    "E27": "printed",
}

MUCH = {
    "E5": "gap",
    "E8": "tanh",
    "E14": "asymmetry",
    "E15": "first",
    "E19": "block_1",
    "E30": "gap",
    "E31": "gap",
    "E32": "without",
    "E47": "keys",
    "E2": "inside",
}


@pytest.mark.parametrize(
    ("id", "name"), [(id, name) for id, names in NOTHING.items() for name in names.split()]
)
def test_what_should_agree_agrees(id, name, evidence):
    assert abs(evidence[id].numbers[name]) < 1e-12


@pytest.mark.parametrize(("id", "name"), [(id, name) for id, names in MUCH.items() for name in names.split()])
def test_what_is_printed_is_far_off(id, name, evidence):
    assert evidence[id].numbers[name] > 0.1


def test_what_draws_must_show(evidence):
    """Properties that hold for other draws too."""
    of = {id: SimpleNamespace(**found.numbers) for id, found in evidence.items()}
    numbers = {id: found.numbers for id, found in evidence.items()}
    e14, e16, e29, e46, e51 = (of[id] for id in ("E14", "E16", "E29", "E46", "E51"))
    assert e14.least < -0.1 and min(e14.least_equal, e14.least_positive) > 0.01, "two ways to a kernel"
    assert e16.worded > 3.4 > e16.pre > e16.pre_half > e16.post + 0.05
    assert e16.worded == pytest.approx(e16.worded_half, abs=0.01)
    assert e29.printed < e29.right < 1
    assert 0 < e29.low < 1e-9 < e29.n - 1e-9 < e29.high < e29.n
    assert (of["E27"].bahdanau, of["E27"].luong, of["E27"].circle) == (3, 4, 3)
    assert (of["E28"].axes_printed, of["E28"].axes_right) == (0, 1)
    assert of["E35"].rows != of["E35"].columns == of["E35"].own_rows == of["E35"].own_columns
    assert of["E22"].alone_least == 1 and of["E22"].right_sum == pytest.approx(1)
    assert of["E23"].labels_printed == 1 < of["E23"].labels_right
    assert e51.window_2 == pytest.approx(e51.joint) and abs(e51.window_1 - e51.joint) > 1e-3
    assert e46.forward == pytest.approx(e46.joint, rel=1e-12)
    assert numbers["E56"]["spread_0.02"] > 0.9999 and numbers["E56"]["spread_0.2"] < 0.95
    assert of["E56"].places == 1
    for name, p in (("[MASK]", 0.12), ("random words", 0.015), ("left alone", 0.015)):
        drawn = numbers["E25"][f"drawn_{name}"]
        assert abs(drawn - p * 10_000) < 4 * math.sqrt(10_000 * p * (1 - p))


def test_a_panel_with_too_few_names_is_refused():
    with pytest.raises(ValueError, match="'two'"):
        errata.Panel("two", [[1.0, 2.0]], ("a",), ("b",))


# ---------------- No number in the sentences of the errata is typed, and none of them claims what is false of some model.


HOME = Path(errata.__file__).parent


NAMES = re.compile(r"GPT-[123]|Fig\. 10|s_\{t−1\}|1/√p")

TYPED = re.compile(
    r"\d|\b(three|four|five|six|seven|eight|nine|ten|eleven|twelve|hundred|thousand|million)\b"
)


def _sentences(tree: ast.AST) -> list[tuple[int, str]]:
    """The written parts of every sentence: what is assigned to `sentence` or `told`, or given as the second argument of Evidence."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and any(
            isinstance(t, ast.Name) and t.id in ("sentence", "told") for t in node.targets
        ):
            found.append(node.value)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "Evidence" and len(node.args) > 1:
            found.append(node.args[1])
    words = [
        word
        for each in found
        for call in ast.walk(each)
        if isinstance(call, ast.Call)
        for word in call.keywords
    ]
    filled_in = [value for each in found for value in ast.walk(each) if isinstance(value, ast.FormattedValue)]
    filled_in += [word.value for word in words if not isinstance(word.value, ast.Constant)]
    inside = {id(part) for value in filled_in for part in ast.walk(value)}
    return [
        (part.lineno, str(part.value))
        for each in found
        for part in ast.walk(each)
        if isinstance(part, ast.Constant)
        and id(part) not in inside
        and (isinstance(part.value, str) or part in [word.value for word in words])
    ]


def is_typed(text: str) -> bool:
    """Return whether a sentence has a number of its own, beside the fields that are filled in and names."""
    named = NAMES.sub("", text.replace("{{", "{").replace("}}", "}"))
    return bool(TYPED.search(re.sub(r"\{[^}]*\}", "", named)))


@pytest.mark.parametrize("path", sorted(HOME.glob("[a-z]*.py")), ids=lambda path: path.stem)
def test_no_number_in_a_sentence_is_typed(path):
    """C112."""
    typed = [(line, text) for line, text in _sentences(ast.parse(path.read_text("utf-8"))) if is_typed(text)]
    assert not typed


def test_the_search_finds_typed_numbers():
    tree = ast.parse(
        'sentence = f"about 5.64 of {x:.2f}"\nEvidence({}, "in four rows")\n'
        'Evidence({}, _("{n} of {all:,.2f}", n=7, all=x))\nEvidence({}, _("{n:.3f} of GPT-2", n=x))'
    )
    assert [text for _, text in _sentences(tree) if is_typed(text)] == ["about 5.64 of ", "in four rows", "7"]


@pytest.mark.parametrize("entry", ERRATA, ids=lambda entry: entry.id)
def test_what_we_say_ourselves_has_no_figures(entry):
    """A document's figures are quoted in `says`, or between quotation marks; ours are computed."""
    for text in (entry.title, entry.right, entry.note):
        ours = re.sub(r"“[^”]*”|\b(19|20)\d\d\b", "", text)
        assert not re.search(r"\d\.\d|\d,\d{3}|\d{3}", ours), ours
