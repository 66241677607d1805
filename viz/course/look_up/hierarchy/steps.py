"""The steps on words, sentences, a document: each draws its question, its picture and its sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from core.analysis.arithmetic.cell import cell_arithmetic
from viz.charts import marks
from viz.charts.bar_lanes import Lane, bar_lanes
from viz.course.exhibit import Folds
from viz.course.look_up.hierarchy import maths
from viz.course.look_up.hierarchy.params import EXAMPLES, SLUG, Params
from viz.instruments import SUMMING, arithmetic, marked, strip
from viz.labels import distinct, percent
from viz.languages import _, mark
from viz.shell import present_layout
from viz.widgets import controls, engine_client, exhibit_parts, page_parts

WHOLE_TEXT = mark("the whole text")
MOST_OPTIONS = 5
"""Largest number of answers to a question."""
STAYS, SHARE = mark("It stays"), "{:.1%}"
ROOM = 330
"""Height of a chart in present mode, in pixels."""


def guess(params: Params, data: maths.Data) -> Folds:
    """Ask for the sentence with the largest weight, then draw the weights."""
    _examples(params)
    top = data.heaviest
    told = exhibit_parts.predict(
        f"{SLUG}.first",
        _(
            "The network classifies the kind of book that this text is from. Which sentence gets the most weight?"
        ),
        {data.names[i]: float(data.sentences[i]) for i in _option_indices(data.sentences)},
        data.names[top],
        _(
            "It gets {share} of the weight; uniform would be {uniform}. No sentence was marked in training: the network learned from pages and from the kind of book alone.",
            share=percent(data.sentences[top], 2),
            uniform=percent(1 / len(data.sentence_texts), 2),
        ),
    )
    if told:
        _bars(data.names, data.sentences, top, f"{SLUG}.sentences", _("The weight of each sentence."))
    if not (told and exhibit_parts.presenting()):  # before a room there is no place for both
        _text(data, len(data.sentence_texts) if told else None)
    said = (
        _(
            "{n} sentences share {total}.",
            n=len(data.sentence_texts),
            total=percent(round(data.sentences.sum(), 6), 2),
        )
        + f" {_class(data)}"
        if told
        else _(
            "{words} words and punctuation marks in {n} sentences. Guess first, then the weights are shown.",
            words=len(data.words),
            n=len(data.sentence_texts),
        )
    )
    return _summary_and_folds(
        said, params, data, top, revealed=told, equations=("levels.sentences", "levels.document")
    )


def inside(params: Params, data: maths.Data) -> Folds:
    """Ask for the word with the largest weight in one sentence, then shade the words."""
    _examples(params)
    at = controls.pills(
        _("Sentence"),
        range(len(data.sentence_texts)),
        f"{SLUG}.sentence",
        data.heaviest,
        lambda i: str(1 + i),
    )
    places = data.words_of(at)
    weights, words = data.inside[places], distinct(data.words[i] for i in places)
    top = int(weights.argmax())
    told = exhibit_parts.predict(
        f"{SLUG}.word",
        _(
            "Inside sentence {n} the weights of the words sum to {all}. Which word gets the most weight?",
            n=1 + at,
            all=percent(1.0),
        ),
        {words[i]: float(weights[i]) for i in _option_indices(weights)},
        words[top],
        _(
            "“{word}” gets {share} of the attention over {n} words and punctuation marks; with uniform weights it would be {uniform}. The query u_w is the same vector in every sentence of every text.",
            word=words[top],
            share=percent(weights[top], 2),
            n=len(words),
            uniform=percent(1 / len(words), 2),
        ),
    )
    with present_layout.full_width():
        _text(data, at if told else None)
    said = _(
        "Sentence {n} of {all}: “{text}”",
        n=1 + at,
        all=len(data.sentence_texts),
        text=data.sentence_texts[at],
    )
    if told:
        most = [places[i] for i in np.argsort(-weights, kind="stable")[:3]]
        listed = ", ".join(
            _("“{word}” {share}", word=data.words[i], share=percent(data.inside[i], 2)) for i in most
        )
        said = exhibit_parts.by_mode(
            _(
                "Largest weights in sentence {n}: {words}; all its words together {total}.",
                n=1 + at,
                words=listed,
                total=percent(round(weights.sum(), 5), 2),
            ),
            "",  # the verdict and the picture have these numbers
        )
    return _summary_and_folds(
        said,
        params,
        data,
        at,
        revealed=told,
        equations=("levels.key", "levels.words", "levels.sentence"),
        more=partial(_arithmetic, params, at, int(places[top])),
    )


def product(params: Params, data: maths.Data) -> Folds:
    """Ask for the sum of the products of sentence weight and word weight, then shade the text by them."""
    _examples(params)
    most = np.argsort(-data.products, kind="stable")
    n, total = len(data.sentence_texts), float(data.products.sum())
    options = ["1", *([str(n)] if n > 1 else []), _("It depends on the text")]
    told = exhibit_parts.predict(
        f"{SLUG}.sum",
        _(
            "Multiply each word's weight in its sentence by the weight of the sentence, and add up these products over the whole text. What is the sum?"
        ),
        options,
        "1",
        _(
            "Inside sentence i the weights sum to 1, so its words have a_i together; and the a_i sum to 1. For this text: {total:.4f}.",
            total=total,
        ),
    )
    with present_layout.full_width():
        _text(data, n if told else None)
    listed = ", ".join(
        _(
            "“{word}” {sentence} × {inside} = {product}",
            word=data.words[i],
            sentence=percent(data.sentences[data.numbers[i]], 1),
            inside=percent(data.inside[i], 1),
            product=percent(data.products[i], 2),
        )
        for i in most[:3]
    )
    said = _("Largest products: {products}.", products=listed) if told else " "
    return _summary_and_folds(said, params, data, data.heaviest, revealed=told, equations=("levels.product",))


def kinds(params: Params, data: maths.Data) -> Folds:
    """Ask for the predicted kind of book, then draw the six probabilities; for a text of ours say whether the prediction is
    right."""
    _examples(params)
    order = np.argsort(-data.chances, kind="stable")
    best, kinds = int(order[0]), [_(name) for name in data.classes]
    told = exhibit_parts.predict(
        f"{SLUG}.kind",
        _("Which kind of book does the network predict?"),
        dict(zip(kinds, data.chances.tolist(), strict=True)),
        kinds[best],
        _(
            "{kind}, {share}; next {second}, {second_share}.",
            kind=_capitalised(kinds[best]),
            share=percent(data.chances[best], 2),
            second=kinds[order[1]],
            second_share=percent(data.chances[order[1]], 2),
        ),
    )
    if told:
        names, alt = [kinds[i] for i in order], _("The probability of each kind of book.")
        _bars(names, data.chances[order], 0, f"{SLUG}.kinds", alt)
    else:
        _text(data, None)
    return _summary_and_folds(
        _verdict(params, data) if told else " ", params, data, data.heaviest, told, ("levels.classes",)
    )


def deletion(params: Params, data: maths.Data) -> Folds:
    """Ask for the class without the sentence of the largest weight, then draw the loss without each sentence."""
    _examples(params)
    n, name = len(data.chances_without), _(data.classes[data.predicted_class])
    if not n:
        page_parts.summary(_("The text is one sentence: without it nothing is left to read."))
        return _summary_and_folds("", params, data, 0)
    left = data.chances_without[data.heaviest]
    likely = [i for i in np.argsort(-left, kind="stable") if i != data.predicted_class][:3]
    answers = {_(STAYS): float(left[data.predicted_class])} | {
        _("It becomes {kind}", kind=_(data.classes[i])): float(left[i]) for i in likely
    }
    told = exhibit_parts.predict(
        f"{SLUG}.gone",
        _(
            "The network outputs {kind}. Delete the sentence with the largest weight, number {n}: what happens to the class?",
            kind=name,
            n=1 + data.heaviest,
        ),
        answers,
        max(answers, key=answers.__getitem__),
        _(
            "{kind} had {before}; without that sentence it has {after}.",
            kind=_capitalised(name),
            before=percent(data.chances[data.predicted_class], 2),
            after=percent(left[data.predicted_class], 2),
        ),
    )
    lost = data.chances[data.predicted_class] - data.chances_without[:, data.predicted_class]
    lanes = [
        Lane(_("weight of the sentence"), data.sentences, limits=(0.0, 1.0)),
        Lane(
            _("loss of probability of “{kind}” when it is deleted", kind=name), lost if told else None, hue=1
        ),
    ]
    _chart(
        bar_lanes(lanes, labels=[str(1 + i) for i in range(n)], x_title=_("sentence")),
        f"{SLUG}.without",
        _("For each sentence its weight, and what the class loses without it."),
        room=460,
    )
    return _summary_and_folds(
        _deletion_summary(data, lost) if told else " ",
        params,
        data,
        data.heaviest,
        told,
        ("levels.document",),
    )


def measured(params: Params, _data: object) -> Folds:
    """Ask for the accuracy, then draw it beside simpler classifiers, by kind of book, and on our own texts."""
    found, ours = maths.accuracies(), engine_client.submit((SLUG, "ours"), maths.preset_results, 400)
    own, others = maths.MODEL, [name for name in found if name != maths.MODEL]
    best = max(others, key=found.__getitem__, default="")
    books, folds, classes = maths.left_out(), maths.by_fold(), maths.by_class()
    fair = next(iter(books.values()))
    told = exhibit_parts.predict_share(
        f"{SLUG}.right",
        _(
            "What share of the pages from books that it never read does it classify correctly? Always choosing the most frequent kind is right in {share}.",
            share=percent(found.get(maths.COMMONEST, 0.0)),
        ),
        fair,
        _(
            "The mean over {n} networks, each trained without one fifth of the books, is {mean} ({least} to {most})",
            n=len(folds),
            mean=percent(fair, 2),
            least=percent(min(folds)),
            most=percent(max(folds)),
        )
        + (
            _(
                "; on test {share}, {other} {other_share}.",
                share=percent(found[own], 2),
                other=_(best),
                other_share=percent(found[best], 2),
            )
            if best
            else "."
        ),
    )
    if told:
        network = {_("this network, {split}", split=name): value for name, value in books.items()}
        rest = {_("{classifier}, test", classifier=_(name)): found[name] for name in others}
        rows = pd.Series(network | rest)
        _chart(
            marks.bars(rows, SHARE, highlighted=list(network), end=1.0),
            f"{SLUG}.right",
            _("The share of pages that are classified correctly, by classifier and books."),
        )
    wrong = [one for one in ours if not one.passed]
    said = _(
        "By kind of book, mean of the folds, the lowest first: {kinds}. Of our own {n} texts {right} are right. ",
        kinds=", ".join(f"{_(name)} {percent(value)}" for name, value in classes.items()),
        n=len(ours),
        right=len(ours) - len(wrong),
    ) + " ".join(_("“{title}”: {says}", title=_(one.row.task), says=one.says) for one in wrong)
    page_parts.summary(said if told else " ")
    table = pd.DataFrame(
        [(one.row.task, one.says, one.passed) for one in ours], columns=["our text", "output", "right"]
    )
    return Folds(
        table,
        {"accuracy": np.array(list(found.values())), "by_class": np.array(list(classes.values()))},
        revealed=told,
        equations={"levels.classes": {}},
    )


def _examples(params: Params) -> None:
    """Draw buttons for our own texts, named by their kind of book."""
    if not exhibit_parts.presenting():
        examples = {_(name): {f"{SLUG}.text": text} for name, text in EXAMPLES.items()}
        controls.preset_values(examples, f"{SLUG}.ours", {f"{SLUG}.text": params.text})


def _text(data: maths.Data, row: int | None) -> None:
    """Draw the text, each word shaded by a row of weights: a sentence's, or the products; with None sentences are numbered and
    nothing is shaded."""
    if row is None:
        first = np.flatnonzero(np.diff(data.numbers, prepend=-1)).tolist()
        notes = [str(1 + data.numbers[i]) if i in first else "" for i in range(len(data.words))]
        marked(data.words, glued=data.glued, notes=notes, key=f"{SLUG}.plain")
        return
    strip(
        data.rows,
        [*(_("sentence {n}", n=1 + i) for i in range(len(data.sentence_texts))), _(WHOLE_TEXT)],
        keys=data.words,
        key=f"{SLUG}.text",
        selected=row,
        say=SUMMING,
        subject=_("the network"),
        names=(_("the text"), _("shaded by")),
        height=exhibit_parts.by_mode(520, 365),
    )


def _bars(names: Sequence[str], values: np.ndarray, top: int, key: str, alt: str) -> None:
    rows = pd.Series(values, list(names))
    _chart(marks.bars(rows, SHARE, highlighted=[names[top]], end=1.0), key, alt)


def _chart(figure: Any, key: str, alt: str, room: int = ROOM) -> None:
    page_parts.show_large(figure, key, alt, room)


def _option_indices(weights: np.ndarray) -> list[int]:
    """Return the indices of the largest weight and of some others, in the order of the text."""
    order = np.argsort(-weights, kind="stable").tolist()
    spread = [order[round(i * (len(order) - 1) / (MOST_OPTIONS - 1))] for i in range(MOST_OPTIONS)]
    return sorted({*spread} if len(order) > MOST_OPTIONS else {*order})


def _class(data: maths.Data) -> str:
    kind, chance = data.classes[data.predicted_class], data.chances[data.predicted_class]
    return _("Output: {kind} ({share}).", kind=_(kind), share=percent(chance, 2))


def _capitalised(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}"


def _verdict(params: Params, data: maths.Data) -> str:
    """Return the output, and for a text of ours whether it is right."""
    meant = next((name for name, text in EXAMPLES.items() if text == params.text), None)
    one = next(
        (
            one
            for one in engine_client.submit((SLUG, "ours"), maths.preset_results, 400)
            if one.row.task == meant
        ),
        None,
    )
    if one is None:
        return f"{_class(data)} {_('It has six kinds of book, and no class for any other text.')}"
    said = _("That is right.") if one.passed else _("A telling error: {says}", says=one.says)
    return f"{_class(data)} {said}"


def _deletion_summary(data: maths.Data, losses: np.ndarray) -> str:
    """Return a sentence on the deletion that costs most, and on the rank correlation of weight and loss."""
    worst, turned = (
        int(losses.argmax()),
        [1 + i for i, row in enumerate(data.chances_without) if row.argmax() != data.predicted_class],
    )
    said = _(
        "Deleting sentence {n} costs most: {loss} of probability; its weight is {weight}. ",
        n=1 + worst,
        loss=percent(losses[worst], 2),
        weight=percent(data.sentences[worst], 2),
    )
    said += (
        _("The class changes without sentence {numbers}.", numbers=", ".join(map(str, turned)))
        if turned
        else _("No single sentence changes the class.")
    )
    same = maths.agreement(data)
    return (
        said
        if same is None
        else said
        + _(
            " Rank correlation of weight and loss over these {n} sentences: {rank:.2f}.",
            n=len(losses),
            rank=same,
        )
    )


def _arithmetic(params: Params, sentence: int, word: int) -> None:
    """Show the arithmetic of the largest word weight, line by line."""
    run = engine_client.run(maths.MODEL, params.text, keep=maths.KEEP)
    piece = run.side.words[word].pieces[0]
    lines = cell_arithmetic(run, "words", 0, 0, sentence, piece)
    arithmetic(
        lines, key=f"{SLUG}.lines", words=(_("sentence {n}", n=1 + sentence), run.side.words[word].text)
    )


def _summary_and_folds(
    summary: str,
    params: Params,
    data: maths.Data,
    sentence: int,
    revealed: bool = True,
    equations: Sequence[str] = (),
    more: Any = None,
) -> Folds:
    """Write the numbers below the picture and return the folds."""
    if summary:
        page_parts.summary(summary)
    top = int(data.words_of(sentence)[data.inside[data.words_of(sentence)].argmax()])
    values: Mapping[str, Mapping[str, Any]] = {
        "levels.words": {"a_it": f"{data.inside[top]:.3f}"},
        "levels.sentences": {"a_i": f"{data.sentences[sentence]:.3f}"},
    }
    return Folds(
        partial(_table, data),
        {
            "word_weights": data.inside,
            "sentence_weights": data.sentences,
            "products": data.products,
            "sentence": data.numbers,
            "chances": data.chances,
            "without": data.chances_without,
            "lost": data.chances[data.predicted_class] - data.chances_without[:, data.predicted_class],
        },
        {"text": repr(params.text)},
        revealed,
        {key: values.get(key, {}) for key in equations},
        more=more,
    )


def _table(data: maths.Data) -> pd.DataFrame:
    """Return a row per word, the largest product first."""
    order = np.argsort(-data.products, kind="stable")
    return pd.DataFrame(
        {
            "word": [data.words[i] for i in order],
            "sentence": 1 + data.numbers[order],
            "weight in its sentence": data.inside[order].round(4),
            "weight of the sentence": data.sentences[data.numbers[order]].round(4),
            "product": data.products[order].round(4),
        }
    )
