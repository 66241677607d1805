"""Sheets to print: every answer calculated again by another way for fifty seeds, and every line of arithmetic read as it is printed."""

from __future__ import annotations

import cmath
import html
import io
import itertools
import json
import math
import random
import re
import zipfile
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
from sacrebleu.metrics import BLEU
from streamlit.testing.v1 import AppTest
from tokenizers import models
from torch import nn
from workspace_pages import page as draw
from workspace_pages import said

from core.errors import InputError
from viz.course.equations.form import Node, read
from viz.course.sheets import language, printed, quiz_files
from viz.course.sheets.form import Blank, Doubtful, Exercise, agreed, rounded
from viz.course.sheets.kinds import KINDS, MOST, exercise_kinds_of_page, sheet
from viz.course.sheets.mathml import _Anything, prose
from viz.labels import SHEET
from viz.languages import using
from viz.shell import pages

SEEDS = range(50)
Answer = Callable[[dict[str, Any]], tuple[Any, ...]]


def softmax(scores: Any) -> list[float]:
    powers = [math.exp(score) for score in scores]
    return [power / sum(powers) for power in powers]


def scaled(given: dict[str, Any]) -> tuple[float, ...]:
    dot = float(np.dot(given["q"], given["k"]))
    return dot, dot / len(given["q"]) ** 0.5


def masked(given: dict[str, Any]) -> tuple[Any, ...]:
    row = given["row"]
    rules: dict[str, Callable[[int], bool]] = {
        "causal": lambda j: j <= row,
        "strict": lambda j: j < row,
        "window": lambda j: abs(row - j) < 2,
        "prefix": lambda j: j <= row or j < 2,
        "both": lambda j: row - 1 <= j <= row,
    }
    may = [rules[given["mask"]](j) for j in range(5)]
    shut = [score if open_ else -math.inf for score, open_ in zip(given["scores"], may, strict=True)]
    return (*may, *nn.functional.softmax(torch.tensor(shut, dtype=torch.float64), 0).tolist())


def local(given: dict[str, Any]) -> tuple[float, ...]:
    bell = math.exp(-2 * ((given["s"] - given["p"]) / given["D"]) ** 2)
    return bell, given["weight"] * bell


def heads(given: dict[str, Any]) -> tuple[int, ...]:
    n, d, h = given["n"], given["d"], given["h"]
    layer = nn.MultiheadAttention(d, h, batch_first=True)
    words = torch.zeros(1, n, d)
    weights = layer(words, words, words, average_attn_weights=False)[1]
    return layer.head_dim, weights.numel(), sum(one.numel() for one in layer.parameters())


def position(given: dict[str, Any]) -> tuple[float, ...]:
    turns = [cmath.exp(1j * given["position"] * w) for w in (1, 0.01)]
    return tuple(part for turn in turns for part in (turn.imag, turn.real))


def rotary(given: dict[str, Any]) -> tuple[float, ...]:
    q, k = complex(*given["q"]), complex(*given["k"])
    return ((q * k.conjugate() * cmath.exp(1j * (given["m"] - given["n"]))).real,)


def normed(given: dict[str, Any]) -> tuple[float, ...]:
    summed = np.add(given["x"], given["z"])
    return tuple((summed - summed.mean()) / summed.std())


def parameters(given: dict[str, Any]) -> tuple[int, ...]:
    layer = nn.TransformerEncoderLayer(given["d"], 1, given["d_ff"])
    parts = [
        sum(one.numel() for name, one in layer.named_parameters() if name.startswith(part))
        for part in ("self_attn", "linear", "norm")
    ]
    return (*parts, sum(one.numel() for one in layer.parameters()))


def factorised(given: dict[str, Any]) -> tuple[float, ...]:
    vocab, d, e = given["V"], given["d"], given["E"]
    one = torch.empty(vocab, d, device="meta").numel()
    other = sum(torch.empty(shape, device="meta").numel() for shape in ((vocab, e), (e, d), (d,)))
    return one, other, other / one


def pieces(given: dict[str, Any]) -> tuple[str, ...]:
    vocab = {piece: place for place, piece in enumerate(("[UNK]", *given["vocabulary"]))}
    return tuple(token.value for token in models.WordPiece(vocab, unk_token="[UNK]").tokenize(given["word"]))  # pyright: ignore


def blank(given: dict[str, Any]) -> tuple[float, ...]:
    return -np.log(given["p"]), -np.log2(given["p"]), np.log(given["n"])


def perplexity(given: dict[str, Any]) -> tuple[float, ...]:
    product = math.prod(given["p"])
    return -math.log(product) / len(given["p"]), product ** (-1 / len(given["p"]))


def beam(given: dict[str, Any]) -> tuple[Any, ...]:
    """All texts written down and sorted."""
    ends = [
        (before + log_p, f"{name} {token}")
        for name, before in zip("AB", given["beams"], strict=True)
        for other, token, log_p in given["rows"]
        if other == name
    ]
    (one, first), (two, second), *_ = sorted(ends, reverse=True)
    return first, second, one, two


def bleu(given: dict[str, Any]) -> tuple[float, ...]:
    measure = BLEU(max_ngram_order=2, tokenize="none", smooth_method="none", effective_order=False)
    return (measure.corpus_score([given["candidate"]], [[given["reference"]]]).score / 100,)


AGAIN: dict[str, Answer] = {
    "softmax": lambda given: tuple(softmax(given["scores"])),
    "sum": lambda given: tuple(np.array(given["weights"]) @ np.array(given["values"])),
    "scaled": scaled,
    "cosine": lambda given: (
        nn.functional.cosine_similarity(
            *(torch.tensor(given[name], dtype=torch.float64) for name in "qk"), dim=0
        ).item(),
    ),
    "local": local,
    "mask": masked,
    "heads": heads,
    "position": position,
    "rotary": rotary,
    "norm": normed,
    "parameters": parameters,
    "bleu": bleu,
    "wordpiece": pieces,
    "masked": blank,
    "factorised": factorised,
    "perplexity": perplexity,
    "beam": beam,
}


def same(said: Any, truth: Any) -> bool:
    """A word the same; a number as near as its decimals say: no digit of it is another one."""
    if isinstance(said, str | bool):
        return said == truth
    decimals = max(len(f"{said:.6f}".rstrip("0").partition(".")[2]), 1)
    return abs(said - truth) <= 0.5 * 10**-decimals + 1e-9


@pytest.mark.quick(4)
@pytest.mark.parametrize("key", KINDS)
def test_fifty_seeds_have_the_right_answers_and_true_lines(key: str) -> None:
    drawn = [KINDS[key].draw(seed) for seed in SEEDS]
    for exercise in drawn:
        truth = AGAIN[key](dict(exercise.inputs))
        assert len(truth) == len(exercise.result), exercise
        assert all(map(same, exercise.result, truth)), (exercise, truth)
        assert holds(exercise) or key == "wordpiece", exercise
    assert len({repr(exercise.inputs) for exercise in drawn}) > 18


def test_what_is_printed_of_an_answer_is_its_result() -> None:
    """The sentence of the answer holds every number of the result, as it was rounded."""
    for key in KINDS:
        exercise = KINDS[key].draw(5)
        printed_ = [float(part) for part in re.findall(r"-?\d+(?:\.\d+)?", exercise.answer.replace("−", "-"))]
        for number in exercise.result:
            if isinstance(number, str):
                assert number in exercise.answer
            elif not isinstance(number, bool):
                assert any(math.isclose(number, one, abs_tol=1e-12) for one in printed_), exercise


FORMS = {"frac": "(({})/({}))", "sqrt": "sqrt({})", "sup": "(({})**({}))", "bracket": "({})"}
FORMS["number"] = FORMS["bracket"]
SIGNS = {"−": "-", "·": "*", "/": "/", "+": "+"}
NAMES = {"ln": math.log, "sin": math.sin, "cos": math.cos, "sqrt": math.sqrt, "e": math.e}


def as_python(node: Node) -> str:
    """A part of a line as Python, with a `?` for a letter and for a sign that is no arithmetic."""
    if node.kind == "operator":
        return SIGNS.get(node.text, "?")
    if node.kind == "words" or node.text in NAMES:
        return node.text if node.text in NAMES else ""
    parts = [node.text] if node.kind == "number" else [*map(as_python, node.parts)]
    if node.kind == "row":
        return f"({''.join(parts)})"
    return FORMS[node.kind].format(*parts) if node.kind in FORMS and parts else "?"


def worked(parts: list[Node]) -> float | None:
    """What a side of a line makes; None for one that is no arithmetic."""
    text = "".join(map(as_python, parts))
    if not text or "?" in text or ")(" in text:
        return None
    return float(eval(text, NAMES | {"__builtins__": {}}))


def holds(exercise: Exercise) -> bool:
    """Whether every number behind an equals sign is what stands before it, to its last digit; and something was calculated."""
    checked = 0
    for step in filter(lambda step: step.line, exercise.steps):
        tree = read(step.line, _Anything())
        lines = [line for part in tree.parts if part.kind == "lines" for line in part.parts]
        for line in lines or [tree]:
            sides: list[list[Node]] = [[]]
            for part in line.parts:
                if (part.kind, part.text) == ("operator", "="):
                    sides.append([])
                else:
                    sides[-1].append(part)
            for left, right in itertools.pairwise(sides):
                made, said = worked(left), worked(right)
                if made is None or said is None:
                    continue
                text = next((part.text for part in reversed(right) if part.kind == "number"), "")
                if len(right) <= 2:  # a number, with its sign
                    assert abs(made - said) <= 0.5 * 10 ** -len(text.partition(".")[2]) + 1e-9, step
                else:
                    assert math.isclose(made, said, rel_tol=1e-3, abs_tol=1e-3), step
                checked += 1
    return checked > 0


def test_every_letter_of_a_stem_but_its_first_may_be_a_piece() -> None:
    """The o of work is the only letter that stands in no ending and in no other stem behind its second place."""
    sheets = (language.pieces(random.Random(seed)).inputs for seed in range(200))
    assert any("work" in given["word"] and "##o" in given["vocabulary"] for given in sheets)


def test_the_kinds_are_at_least_twelve_of_exhibits_that_there_are() -> None:
    known = {entry.slug for entry in pages.exhibits()}
    assert len(KINDS) >= 12 and {kind.page for kind in KINDS.values()} - {""} <= known
    assert set(AGAIN) == set(KINDS) and all(
        exercise_kinds_of_page(kind.page) for kind in KINDS.values() if kind.page
    )
    assert all(kind.key == key and kind.title for key, kind in KINDS.items())


def test_a_seed_draws_the_same_and_another_seed_another_sheet() -> None:
    keys = [key for key in KINDS if key != "bleu"]
    assert sheet(keys, 3, 2) == sheet(keys, 3, 2) != sheet(keys, 4, 2)
    first, second = sheet(["softmax"], 3, 2)
    assert first != second
    for wrong in (("softmax", 1, MOST + 1), ("softmax", -1, 1)):
        with pytest.raises(InputError):
            sheet([wrong[0]], *wrong[1:])  # type: ignore[arg-type]


def test_a_number_that_people_round_otherwise_is_not_printed() -> None:
    for doubtful in (lambda: rounded(0.125, 2), lambda: agreed(0.1234, 0.1236, 3)):
        with pytest.raises(Doubtful):
            doubtful()


def test_the_printed_page_asks_nobody_and_tells_no_answer() -> None:
    drawn = sheet(list(KINDS), 11)
    asked, solved = printed.exercises(drawn, 11), printed.solutions(drawn, 11)
    for page in (asked, solved):
        assert page.count("<section>") == len(drawn) and "@page" in page
        assert not re.search(r"""(?:src|href)=|url\((?!"data:)|https?://""", page)
        assert "$" not in page.partition("<body>")[2], "mathematics that was not set"
    assert all(
        prose(exercise.answer) in solved and prose(exercise.answer) not in asked for _, exercise in drawn
    )
    assert prose("<b>$x$</b>") == "&lt;b&gt;<math><mi>x</mi></math>&lt;/b&gt;"


def test_the_fields_of_a_platform_ask_for_the_result() -> None:
    for kind, exercise in sheet(list(KINDS), 5, 2):
        wanted = {field.value for field in exercise.blanks}
        result = {" ".join(exercise.result)} if kind.key == "wordpiece" else {*exercise.result}
        if kind.key == "mask":
            result = {not one if isinstance(one, bool) else one for one in result}
        assert result <= wanted, kind.key
        assert all(
            same(float(field.text), field.value) for field in exercise.blanks if type(field.value) is float
        )
        words = re.findall(r"(one|two|three) decimals?", exercise.question.lower())
        said = {["one", "two", "three"].index(word) + 1 for word in words}
        places = {field.decimals for field in exercise.blanks}
        assert not said or (said <= places and max(places) == max(said)), kind.key


def test_a_sheet_in_another_language_has_the_same_numbers() -> None:
    keys = [key for key in KINDS if key not in ("bleu", "masked", "perplexity", "beam")]  # without a model
    english, own = sheet(keys, 5), printed.solutions(sheet(keys, 5), 5)
    with using("es"):
        spanish = sheet(keys, 5)
        other, package = printed.solutions(spanish, 5), quiz_files.qti_package(spanish, 5)
        moodle = quiz_files.moodle_xml(spanish, 5)
    for (_, one), (_, two) in zip(english, spanish, strict=True):
        assert one.question != two.question and (one.inputs, one.result) == (two.inputs, two.result)
        assert [blank.value for blank in one.blanks] == [blank.value for blank in two.blanks]
        assert [step.line for step in one.steps] == [step.line for step in two.steps]
    assert 'lang="en"' in own and 'lang="es"' in other
    assert "=sí~no" in moodle and ElementTree.fromstring(moodle).tag == "quiz"
    with zipfile.ZipFile(io.BytesIO(package)) as files:
        assert (
            '<inlineChoice identifier="yes">sí<'
            in files.read(f"exercise-{1 + keys.index('mask')}.xml").decode()
        )


CLOZE = re.compile(r"\{1:(NUMERICAL|MULTICHOICE|SHORTANSWER):((?:[^}\\]|\\.)+)\}")
"""A field of Moodle's embedded answers: points, kind, alternatives."""


def test_moodle_reads_a_question_with_its_fields_for_each_exercise() -> None:
    drawn = sheet(list(KINDS), 7)
    category, *questions = ElementTree.fromstring(quiz_files.moodle_xml(drawn, 7))
    types = [one.get("type") for one in (category, *questions)]
    assert types == ["category", *["cloze"] * len(drawn)]
    for question, (_, exercise) in zip(questions, drawn, strict=True):
        text = question.findtext("questiontext/text") or ""
        fields = CLOZE.findall(text)
        assert text.count("{1:") == len(fields) == len(exercise.blanks)
        for (kind, alternatives), field in zip(fields, exercise.blanks, strict=True):
            [right] = [one[1:] for one in alternatives.split("~") if one.startswith("=")]
            if kind == "NUMERICAL":
                value, _, margin = right.partition(":")
                assert float(value) == float(field.text)
                assert float(margin) == pytest.approx(field.tolerance, rel=1e-3)
            else:
                assert html.unescape(right.replace("\\#", "#")) == field.text
        assert prose(exercise.answer) in (question.findtext("generalfeedback/text") or "")
        assert prose(exercise.answer) not in text


def points(item: ElementTree.Element, answers: dict[str, str]) -> float:
    """Mark a QTI item by its own rules, as a platform does."""
    declared = {
        one.get("identifier"): one.findtext("{*}correctResponse/{*}value")
        for one in item.iterfind("{*}responseDeclaration")
    }
    marks = 0.0
    for condition in item.iterfind("{*}responseProcessing/{*}responseCondition/{*}responseIf"):
        test = condition[0]
        name = test.find("{*}variable").get("identifier")  # type: ignore[union-attr]
        given, right = answers[name], declared[name] or ""  # type: ignore[index]
        if test.tag.endswith("}equal"):
            below, above = map(float, (test.get("tolerance") or "").split())
            true = float(right) - below <= float(given) <= float(right) + above
        else:
            true = given.lower() == right.lower()
        marks += true * float(condition.findtext(".//{*}baseValue") or 0)
    return marks


def moved(blank: Blank, times: float) -> str:
    """A number that is so many tolerances off."""
    return str(float(blank.text) + times * (blank.tolerance or 1))


def test_a_package_of_qti_marks_the_right_fields_and_no_wrong_one() -> None:
    drawn = sheet(list(KINDS), 7)
    with zipfile.ZipFile(io.BytesIO(quiz_files.qti_package(drawn, 7))) as package:
        files = {name: ElementTree.fromstring(package.read(name)) for name in package.namelist()}
    listed = {one.get("href") for one in files["imsmanifest.xml"].iterfind(".//{*}file")}
    assert listed == {*files} - {"imsmanifest.xml"}
    in_test = [one.get("href") for one in files["test.xml"].iterfind(".//{*}assessmentItemRef")]
    assert len(in_test) == len(drawn)
    for name, (_, exercise) in zip(in_test, drawn, strict=True):
        item, fields = files[name or ""], {f"ANSWER{i}": field for i, field in enumerate(exercise.blanks, 1)}
        asked = {one.get("responseIdentifier") for one in item.iter() if "responseIdentifier" in one.attrib}
        assert asked == {*fields}
        right = {field: blank.text for field, blank in fields.items()}
        most = item.findtext("{*}outcomeDeclaration[@identifier='MAXSCORE']//{*}value")
        assert points(item, right) == len(fields) == float(most or 0)
        wrong = {
            field: moved(blank, 3) if type(blank.value) in (int, float) else "another"
            for field, blank in fields.items()
        }
        assert points(item, wrong) == 0
        near = {
            field: moved(blank, 0.9) if type(blank.value) is float else blank.text
            for field, blank in fields.items()
        }
        assert points(item, near) == len(fields)
        assert all(
            one.tag.startswith(f"{{{quiz_files.MATHML}}}") for one in item.iter() if one.tag.endswith("}math")
        )


def test_the_page_draws_what_the_link_names_and_keeps_the_solutions_behind_their_button() -> None:
    query = {
        "homework.group": SHEET,
        "homework.kinds": "mask,softmax",
        "homework.draw": "12",
        "homework.each": "2",
    }
    page = opened(query)
    assert framed(page) == printed.without_button(printed.exercises(sheet(["softmax", "mask"], 12, 2), 12))
    assert "onclick" not in (framed(page) or ""), "no script runs in the frame"
    page.button("homework.solve").click().run()
    assert framed(page) == printed.without_button(printed.solutions(sheet(["softmax", "mask"], 12, 2), 12))
    assert set(page.query_params) == set(query), (
        "the link that a lecturer hands on says nothing of the solutions"
    )
    page.button("homework.draw.again").click().run()
    assert framed(page) == printed.without_button(printed.exercises(sheet(["softmax", "mask"], 13, 2), 13))


def test_a_link_with_a_kind_that_there_is_not_says_so_and_draws_the_others() -> None:
    page = opened({"homework.group": SHEET, "homework.kinds": "mask,<b>", "homework.draw": "3"})
    assert "<b>" in said(page) and framed(page) == printed.without_button(
        printed.exercises(sheet(["mask"], 3), 3)
    )
    none = opened({"homework.group": SHEET, "homework.kinds": "none"})
    assert "Choose" in said(none) and framed(none) is None


def test_an_exhibit_leads_to_the_sheets_with_its_numbers() -> None:
    told = said(draw("scaling", {"fold:scaling.sheet": True}))
    assert KINDS["scaled"].title in told and "homework.kinds=scaled" in told


def opened(query: dict[str, str]) -> AppTest:
    return draw("homework", **query)


def framed(page: AppTest) -> str | None:
    """The sheet that the frame shows; None where there is no frame."""
    protos = [element.proto for element in page.get("bidi_component")]
    found = [json.loads(proto.json)["page"] for proto in protos if proto.component_name == "atlas_paper"]
    assert len(found) < 2
    return found[0] if found else None
