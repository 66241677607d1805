"""Conditions that make the sentences of the exhibit on masked words true, step by step."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from core.checkpoints.record import trained
from core.serving.engine import default
from core.training.recipes import bert_mini
from viz.course.bert import hidden_words, masking
from viz.course.bert.hidden_words import Text
from viz.course.bert.masked_words import blanks, draws
from viz.course.bert.masked_words.params import MODEL, WRITER, Params

SMALL = ("the", "a", "and", "in", "into", "by", ".")


@lru_cache(maxsize=4)
def _each_word(text: str) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Return the words that can be masked, and the probability of each from both sides and from the left."""
    bert, gpt = default().open(MODEL), default().open(WRITER)
    found = hidden_words.read(bert, text, 99)
    places = blanks.askable(found)
    both = [each.target_chance for each in hidden_words.in_turn(bert, found, places)]
    left = [chance for chance, _ in hidden_words.from_the_left(gpt, found, places)]
    return [found.tokens[place] for place in places], np.array(both), np.array(left)


def _small_words_are_easy(params: Params, text: Text) -> bool:
    names, both, _ = _each_word(params.text)
    small = np.isin(names, SMALL)
    return both[small].mean() > 1.5 * both[~small].mean()


def _sides(params: Params, text: Text) -> dict[str, float]:
    found = hidden_words.contexts(default().open(MODEL), text, blanks.place_of(params, text))[1]
    return {name: each.target_chance for name, each in found.items()}


def _one_draw(params: Params, text: Text) -> masking.Draw:
    return masking.draw(text.ids, text.special, params.draw, **draws.how(text, params))


def _inside(params: Params, text: Text) -> bool:
    found = masking.count(text.ids, text.special, params.draws, params.draw, **draws.how(text, params))
    return found.outside == 0 and int(found.chosen_counts[text.special].sum()) == 0


BLANK = {
    "small words are easier than the others": _small_words_are_easy,
    "the most probable word is the hidden one": lambda params, text: (
        (found := blanks.guess(default().open(MODEL), text, params)).best[0][1] == found.target_chance
    ),
}
ONE_DRAW = {
    "15% of the tokens are chosen, rounded, and no special one": lambda params, text: (
        (fate := _one_draw(params, text).fate)[text.special].max() == masking.NOT_CHOSEN
        and int((fate != masking.NOT_CHOSEN).sum()) == params.rates.n_chosen(int((~text.special).sum()))
    ),
    "one of the chosen tokens is not hidden": lambda params, text: bool(
        np.isin(_one_draw(params, text).fate, (masking.CHANGED, masking.LEFT)).any()
    ),
}
COUNTED = {"no count lies outside its band, special tokens are never chosen": _inside}
SIDES = {
    "with both sides the hidden word is most probable": lambda params, text: (
        (found := _sides(params, text))["both"] > 1.3 * max(found["left only"], found["right only"])
    ),
    "each side helps": lambda params, text: (
        min((found := _sides(params, text))["left only"], found["right only"]) > found["neither"]
    ),
}
BOTH_OR_LEFT = {
    "both sides win at most words and on average": lambda params, text: (
        ((both := _each_word(params.text)[1]) > (left := _each_word(params.text)[2])).mean() > 0.6
        and both.mean() > left.mean() + 0.1
    )
}
RECIPE = {
    "the paper's numbers make about 40 epochs": lambda params, text: (
        39 < masking.epochs(masking.tokens_a_step(params.sequences, params.length), params.steps) < 41
    ),
    "half the length halves the epochs": lambda params, text: (
        masking.tokens_a_step(params.sequences, params.length // 2) * 2
        == masking.tokens_a_step(params.sequences, params.length)
    ),
    "bert-mini ends with a larger share hidden than it began with or the same": lambda params, text: (
        0 < bert_mini.mix(trained(MODEL).steps).share <= 0.5
    ),
}
