"""Scores of a model, in its folder as scores.json: its own rows by `core.tools.evaluate --record`, those of baselines by hand.

A row says the measure, the split it was taken on, whose it is, and the value:
`{"measure": "bits_per_byte", "split": "prose valid", "of": "gpt-mini", "value": 1.491}`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.checkpoints.files import MB, find_file, small_bytes, strict_json
from core.errors import InputError
from core.wording import mark

FILE = "scores.json"
RULE = "It is a list of objects with measure, split, of (words) and value (a number)."
REMEDY = "Measure again with python -m core.tools.evaluate --record."


@dataclass(frozen=True)
class Score:
    """Value of a measure on a split: `subject` is a model by its name, or the description of a baseline."""

    measure: str
    split: str
    subject: str
    value: float


@dataclass(frozen=True)
class Measure:
    """Text of a measure: its name, its number format, whether more is better, and whether it is a main one of its kind of model."""

    words: str
    number: str
    more: bool = True
    telling: bool = False


MEASURES = {
    "letter_error": Measure(mark("letters wrong"), "{:.1%}", more=False, telling=True),
    "letter_error_heard": Measure(mark("letters wrong in voices of the training"), "{:.1%}", more=False),
    "accuracy": Measure(mark("accuracy"), "{:.1%}", telling=True),
    "accuracy_spread": Measure(mark("standard deviation over the folds"), "{:.1%}", more=False),
    "commonest": Measure(mark("share of the commonest class"), "{:.1%}"),
    "squared_error": Measure(mark("squared error of a hidden pixel"), "{:.3f}", more=False, telling=True),
    "accuracy_from_few": Measure(mark("accuracy after 60 labelled drawings"), "{:.1%}", telling=True),
    "nats": Measure(mark("nats a document"), "{:.3f}", more=False),
    "bits_per_byte": Measure(mark("bits a byte"), "{:.3f}", more=False, telling=True),
    "nats_per_token": Measure(mark("nats a token"), "{:.3f}", more=False),
    "perplexity": Measure(mark("perplexity"), "{:.1f}", more=False),
    "bits_per_byte_forward": Measure(mark("bits a byte, forward"), "{:.3f}", more=False, telling=True),
    "bits_per_byte_backward": Measure(mark("bits a byte, backward"), "{:.3f}", more=False, telling=True),
    "nats_per_token_forward": Measure(mark("nats a token, forward"), "{:.3f}", more=False),
    "nats_per_token_backward": Measure(mark("nats a token, backward"), "{:.3f}", more=False),
    "perplexity_forward": Measure(mark("perplexity, forward"), "{:.1f}", more=False),
    "perplexity_backward": Measure(mark("perplexity, backward"), "{:.1f}", more=False),
    "masked_top1": Measure(mark("hidden words guessed at the first try"), "{:.1%}", telling=True),
    "masked_top5": Measure(mark("among five guesses"), "{:.1%}"),
    "next_sentence_accuracy": Measure(mark("next-sentence accuracy"), "{:.1%}", telling=True),
    "sentence_order_accuracy": Measure(mark("sentence-order accuracy"), "{:.1%}", telling=True),
    "bleu_greedy": Measure(mark("BLEU, greedy"), "{:.1f}"),
    "bleu_beam4": Measure(mark("BLEU, beam search of 4"), "{:.1f}", telling=True),
    "chrf_beam4": Measure(mark("chrF, beam search of 4"), "{:.1f}"),
    "token_accuracy": Measure(mark("token accuracy"), "{:.1%}", telling=True),
    "token_accuracy_beyond": Measure(
        mark("token accuracy in strings longer than any in training"), "{:.1%}", telling=True
    ),
    "exact_match": Measure(mark("exact match"), "{:.1%}", telling=True),
    "exact_match_beyond": Measure(mark("exact match in strings longer than any in training"), "{:.1%}"),
    "exact_match_unseen": Measure(
        mark("exact match where a thing has a colour that is new to its kind"), "{:.1%}"
    ),
    "noun_on_object": Measure(mark("largest weight of a noun on what it names"), "{:.1%}", telling=True),
    "induction_score": Measure(mark("induction score of the best head"), "{:.3f}", telling=True),
    "copied": Measure(mark("symbols of the second copy predicted"), "{:.1%}", telling=True),
    "analogy_top1": Measure(mark("fourth word of an analogy nearest"), "{:.1%}", telling=True),
    "analogy_top5": Measure(mark("among the five nearest"), "{:.1%}"),
    "median_rank": Measure(mark("its median place"), "{:.0f}", more=False),
    "queen_rank": Measure(
        mark("place of queen after king - man + woman, these three left out"), "{:.0f}", more=False
    ),
    "queen_rank_of_all": Measure(mark("its place with the three left in"), "{:.0f}", more=False),
}
"""In the order in which they are shown; a model without a beam search has its values under the same names."""


TABLES = {
    "letter_error_by_noise": mark("letters wrong by noise, as a share of the speech"),
    "letter_error_by_speed": mark("letters wrong by speed"),
    "letter_error_by_words": mark("letters wrong by number of words"),
    "bleu_by_length": mark("BLEU (beam search of 4) by length of the source"),
    "token_accuracy_by_length": mark("token accuracy by length of the string"),
    "exact_match_by_length": mark("whole strings right by length of the string"),
    "accuracy_by_task": mark("answers right by task"),
    "accuracy_by_place": mark(
        "answers right by where the answer was shown, in symbols before the question mark"
    ),
    "exact_match_by_task": mark("answers right by task"),
    "exact_match_by_relation": mark("captions right by how the two groups stand"),
    "induction_score_by_offset": mark(
        "induction score of the best head by length of the string that comes twice"
    ),
    "copied_by_offset": mark("symbols of the second copy predicted by length of the string"),
    "ms_by_length": mark("milliseconds of a pass by length of the text"),
    "mb_by_length": mark("megabytes that it holds at once by length of the text"),
    "tags_by_mixture": mark("parts of speech classified correctly by a small head on top of"),
    "tags_mixture": mark("the mixture learned for parts of speech"),
    "opinions_by_mixture": mark("opinions classified correctly by a small head on top of"),
    "opinions_mixture": mark("the mixture learned for opinions"),
    "accuracy_by_class": mark("accuracy by class"),
    "accuracy_by_fold": mark("accuracy by fold"),
    "top1_by_group": mark("fourth word nearest by group of pairs"),
}
"""Measures with a row for each part of the items."""


def by_part(scores: Sequence[Score], table: str, split: str, subject: str) -> dict[str, float]:
    """Return the rows of a table, those named by a number with the smallest first.

    >>> by_part([Score("bleu_by_length, 2-5 words", "test", "m", 50.0)], "bleu_by_length", "test", "m")
    {'2-5 words': 50.0}
    """
    rows = [
        (score.measure.removeprefix(f"{table}, "), score.value)
        for score in scores
        if (score.split, score.subject) == (split, subject) and score.measure.startswith(f"{table}, ")
    ]
    return dict(sorted(rows, key=lambda row: int((re.findall(r"\d+", row[0]) or [0])[0])))


def read_scores(folder: Path) -> tuple[Score, ...]:
    """Return all rows in their order; () where a model has none. Raises InputError for a file that is not understood."""
    path = find_file(folder, FILE)
    if path is None:
        return ()
    rows = strict_json(small_bytes(path, MB), FILE)
    if not isinstance(rows, list):
        raise InputError(f"{FILE} of {folder.name} is not a list.", RULE, REMEDY)
    return tuple(_score(row, folder.name) for row in rows)


def _score(row: Any, name: str) -> Score:
    words = ("measure", "split", "of")
    given = (
        isinstance(row, dict)
        and set(row) == {*words, "value"}
        and all(isinstance(row[word], str) for word in words)
    )
    if not given or type(row["value"]) not in (int, float) or not math.isfinite(row["value"]):
        raise InputError(f"A row of {FILE} of {name} is not understood: {str(row)[:80]}.", RULE, REMEDY)
    return Score(row["measure"], row["split"], row["of"], row["value"])


def _numbers(measured: Mapping[str, Any]) -> dict[str, float]:
    """Return the fractional numbers of the metrics by name; those of a table with its name in front, `bleu_by_length, 2-5 words`."""
    inner = {
        f"{name}, {row}": value
        for name, table in measured.items()
        if isinstance(table, Mapping)
        for row, value in table.items()
    }
    return {name: value for name, value in {**measured, **inner}.items() if isinstance(value, float)}


def record(
    folder: Path, split: str, measured: Mapping[str, Any], subject: str | None = None
) -> tuple[Score, ...]:
    """Write the metrics that `core.tools.evaluate` measured on a split into scores.json; they replace older rows of the same.

    `subject` names the measured model where it is not the one of this folder.
    """
    subject = subject or folder.name
    new = [
        Score(name, split, subject, value) for name, value in _numbers(measured).items() if name != "seconds"
    ]
    kept = [score for score in read_scores(folder) if (score.split, score.subject) != (split, subject)]
    rows = (*new, *kept)
    objects = (
        {"measure": one.measure, "split": one.split, "of": one.subject, "value": one.value} for one in rows
    )
    text = ",\n ".join(json.dumps(each, ensure_ascii=False) for each in objects)
    (folder / FILE).write_text(f"[{text}]\n", encoding="utf-8")
    return rows
