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
    "E1": {
        "printed": (5.64, 0.005),
        "sum_1": (1.709, 5e-4),
        "sum_4": (0.317, 5e-4),
        "columns": (2.47, 0.005),
    },
    "E2": {
        "printed": (6.26, 0.005),
        "first_2": (0.899, 5e-4),
        "first_4": (0.005, 5e-4),
        "own": (0.135, 5e-4),
    },
    "E3": {
        "gap": (1.404, 5e-4),
        "position": (9, 0),
        "dimension": (8, 0),
        "wave_d": (46_222, 0.5),
        "wave_p": (1_313, 0.5),
        "share_d": (0.99964, 5e-6),
        "share_p": (0.98683, 5e-6),
    },
    "E4": {
        "printed_1": (0.9950, 5e-5),
        "example_1": (0.5403, 5e-5),
        "second": (0.5552, 5e-5),
        "least": (4.787, 5e-4),
        "largest": (6.678, 5e-4),
        "right_least": (5.799, 5e-4),
        "right_largest": (5.799, 5e-4),
    },
    "E6": {"printed": (0.001953, 5e-7), "right": (1, 1e-9), "factor": (22.627, 5e-4)},
    "E7": {"printed_stops": (1, 0), "right_stops": (0, 0)},
    "E9": {
        "bare_0": (2, 0),
        "bare_1": (-2, 0),
        "bare_2": (1, 0),
        "right_0": (0.574, 5e-4),
        "right_2": (0.348, 5e-4),
        "sum": (0.5, 1e-12),
        "no_number": (3, 0),
    },
    "E10": {
        "layer": (3_152_384, 0),
        "layer_printed": (1_577_984, 0),
        "stack": (18_914_304, 0),
        "stack_printed": (9_467_904, 0),
        "large_printed": (184_073_216, 0),
        "large": (335_141_888, 0),
    },
    "E11": {
        "base": (109_482_240, 0),
        "large": (335_141_888, 0),
        "base_heads": (110_106_428, 0),
        "large_heads": (336_226_108, 0),
    },
    "E12": {"table": (23_440_896, 0), "letters": (589_824, 0)},
    "E13": {"printed": (4, 0), "right": (16, 0)},
    "E15": {"rows": (5, 0), "pairs": (25, 0), "layer_1": (2, 0), "layer_2": (5, 0)},
    "E16": {"post": (1.00, 0.01)},
    "E17": {"nan": (4, 0), "sum_student": (1, 1e-12), "sum_apple": (1, 1e-12)},
    "E18": {
        "attention_50": (1_280_000, 0),
        "recurrence_50": (13_107_200, 0),
        "attention_4096": (8_589_934_592, 0),
    },
    "E20": {"base": (109_482_240, 0), "large": (335_141_888, 0), "times": (3.06, 0.005)},
    "E21": {
        "RoBERTa-base": (124_645_632, 0),
        "RoBERTa-large": (355_359_744, 0),
        "BERT-Large": (335_141_888, 0),
        "GPT-2 XL": (1_557_611_200, 0),
        "DistilBERT": (66_362_880, 0),
        "TinyBERT": (14_350_248, 0),
        "DistilGPT-2": (81_912_576, 0),
    },
    "E24": {"loss_0.1": (2.303, 5e-4), "loss_0.5": (0.693, 5e-4), "loss_0.9": (0.105, 5e-4)},
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
    "E30": {"whole": (256, 0), "pieces": (64, 0)},
    "E31": {
        "scores_1": (4, 0),
        "scores_3": (5, 0),
        "heads_3": (4, 0),
        "out_2": (16, 0),
        "merged_axes": (3, 0),
    },
    "E33": {
        "value_0": (0.841471, 5e-7),
        "value_2": (0.821856, 5e-7),
        "value_511": (0.999999995, 5e-9),
        "cut": (3, 0),
    },
    "E34": {"printed_60": (62, 0), "right_60": (60, 0), "right_61": (61, 0)},
    "E36": {
        "bare": (0.10, 0.02),
        "scaled": (2.99, 0.05),
        "limit": (88.72, 0.005),
        "divided": (200, 0),
        "overflows": (1, 0),
        "safe": (1, 0),
    },
    "E37": {"tokens": (131_072, 0), "epochs": (39.7, 0.05), "epochs_printed": (38.8, 0.05)},
    "E39": {
        "gpt2": (124_439_808, 0),
        "gpt1": (116_534_784, 0),
        "difference": (7_905_024, 0),
        "parts": (7_905_024, 0),
    },
    "E42": {"n": (3, 0), "m": (2, 0)},
    "E44": {"GPT-2 medium": (354_823_168, 0), "GPT-2 large": (774_030_080, 0), "GPT-3": (174_604_259_328, 0)},
    "E45": {"Large": (18.95, 0.005), "Base": (9.37, 0.005)},
    "E53": {"ratio": (math.e**2, 1e-9), "plain": (0.451, 5e-4), "sharp": (1.0, 5e-4)},
    "E54": {"greedy": (0.20, 1e-9), "best": (0.36, 1e-9), "beam": (0.36, 1e-9)},
    "E55": {"tokens": (10, 0), "words": (9, 0)},
    "E57": {"last": (50_256, 0), "special": (1, 0)},
}
"""What the course states, with the last digit that it prints."""


@pytest.mark.parametrize("id", FIGURES)
def test_figures_are_those_of_the_course(id, evidence):
    for name, (value, near) in FIGURES[id].items():
        assert evidence[id].numbers[name] == pytest.approx(value, abs=near + 1e-12), name


NOTHING = [
    ("E1", "right"),
    ("E1", "exchanged"),
    ("E2", "right"),
    ("E5", "order"),
    ("E8", "linear"),
    ("E14", "asymmetry_equal"),
    ("E14", "asymmetry_positive"),
    ("E15", "rest"),
    ("E15", "permuted"),
    ("E19", "block_2"),
    ("E32", "with"),
    ("E47", "values"),
    ("E48", "prefix"),
    ("E46", "gap"),
    ("E49", "gap"),
    ("E6", "ours"),
    ("E43", "inside"),
    ("E27", "printed"),
]

MUCH = [
    ("E5", "gap"),
    ("E8", "tanh"),
    ("E14", "asymmetry"),
    ("E15", "first"),
    ("E19", "block_1"),
    ("E30", "gap"),
    ("E31", "gap"),
    ("E32", "without"),
    ("E47", "keys"),
    ("E2", "inside"),
]


@pytest.mark.parametrize(("id", "name"), NOTHING)
def test_what_should_agree_agrees(id, name, evidence):
    assert abs(evidence[id].numbers[name]) < 1e-12


@pytest.mark.parametrize(("id", "name"), MUCH)
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
    found: list[ast.AST] = []
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
