"""A text through a hierarchical attention network: weights at both levels, the class, and the effect of deleting each sentence."""

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
from viz.languages import _, mark, write_number

Array = np.ndarray
MODEL = "han-genres"
KEEP = ("*.attn.*", "document")
SPLIT, VALID, FOLDS = "genres test", "genres valid", "books left out"
"""Splits of the record."""
KINDS = (
    mark("detective"),
    mark("fairy tale"),
    mark("history"),
    mark("nature science"),
    mark("sea story"),
    mark("western"),
)
"""The kinds of book, as `label_text` writes them."""
CLASSIFIERS = mark("linear on tf-idf of words and pairs"), mark("naive Bayes over words")
"""The other classifiers, as the record names them."""
COMMONEST = mark("always the commonest class")
BEGINNING = 34
"""Letters of a sentence that name it in a list."""


@dataclass(frozen=True)
class Data:
    """One text through the network, by word: `words[i]` is in sentence `numbers[i]`, `glued` are words with no space before
    them.

    Shapes: inside, products (word,), sentences (sentence,), chances (class,), left (sentence, class): the
    probabilities without each sentence; no row where there is but one.
    """

    text: str
    words: tuple[str, ...]
    glued: frozenset[int]
    numbers: Array
    inside: Array
    sentences: Array
    sentence_texts: tuple[str, ...]
    classes: tuple[str, ...]
    chances: Array
    chances_without: Array

    @property
    def products(self) -> Array:
        """Return a_i a_it: the share of each word in the document's vector; they sum to 1."""
        return self.inside * self.sentences[self.numbers]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Return the number and the beginning of each sentence."""
        return tuple(
            f"{place + 1}  {shorten(sentence, BEGINNING)}"
            for place, sentence in enumerate(self.sentence_texts)
        )

    @property
    def predicted_class(self) -> int:
        """Return the index of the class with the highest probability."""
        return int(self.chances.argmax())

    @property
    def heaviest(self) -> int:
        return int(self.sentences.argmax())

    def words_of(self, sentence: int) -> Array:
        """Return the indices of a sentence's words."""
        return np.flatnonzero(self.numbers == sentence)

    @cached_property
    def rows(self) -> Array:
        """Return the weights that shade the text: those of the words inside each sentence, one row each, and last the products."""
        inside = np.where(self.numbers == np.arange(len(self.sentence_texts))[:, None], self.inside, 0.0)
        return np.concatenate((inside, self.products[None]))


def read_document(text: str) -> Data:
    """Run the network on a text, and once without each of its sentences. Errors: InputError for no word, or too many."""
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
    """Return the indices of the words that have no space before them."""
    starts = [(span or (0, 0))[0] for span in (side.spans[piece] for piece in first)]
    return frozenset(i for i, start in enumerate(starts) if start and not side.text[start - 1].isspace())


def _over(values: Array, words: list[Word]) -> Array:
    """Return the sum of the weights of each word's tokens."""
    return np.array([values[list(word.pieces)].sum() for word in words], dtype=float)


def agreement(data: Data) -> float | None:
    """Return the rank correlation (Spearman 1904) of a sentence's weight with the loss of the predicted class without it; None
    for fewer than three.

    Ties share the mean of their places.
    """
    if len(data.chances_without) < 3:
        return None
    weights, lost = (
        _ranks(data.sentences),
        _ranks(data.chances[data.predicted_class] - data.chances_without[:, data.predicted_class]),
    )
    if weights.std() == 0 or lost.std() == 0:
        return None
    return float(np.corrcoef(weights, lost)[0, 1])


def _ranks(values: Array) -> Array:
    """Return ranks from the smallest value on; tied values have the mean of their ranks.

    >>> _ranks(np.array([3.0, 1.0, 3.0])).tolist()
    [1.5, 0.0, 1.5]
    """
    return np.array([(values < value).sum() + ((values == value).sum() - 1) / 2 for value in values])


@dataclass(frozen=True)
class PresetResult:
    """One of our texts, the network's class for it with its probability, and whether that is right."""

    row: Preset
    predicted_class: str
    chance: float
    passed: bool

    @property
    def says(self) -> str:
        """Return a sentence on the output and the right class."""
        return _(
            "{model} predicts {kind} ({share}); it is meant as {meant}.",
            model=MODEL,
            kind=_(self.predicted_class),
            share=write_number(f"{100 * self.chance:.0f}%"),
            meant=_(label_text(self.row.second)),
        )


def preset_results() -> tuple[PresetResult, ...]:
    """Run the network on all of our texts and return the results."""
    found = []
    for row in texts("presets"):
        if row.kind == "genre":
            run = default().run(RunRequest(model=MODEL, text=row.text, keep=()))
            one, chances = check_preset(row, run), softmax(run.classes)
            assert one is not None
            said = label_text(run.model.config.classes[int(chances.argmax())])
            found.append(PresetResult(row, said, float(chances.max()), one.passed))
    return tuple(found)


def accuracies() -> dict[str, float]:
    """Return the accuracy on test: of this network first, then of the classifiers it is compared with; read from its record."""
    scores = [
        score
        for score in read_scores(shipped_folder() / MODEL)
        if score.split == SPLIT and score.measure in ("accuracy", "commonest")
    ]
    found = {score.subject: score.value for score in scores if score.measure == "accuracy"}
    common = [score.value for score in scores if score.measure == "commonest" and score.subject == MODEL]
    return {**found, **({COMMONEST: common[0]} if common else {})}


def left_out() -> dict[str, float]:
    """Return the accuracy on books that were left out of training: the mean of the folds, then valid and test; read from the record."""
    scores = read_scores(shipped_folder() / MODEL)
    found = {
        score.split: score.value for score in scores if (score.measure, score.subject) == ("accuracy", MODEL)
    }
    names = {FOLDS: _("mean of {n} folds", n=len(by_fold())), VALID: _("valid"), SPLIT: _("test")}
    return {name: found[split] for split, name in names.items() if split in found}


def by_fold() -> tuple[float, ...]:
    """Return the accuracy of each fold, read from the record."""
    return tuple(by_part(read_scores(shipped_folder() / MODEL), "accuracy_by_fold", FOLDS, MODEL).values())


def by_class() -> dict[str, float]:
    """Return the accuracy of each class of book, mean of the folds, the worst first."""
    rows = by_part(read_scores(shipped_folder() / MODEL), "accuracy_by_class", FOLDS, MODEL)
    return {label_text(name): value for name, value in sorted(rows.items(), key=lambda row: row[1])}
