"""Conditions that make the sentences of the exhibit on what BERT reads true, step by step."""

from __future__ import annotations

from core.serving.engine import default
from viz.course.bert import wordpiece
from viz.course.bert.bert_input import input_sum
from viz.course.bert.bert_input.input_sum import Sum
from viz.course.bert.bert_input.params import MODEL, Params
from viz.course.bert.bert_input.pieces import altered, row_of
from viz.course.bert.wordpiece import UNKNOWN


def _other_cut(params: Params) -> tuple[str, ...]:
    return wordpiece.cut(
        params.chosen_word, altered(params.chosen_word, wordpiece.vocabulary(params.pieces))[0]
    )


def _unknown(params: Params, line: str) -> int:
    known = wordpiece.vocabulary(line)
    return sum(UNKNOWN in wordpiece.cut(word, known) for word in params.words)


def _turned(params: Params) -> dict[str, float]:
    model, pair = default().open(MODEL), params.pair.strip() or None
    return {
        part: float(input_sum.ablate(model, params.text, pair, part).turned.mean())
        for part in input_sum.PARTS
    }


CUT = {
    "the other vocabulary cuts the word differently": lambda params, data: (
        wordpiece.cut(params.chosen_word, wordpiece.vocabulary(params.pieces)) != _other_cut(params)
    ),
    "the word has a piece that continues it, marked with ##": lambda params, data: any(
        piece.startswith("##")
        for piece in wordpiece.cut(params.chosen_word, wordpiece.vocabulary(params.pieces))
    ),
}
VOCABULARIES = {
    "as many pieces, chosen differently, leave a word unknown": lambda params, data: (
        len(wordpiece.vocabulary(wordpiece.OTHER)) == len(wordpiece.vocabulary(wordpiece.DOCUMENTS))
        and _unknown(params, wordpiece.OTHER) > _unknown(params, wordpiece.DOCUMENTS)
    ),
    "bert-mini knows every word": lambda params, data: UNKNOWN not in data.tokens,
}


def _framed(params: Params, data: Sum) -> bool:
    tokens = row_of(params, data).tokens
    return tokens[0] == "[CLS]" and tokens[-1] == "[SEP]" and tokens.count("[SEP]") == 2


MARKS = {
    "[CLS] stands first, [SEP] ends each text": _framed,
    "the row has 11 tokens, as the table of the slides": lambda params, data: (
        len(row_of(params, data).tokens) == 11
    ),
}
ADDED = {"the three vectors add up to the sum to the last bit": lambda params, data: data.exact}
ABLATION = {
    "the token embedding matters most, by a factor of at least 1.5": lambda params, data: (
        (found := _turned(params))["token"] > 1.5 * max(found["segment"], found["position"])
    )
}
