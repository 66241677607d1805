"""The promise of a ready-made sentence, and whether a model's run keeps it: judged by the run's output, never by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from core.analysis.guesses import guesses, probabilities
from core.data.texts import Preset, texts
from core.run import Run

FIRST = 3
"""A right word is expected among so many guesses; of a toy task it is the first."""
FOLLOWS = {"follows": True, "question": True, "does not follow": False}
"""The tasks of pairs that ask whether the second text goes on from the first, with the right answer."""


@dataclass(frozen=True)
class Outcome:
    """Whether the promise was kept, and what the model did, as a sentence."""

    kept: bool
    says: str


def outcome(row: Preset, run: Run) -> Outcome | None:
    """Return whether a run of the sentence keeps its promise, with a text; None where nothing is promised."""
    if not row.wanted or (
        row.kind == "pair" and (row.task not in FOLLOWS or "next_sentence" not in run.model.outputs)
    ):
        return None
    return JUDGES[row.kind](row, run)


def translated(text: str, model: str, written: str) -> Outcome | None:
    """Return the outcome of the promise where only the translation is known; None for a text that is no ready-made sentence."""
    row = next((row for row in texts("presets") if row.kind == "translate" and row.text == text), None)
    return _compared(row, model, written) if row else None


def _written(row: Preset, run: Run) -> Outcome:
    return _compared(row, run.model.name, run.target_text or "")


def _compared(row: Preset, model: str, written: str) -> Outcome:
    """A translation, or letters copied: letter by letter, for copying without the spaces between."""
    right = [text.replace(" ", "") if row.kind == "copy" else text for text in row.wanted]
    return Outcome(written in right, f"{model} writes “{written}”; right is “{right[0]}”.")


def _hidden(row: Preset, run: Run) -> Outcome:
    mask = run.model.tokenizer.mask
    assert mask is not None
    tokenizer = run.model.tokenizer
    return _guessed(row, run, run.ids.index(mask), FIRST, lambda word: tokenizer.encode(word).ids[:1])


def _next(row: Preset, run: Run) -> Outcome:
    """The next token is a right word, or begins one."""
    return _guessed(
        row, run, run.side.n_real - 1, FIRST if row.kind == "continue" else 1, lambda word: _after(run, word)
    )


def _after(run: Run, word: str) -> Iterator[int]:
    """The token with which the word goes on from the text, glued to it and behind a space."""
    encode, text = run.model.tokenizer.encode, run.side.text
    own = tuple(encode(text).ids)
    for whole in (text + word, f"{text} {word}"):
        found = tuple(encode(whole).ids)
        if found[: len(own)] == own:
            yield found[len(own)]


def _guessed(
    row: Preset, run: Run, position: int, first: int, tokens: Callable[[str], Iterable[int]]
) -> Outcome:
    """The place of the best right word among all guesses."""
    scores = run.logits[position]
    found = {word: int((scores > scores[token]).sum()) + 1 for word in row.wanted for token in tokens(word)}
    word = min(found, key=found.__getitem__)
    best = guesses(run, position, 1)[0][0].strip() or "a line break"
    return Outcome(
        found[word] <= first,
        f"{run.model.name} has “{word}” at rank {found[word]:,} of {len(scores):,}; first comes “{best}”.",
    )


def _follows(row: Preset, run: Run) -> Outcome:
    says, right = bool(probabilities(run.next_sentence)[0] > 0.5), FOLLOWS[row.task]
    told = {True: "goes on from the first", False: "does not go on from the first"}
    return Outcome(
        says == right, f"{run.model.name} says that the second text {told[says]}; in truth it {told[right]}."
    )


def _told(row: Preset, run: Run) -> Outcome:
    """The class with the highest score is the right one."""
    chances = probabilities(run.classes)
    said, classes = int(chances.argmax()), run.model.config.classes
    return Outcome(
        classes[said] in row.wanted,
        f"{run.model.name} predicts {plain(classes[said])} ({100 * chances[said]:.0f}%); it is meant as {plain(row.second)}.",
    )


def plain(label: str) -> str:
    """A class as words.

    >>> plain("fairy_tale")
    'fairy tale'
    """
    return label.replace("_", " ")


JUDGES: Mapping[str, Callable[[Preset, Run], Outcome]] = {
    "translate": _written,
    "copy": _written,
    "fill": _hidden,
    "continue": _next,
    "prompt": _next,
    "repeat": _next,
    "recall": _next,
    "pair": _follows,
    "genre": _told,
}
