"""The rules of every step of every exhibit: nothing of the answer before the guess, a clear question, and numbers that stand in its table.

Each step is drawn in the dark, its folds open, before the guess and after it. With every push a few of them, of the half that no browser
walks (`walked_steps.py`); `test_steps_open.py` draws the others of that half.
"""

from __future__ import annotations

import contextlib
import copy
import io
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from deep import deep
from exhibit_pages import drawn, said
from exhibit_visits import well
from lesson_numbers import EXACT, MEANT
from question_rules import Asked, on_a_slider, one_of_several, to_be_touched, units
from shown_numbers import Shown, collect_numbers, holds, numbers
from streamlit.testing.v1 import AppTest
from walked_steps import halves

from viz.course.exhibit import LATER
from viz.shell import pages
from viz.widgets import chart_table, exhibit_parts, export, page_parts, quiz

STEPS = [(entry.slug, step) for entry in pages.exhibits() for step in range(1, 1 + len(entry.steps))]
UNWALKED = [(entry.slug, step) for entry, step in halves()[1]]
ALL_THERE = {
    ("masks", 6): "its question is about a picture that is all there: what would happen to it",
    (
        "positional_encoding",
        1,
    ): "its four views may be looked at freely; the question stands below them and covered nothing",
}
"""Steps whose question covers nothing, and why."""
SAID_BEFORE = {
    ("bert_input", 1),
    ("many_heads", 4),
    ("prompting", 2),
    ("retrieval", 2),
    ("sizes", 1),
    ("soft_and_hard", 5),
    ("spans_and_tags", 2),
    ("spans_and_tags", 3),
    ("training_and_inference", 4),
    ("weighting", 3),
}
"""Steps with a sentence of numbers on what is seen before the guess, too."""
SEEN_BEFORE = {
    ("cls_and_pairs", 3),
    ("cls_and_pairs", 6),
    ("elmo", 5),
    ("many_heads", 4),
    ("soft_and_hard", 5),
    ("sparse_attention", 1),
    ("training_and_inference", 4),
}
"""Steps whose charts are about what the question begins from."""
ALSO_A_PLACE = {("positions", 2): "1/19 is where its chart draws a mark"}
"""Steps before whose guess the answer's number is sent as something else."""
PICTURES = ("plotly_chart", "vega_lite_chart", "bidi_component")


@dataclass
class Visit:
    """A step as it was drawn: its page, its questions, its sentences of numbers, and what may be taken along."""

    test: AppTest
    asked: list[Asked] = field(default_factory=list)
    sentences: list[str] = field(default_factory=list)
    alts: list[str] = field(default_factory=list)
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)

    @property
    def table(self) -> pd.DataFrame:
        return self.test.dataframe[-1].value

    @property
    def messages(self) -> bytes:
        """All that the page sent to the browser."""
        sent: list[bytes] = []
        blocks = [self.test._tree]
        while blocks:
            for node in blocks.pop().children.values():
                if hasattr(node, "children"):
                    blocks.append(node)
                if hasattr(getattr(node, "proto", None), "SerializeToString"):
                    sent.append(node.proto.SerializeToString())
        return b"\n".join(sent)

    @property
    def charts(self) -> set[bytes]:
        """The charts as they were sent, without what is read aloud."""
        sent = set()
        for chart in (copy.deepcopy(each.proto) for kind in PICTURES[:2] for each in self.test.get(kind)):
            if hasattr(chart, "alt"):
                chart.ClearField("alt")
            for place, table in reversed([*enumerate(getattr(chart, "datasets", ()))]):
                if table.name == chart_table.TABLE:
                    del chart.datasets[place]
            sent.add(chart.SerializeToString())
        return sent

    @property
    def known(self) -> np.ndarray:
        """The numbers of the table, the arrays and the link."""
        return collect_numbers(self.table, self.arrays.values(), self.test.query_params.values())


def inside(slug: str) -> dict[str, bool]:
    """The folds of a page with what it computes, open."""
    return {f"fold:{slug}.{name}": True for name in ("equation", "looking", "table", "take")}


def visit(slug: str, step: int, answered: bool, folds: Mapping[str, bool] = {}) -> Visit:
    """Draw a step in the dark: its questions are put as they are, or they count as answered."""
    found = Visit(AppTest.from_string(""))
    real = {name: getattr(quiz, name) for name in ("predict", "predict_number", "predict_mark")}
    summary, show = page_parts.summary, page_parts.show

    def put(name: str, asked: Asked, *given: Any) -> bool:
        if answered and callable(asked.explanation):
            asked = replace(asked, explanation=asked.explanation())
        found.asked.append(asked)
        return answered or real[name](*given)

    def choice(key: str, question: str, options: Any, answer: str, explanation: Any, also: Any = ()) -> bool:
        asked = Asked("choice", key, question, options, answer, explanation=explanation)
        return put("predict", asked, key, question, options, answer, explanation, also)

    def number(
        key: str,
        question: str,
        lo: float,
        hi: float,
        answer: float,
        explanation: Any,
        near: float,
        unit: str = "",
    ) -> bool:
        asked = Asked("number", key, question, (lo, hi), answer, near, unit, explanation)
        return put("predict_number", asked, key, question, lo, hi, answer, explanation, near, unit)

    def touched(key: str, question: str, chosen_mark: str, answer: str, explanation: Any) -> bool:
        asked = Asked("touched", key, question, (), answer, explanation=explanation)
        return put("predict_mark", asked, key, question, chosen_mark, answer, explanation)

    def taken(arrays: Mapping[str, Any]) -> bytes:
        found.arrays = {name: np.asarray(getattr(each, "values", each)) for name, each in arrays.items()}
        return b"-"

    with pytest.MonkeyPatch.context() as patch:
        for home in (exhibit_parts, quiz):
            for name, stand_in in zip(real, (choice, number, touched), strict=True):
                patch.setattr(home, name, stand_in)
        patch.setattr(page_parts, "_dark", lambda: True)
        patch.setattr(
            page_parts, "summary", lambda text, *more: found.sentences.append(text) or summary(text, *more)
        )
        patch.setattr(
            page_parts,
            "show",
            lambda figure, key, alt, *more, **most: (
                found.alts.append(alt) or show(figure, key, alt, *more, **most)
            ),
        )
        patch.setattr(export, "npz", taken)
        found.test = drawn(slug, {f"{slug}.step": str(step)}, folds or inside(slug))
    well(found.test, "after the guess" if answered else "before it")
    return found


@pytest.mark.parametrize(("slug", "step"), deep(STEPS, quick=UNWALKED[::8]), ids=str)
def test_a_step_hides_asks_and_states_its_own_numbers(slug: str, step: int) -> None:
    before, after = visit(slug, step, answered=False), visit(slug, step, answered=True)
    if before.asked and (slug, step) not in ALL_THERE:
        assert LATER in said(before.test) and before.table.to_numpy().tolist() == [[LATER]]
        assert set(before.arrays) < set(after.arrays), "arrays come with the answer"
        uncovered = bool(after.charts) and after.charts <= before.charts
        assert uncovered == ((slug, step) in SEEN_BEFORE), "a chart is covered"
        both = {*before.sentences} & {*after.sentences} - {" "}
        assert bool(both) == ((slug, step) in SAID_BEFORE), both
    if (slug, step) not in ALSO_A_PLACE:
        gives_nothing_away(before.messages, after.asked)
    is_complete(slug, step, after)
    asks_what_can_be_answered(after)
    missing = [each for each in fractions(after) if not holds(after.known, each)]
    assert not missing
    assert code_prints(after)


def fractions(after: Visit) -> Iterator[Shown]:
    """Yield the numbers of the sentences that are no counts."""
    return (each for text in after.sentences for each in numbers(text) if each.measured)


def gives_nothing_away(messages: bytes, asked: list[Asked]) -> None:
    """Assert that neither an explanation nor the numbers that decide a question are sent to the browser before the guess."""
    for each in asked:
        assert not each.explanation or each.explanation.encode() not in messages, each
        deciding = each.options.values() if isinstance(each.options, Mapping) else ()
        for value in map(float, [each.answer] if each.kind == "number" else deciding):
            if not (np.float32(value) * 2).is_integer():  # a count, or a half, may be anything
                forms = (struct.pack("<d", value), struct.pack("<f", value), f"{value:.5g}".encode())
                assert not [form for form in forms if form in messages and len(form) > 3], (each.key, value)


def is_complete(slug: str, step: int, after: Visit) -> None:
    """Assert that a step that is revealed has its title, a picture, a table, arrays and its errata."""
    told, info = said(after.test), pages.find(slug).info
    assert after.test.title[0].value == info.title and LATER not in told
    assert any(after.test.get(kind) for kind in PICTURES)
    assert after.table.size and not after.table.isna().all(axis=None)
    assert all(values.size for values in after.arrays.values())
    if errata := pages.find(slug).module.EXHIBIT.text.steps[step - 1].errata:
        test = visit(slug, step, answered=True, folds={f"fold:{info.title}.documents": True}).test
        assert all(id in said(test) for id in errata)


def asks_what_can_be_answered(after: Visit) -> None:
    """Assert that each question has one right answer."""
    assert len(units(said(after.test))) <= 1, "one unit of information a page"
    for each in after.asked:
        assert each.question.strip().endswith((".", "?", "…", "gets", "…?", ")")), each.question
        {"choice": one_of_several, "number": on_a_slider, "touched": to_be_touched}[each.kind](each)


def code_prints(after: Visit) -> bool:
    """Return whether the lines to take along print a number of the page, or in one line several small counts of one of its sentences."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(compile(after.test.code[-1].value, "lines of Python", "exec"), {})
    counts = [{each.value for each in numbers(line)} for line in out.getvalue().splitlines()]
    stated = [{each.value for each in numbers(text)} for text in after.sentences]
    if any(len(line) > 1 and line <= sentence for line in counts for sentence in stated):
        return True
    words = [*after.alts, said(after.test), *(each.explanation for each in after.asked)]
    known = np.concatenate([after.known, [each.value for text in words for each in numbers(text)]])
    printed = [each for each in numbers(out.getvalue()) if each.measured or abs(each.value) > 9]
    return any(holds(known, each) for each in printed if each.value not in (0, 1))


def test_what_is_listed_is_there() -> None:
    """No line of the tables speaks of a step that is gone, and each has its reason."""
    assert all(reason for reason in (*MEANT.values(), *EXACT))
    assert {*ALL_THERE, *ALSO_A_PLACE, *SAID_BEFORE, *SEEN_BEFORE} <= set(STEPS)
