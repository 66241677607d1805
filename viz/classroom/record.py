"""The record of a lecture, for a while after its end: the pages that were shown and the answers in numbers; no name and no seat."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlencode

from viz.classroom.ask import Question
from viz.labels import SHEET

MOST_PAGES, MOST_VOTES = 60, 60


class Record:
    """The pages and the revealed questions of one room, in their order.

    >>> record = Record()
    >>> for link in ("masks?masks.step=1", "masks?masks.step=2"):
    ...     record.note_page({"title": "Masks", "link": link, "pictures": ["rows"], "exercises": ["mask"]})
    >>> [one["link"] for one in record.summary()["shown"]], record.summary()["sheet"]
    (['masks?masks.step=2'], 'homework?homework.group=Exercises+to+print&homework.kinds=mask')
    """

    def __init__(self) -> None:
        self._pages: list[dict[str, Any]] = []
        self._votes: list[dict[str, Any]] = []

    def note_page(self, view: Mapping[str, Any]) -> None:
        """Note a view that has a picture; of one page and sentence the last link counts."""
        if view.get("invites") or not view.get("title") or not (view.get("pictures") or view.get("unseen")):
            return
        page = {name: view.get(name, "") for name in ("title", "link", "sentence")}
        page["exercises"] = list(view.get("exercises", ()))
        same = [
            place
            for place, one in enumerate(self._pages)
            if (one["title"], one["sentence"]) == (page["title"], page["sentence"])
        ]
        if same:
            self._pages[same[0]] = page
        elif len(self._pages) < MOST_PAGES:
            self._pages.append(page)

    def note_votes(self, question: Question) -> None:
        """Note how a revealed question was answered, if anybody did."""
        if question.answers or question.first:
            votes = [one for one in self._votes if one["id"] != question.id]
            self._votes = [*votes, question.public_state()][-MOST_VOTES:]

    def summary(self) -> dict[str, Any]:
        """Return the part of the record that everybody with the room's code may see: pages, exercises and votes."""
        kinds = dict.fromkeys(kind for page in self._pages for kind in page["exercises"])
        sheet = {"homework.group": SHEET, "homework.kinds": ",".join(kinds)}
        return {
            "shown": [{name: page[name] for name in ("title", "link", "sentence")} for page in self._pages],
            "sheet": f"homework?{urlencode(sheet)}" if kinds else "",
            "votes": self._votes,
        }

    def table(self) -> str:
        """Return the votes as CSV: a row per answer of each question, counts alone."""
        text = io.StringIO()
        lines = csv.writer(text)
        lines.writerow(("number", "question", "kind", "answer", "right", "first vote", "last vote"))
        for number, asked in enumerate(self._votes, 1):
            for name, right, first, last in answer_rows(asked):
                lines.writerow((number, asked["words"], asked["kind"], name, right, first, last))
        return text.getvalue()

    def state(self) -> dict[str, Any]:
        """Return the record as a dictionary that JSON can write."""
        return {"pages": self._pages, "votes": self._votes}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore the record from what `state()` returned; a part that an older version did not store is empty."""
        self._pages, self._votes = list(state.get("pages", ())), list(state.get("votes", ()))


def answer_rows(question: Mapping[str, Any]) -> Iterator[tuple[str, str, Any, int]]:
    """Yield each answer with "yes" or "no" for right ("" where nothing is), its count in the first vote ("" without one) and in the last."""
    before, options, truth = question.get("before"), question["options"], question.get("truth")
    if question["kind"] == "cell":
        first = {(row, column): count for row, column, count in before["cells"]} if before else {}
        for row, column, count in question["cells"]:
            name = f"{options[row]} \u2192 {options[column]}"
            yield name, "", first.get((row, column), 0) if before else "", count
        return
    names = options
    rights = (
        ["" if truth is None else "yes" if place in truth else "no" for place in range(len(options))]
        if question["kind"] != "number"
        else []
    )
    if question["kind"] == "number":
        edges = question["edges"]
        unit = question["unit"] if question["unit"].startswith("%") else f" {question['unit']}".rstrip()
        names = [f"{low:.6g} to {high:.6g}{unit}" for low, high in itertools.pairwise(edges)]
        rights = [
            "" if truth is None else "yes" if low <= truth and (truth < high or high == edges[-1]) else "no"
            for low, high in itertools.pairwise(edges)
        ]
    for place, (name, count) in enumerate(zip(names, question["counts"], strict=True)):
        earlier = before["counts"][place] if before else ""
        if question["kind"] != "word" or count or earlier or rights[place] == "yes":
            yield name, rights[place], earlier, count
