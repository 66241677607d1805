"""What a hierarchical attention network makes of a text: weights at both levels, the class, and what each sentence was worth."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from core.analysis.documents import document_weights, scores_without_sentences
from core.analysis.preset_checks import check_preset, label_text
from core.checkpoints.manifest import shipped_folder
from core.checkpoints.scores import by_part, read_scores
from core.data.texts import Preset, texts
from core.maths import softmax
from core.run import TokenSequence
from core.serving.engine import RunRequest, default
from core.text import Word
from viz.labels import shorten

Array = np.ndarray
MODEL = "han-genres"
KEEP = ("*.attn.*", "document")
SPLIT, VALID, FOLDS = "genres test", "genres valid", "books left out"
"""Splits of the record."""
BEGINNING = 34
"""Letters of a sentence that stand for it in a list."""


@dataclass(frozen=True)
class Data:
    """One text through the network, by word: `words[i]` stands in sentence `numbers[i]`, `glued` are those that touch the one before.

    Shapes: inside, products (word,), sentences (sentence,), chances (class,), left (sentence, class): the
    probabilities without each sentence; no row where there is but one.
    """

    text: str
    words: tuple[str, ...]
    glued: frozenset[int]
    numbers: Array
    inside: Array
    sentences: Array
    whole: tuple[str, ...]
    classes: tuple[str, ...]
    chances: Array
    left: Array

    @property
    def products(self) -> Array:
        """a_i a_it: how much of the document's vector each word is; they sum to 1."""
        return self.inside * self.sentences[self.numbers]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The beginning of each sentence, behind its number."""
        return tuple(
            f"{place + 1}  {shorten(sentence, BEGINNING)}" for place, sentence in enumerate(self.whole)
        )

    @property
    def told(self) -> int:
        """The class with the highest probability."""
        return int(self.chances.argmax())

    @property
    def heaviest(self) -> int:
        return int(self.sentences.argmax())

    def words_of(self, sentence: int) -> Array:
        """The places of a sentence's words."""
        return np.flatnonzero(self.numbers == sentence)

    @cached_property
    def rows(self) -> Array:
        """What shades the text: the words' weights inside each sentence, a row each, and last the products."""
        inside = np.where(self.numbers == np.arange(len(self.whole))[:, None], self.inside, 0.0)
        return np.concatenate((inside, self.products[None]))


def told(text: str) -> Data:
    """A text read once, and once without each of its sentences. Errors: InputError for no word, or more than is read."""
    run = default().run(RunRequest(model=MODEL, text=text, keep=KEEP))
    found, words = document_weights(run), run.side.words
    first = [word.pieces[0] for word in words]
    numbers = np.array(found.numbers)[first]
    left = scores_without_sentences(run)
    return Data(
        text,
        tuple(word.text for word in words),
        _glued(run.side, first),
        numbers,
        _over(found.words, words),
        found.sentences.astype(float),
        run.axis("sentence").tokens,
        tuple(map(label_text, run.model.config.classes)),
        softmax(run.classes),
        np.array([softmax(row) for row in left]).reshape(left.shape),
    )


def _glued(side: TokenSequence, first: list[int]) -> frozenset[int]:
    """The words that touch the one before."""
    starts = [(span or (0, 0))[0] for span in (side.spans[piece] for piece in first)]
    return frozenset(i for i, start in enumerate(starts) if start and not side.text[start - 1].isspace())


def _over(values: Array, words: list[Word]) -> Array:
    """The weights of each word's tokens added."""
    return np.array([values[list(word.pieces)].sum() for word in words], dtype=float)


def agreement(data: Data) -> float | None:
    """The rank correlation (Spearman 1904) of a sentence's weight with what the told class loses without it; None for fewer than three.

    Ties share the mean of their places.
    """
    if len(data.left) < 3:
        return None
    weights, lost = _ranks(data.sentences), _ranks(data.chances[data.told] - data.left[:, data.told])
    if weights.std() == 0 or lost.std() == 0:
        return None
    return float(np.corrcoef(weights, lost)[0, 1])


def _ranks(values: Array) -> Array:
    """Places from the smallest on, ties at the mean of theirs.

    >>> _ranks(np.array([3.0, 1.0, 3.0])).tolist()
    [1.5, 0.0, 1.5]
    """
    return np.array([(values < value).sum() + ((values == value).sum() - 1) / 2 for value in values])


@dataclass(frozen=True)
class Judged:
    """One of our texts: what it is meant as, what the network says, and how sure it is."""

    row: Preset
    says: str
    kept: bool


def ours() -> tuple[Judged, ...]:
    """All of our texts, judged by what comes out now."""
    found = []
    for row in texts("presets"):
        if row.kind == "genre":
            one = check_preset(row, default().run(RunRequest(model=MODEL, text=row.text, keep=())))
            assert one is not None
            found.append(Judged(row, one.summary, one.passed))
    return tuple(found)


def accuracies() -> dict[str, float]:
    """Return the accuracy on test: of this network first, then of what it is measured beside; read from its record."""
    scores = [
        score
        for score in read_scores(shipped_folder() / MODEL)
        if score.split == SPLIT and score.measure in ("accuracy", "commonest")
    ]
    found = {score.subject: score.value for score in scores if score.measure == "accuracy"}
    common = [score.value for score in scores if score.measure == "commonest" and score.subject == MODEL]
    return {**found, **({"always the commonest class": common[0]} if common else {})}


def left_out() -> dict[str, float]:
    """Return the accuracy on books that were left out of training: the mean of the folds, then valid and test; read from the record."""
    scores = read_scores(shipped_folder() / MODEL)
    found = {
        score.split: score.value for score in scores if (score.measure, score.subject) == ("accuracy", MODEL)
    }
    names = {FOLDS: f"mean of {len(by_fold())} folds", VALID: "valid", SPLIT: "test"}
    return {name: found[split] for split, name in names.items() if split in found}


def by_fold() -> tuple[float, ...]:
    """Return the accuracy of each fold, read from the record."""
    return tuple(by_part(read_scores(shipped_folder() / MODEL), "accuracy_by_fold", FOLDS, MODEL).values())


def by_class() -> dict[str, float]:
    """Return the accuracy of each class of book, mean of the folds, the worst first."""
    rows = by_part(read_scores(shipped_folder() / MODEL), "accuracy_by_class", FOLDS, MODEL)
    return {label_text(name): value for name, value in sorted(rows.items(), key=lambda row: row[1])}
