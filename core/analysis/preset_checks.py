"""Checks of ready-made sentences: whether a model's output is what the sentence promises."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from core.analysis.predictions import top_predictions
from core.data.texts import Preset, texts
from core.maths import softmax
from core.run import Run

FIRST = 3
"""A right word is expected among so many guesses; of a toy task it is the first."""
FOLLOWS = {"follows": True, "question": True, "does not follow": False}
"""The tasks of pairs that ask whether the second text goes on from the first, with the right answer."""


@dataclass(frozen=True)
class CheckResult:
    """Whether the check passed, the model's output in a sentence, and of a translation the right one."""

    passed: bool
    summary: str
    right: str = ""


def check_preset(row: Preset, run: Run) -> CheckResult | None:
    """Check a run of the sentence against what the sentence promises; None where nothing is promised."""
    if not row.answers or (
        row.kind == "pair" and (row.task not in FOLLOWS or "next_sentence" not in run.model.outputs)
    ):
        return None
    return CHECKS[row.kind](row, run)


def check_translation(text: str, model: str, translation: str) -> CheckResult | None:
    """Check a translation of a ready-made sentence; None for a text that is none."""
    row = next((row for row in texts("presets") if row.kind == "translate" and row.text == text), None)
    return _compare_translation(row, model, translation) if row else None


def _check_output(row: Preset, run: Run) -> CheckResult:
    return _compare_translation(row, run.model.name, run.target_text or "")


def _compare_translation(row: Preset, model: str, translation: str) -> CheckResult:
    """Compare a translation, or letters copied, letter by letter; for copying without the spaces between."""
    right = [text.replace(" ", "") if row.kind == "copy" else text for text in row.answers]
    return CheckResult(
        translation in right, f"{model} writes “{translation}”; right is “{right[0]}”.", right[0]
    )


def _check_blank(row: Preset, run: Run) -> CheckResult:
    mask = run.model.tokenizer.mask
    assert mask is not None
    tokenizer = run.model.tokenizer
    return _check_rank(row, run, run.ids.index(mask), FIRST, lambda word: tokenizer.encode(word).ids[:1])


def _check_next_token(row: Preset, run: Run) -> CheckResult:
    """Check that the next token is, or begins, a right word."""
    return _check_rank(
        row,
        run,
        run.side.n_real - 1,
        FIRST if row.kind == "continue" else 1,
        lambda word: _next_token_ids(run, word),
    )


def _next_token_ids(run: Run, word: str) -> Iterator[int]:
    """Yield the token with which the word continues the text, both glued to it and after a space."""
    encode, text = run.model.tokenizer.encode, run.side.text
    own = tuple(encode(text).ids)
    for whole in (text + word, f"{text} {word}"):
        found = tuple(encode(whole).ids)
        if found[: len(own)] == own:
            yield found[len(own)]


def _check_rank(
    row: Preset, run: Run, position: int, first: int, tokens: Callable[[str], Iterable[int]]
) -> CheckResult:
    """Check the rank of the best right word among all predictions."""
    scores = run.logits[position]
    found = {word: int((scores > scores[token]).sum()) + 1 for word in row.answers for token in tokens(word)}
    word = min(found, key=found.__getitem__)
    best = top_predictions(run, position, 1)[0][0].strip() or "a line break"
    return CheckResult(
        found[word] <= first,
        f"{run.model.name} has “{word}” at rank {found[word]:,} of {len(scores):,}; first comes “{best}”.",
    )


def _check_next_sentence(row: Preset, run: Run) -> CheckResult:
    says, right = bool(softmax(run.next_sentence)[0] > 0.5), FOLLOWS[row.task]
    told = {True: "goes on from the first", False: "does not go on from the first"}
    return CheckResult(
        says == right, f"{run.model.name} says that the second text {told[says]}; in truth it {told[right]}."
    )


def _check_class(row: Preset, run: Run) -> CheckResult:
    """Check that the class with the highest score is the right one."""
    chances = softmax(run.classes)
    said, classes = int(chances.argmax()), run.model.config.classes
    return CheckResult(
        classes[said] in row.answers,
        f"{run.model.name} predicts {label_text(classes[said])} ({100 * chances[said]:.0f}%); it is meant as {label_text(row.second)}.",
    )


def label_text(label: str) -> str:
    """Return a class label as words.

    >>> label_text("fairy_tale")
    'fairy tale'
    """
    return label.replace("_", " ")


CHECKS: Mapping[str, Callable[[Preset, Run], CheckResult]] = {
    "translate": _check_output,
    "copy": _check_output,
    "fill": _check_blank,
    "continue": _check_next_token,
    "prompt": _check_next_token,
    "repeat": _check_next_token,
    "recall": _check_next_token,
    "pair": _check_next_sentence,
    "genre": _check_class,
}
