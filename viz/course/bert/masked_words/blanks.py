"""Steps of the exhibit on masked words about one blank: its prediction, and the information of each side."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import streamlit as st

from core.checkpoints.record import trained
from core.model import Model
from core.serving.engine import default
from core.training.recipes import bert_mini
from viz.charts import marks
from viz.charts.bar_lanes import Lane, bar_lanes
from viz.course.bert import hidden_words
from viz.course.bert.charts.token_rows import Row, token_rows
from viz.course.bert.hidden_words import CONTEXTS, BlankPrediction, Text
from viz.course.bert.masked_words.params import MODEL, SLUG, WRITER, Params
from viz.course.exhibit import Folds
from viz.labels import distinct, list_values, percent, visible
from viz.shell import present_layout
from viz.widgets import controls, engine_client, exhibit_parts, page_parts

MASK = "[MASK]"
WINNERS = ("bert-mini, from both sides", "gpt-mini, from the left", "both equally often")
LANES = ("bert-mini, both sides: P of the true word, %", "gpt-mini sees the left side only")


def blank(params: Params, text: Text) -> Folds:
    """Ask for the most probable word at the blank, then draw the predictions."""
    place, model = place_of(params, text), default().open(MODEL)
    key = ("masked_words.blank", params.text, place)
    found = engine_client.submit(key, lambda: guess(model, text, params), 60 * len(params.text))
    truth, read = visible(text.tokens[place]), with_blank(text, place)
    chances = {visible(word): chance for word, chance in found.best}
    first = next(iter(chances))
    told = exhibit_parts.predict(
        SLUG + "blank",
        f"One word is hidden: {' '.join(visible(token) for token in read[1:-1])} "
        "Which word is the most probable one for bert-mini?",
        dict(sorted(({truth: found.target_chance} | chances).items())),
        first,
        f"{first} {percent(chances[first])}; the sentence has “{truth}”, which gets {percent(found.target_chance)}.",
    )
    marked = [0 if at == place else None for at in range(len(text.tokens))]
    picture = token_rows([Row("reads", read, marked)], across=6, high=26, room=exhibit_parts.by_mode(0, 110))
    page_parts.show(picture, SLUG + "reads", "The sentence with one word hidden.")
    rows = pd.Series(chances | {truth: found.target_chance})
    if not told:
        rows = rows.sort_index()
    every = f": {list_values(chances)}."
    page_parts.show(
        marks.bars(rows, percent, highlighted=[truth] if told else [], covered=not told),
        SLUG + "said",
        "Probabilities at the blank" + (every if told else ", covered until you guess."),
    )
    n, surest = len(model.tokenizer), max(found.target_chance, 1e-300)
    page_parts.summary(
        f"“{truth}” was hidden and gets {percent(found.target_chance)}: surprisal {-math.log2(surest):.2f} bits. "
        f"By chance (baseline), each of {n:,} tokens would get {percent(1 / n, 3)}."
        if told
        else "The probabilities are shown after your guess. The strong bar will be the hidden word."
    )
    pick_word(params, text)
    return Folds(
        lambda: pd.DataFrame(found.best, columns=["token", "probability"]),
        {"probability": [chance for _, chance in found.best]},
        {"model": MODEL, "place": place},
        told,
        {"bert.masked": {}, "output.softmax": {}},
        (rf"L = -\log P = {-math.log(surest):.4f} \text{{ nats}}",),
    )


def sides(params: Params, text: Text) -> Folds:
    """Ask which context is best, then draw the probability of the masked word with one side, both or neither visible."""
    place, model = place_of(params, text), default().open(MODEL)
    key = ("masked_words.sides", params.text, place)
    rows, found = engine_client.submit(
        key, lambda: hidden_words.contexts(model, text, place), 240 * len(params.text)
    )
    wanted = {name: found[name].target_chance for name in CONTEXTS}
    best = max(CONTEXTS, key=lambda name: wanted[name])
    truth, mask = visible(text.tokens[place]), model.tokenizer.mask
    told = exhibit_parts.predict(
        SLUG + "sides",
        f"“{truth}” is hidden. Which visible words give it the highest probability?",
        wanted,
        best,
        "; ".join(f"{name}: {percent(chance, 2)}" for name, chance in wanted.items()) + ".",
    )

    def line(name: str, ids: np.ndarray) -> Row:
        word, chance = found[name].best[0]
        said = f"{visible(word)}:{percent(chance)}" if told else "?"
        cells = [MASK if id == mask else token for id, token in zip(ids, text.tokens, strict=True)]
        hues: list[int | None] = [0 if id == mask else None for id in ids]
        cells[place], hues[place] = said, 1
        return Row(name, cells, hues)

    with present_layout.full_width():
        left, right = st.columns([1, 2], gap="medium")
    with left:
        values = np.array(list(wanted.values()))
        most = max(1.0, 115 * float(values.max()))
        lane = Lane(f"P({truth}), percent", 100 * values if told else None, 0, (0, most), places=2)
        page_parts.show(
            bar_lanes(
                [lane], labels=[name.split()[0] for name in CONTEXTS], height=exhibit_parts.by_mode(270, 335)
            ),
            SLUG + "sides",
            f"The probability of {truth} with neither side, the left, the right, and both in sight"
            + (f": highest with {best}." if told else "; covered."),
        )
    with right:
        table = [line(name, row) for name, row in zip(CONTEXTS, rows, strict=True)]
        page_parts.show(
            token_rows(
                table, across=6, high=exhibit_parts.by_mode(28, 22), room=exhibit_parts.by_mode(0, 305)
            ),
            SLUG + "rows",
            "What is read in each of the four cases; the blank holds the best guess.",
        )
    every = list_values(wanted, lambda chance: percent(chance, 2))
    page_parts.summary(
        f"Probability of “{truth}”: {every}."
        if told
        else "The same blank four times, with more or less of the sentence visible."
    )
    pick_word(params, text)
    share = bert_mini.mix(trained(MODEL).steps).share
    return Folds(
        lambda: pd.DataFrame(
            {
                "context": CONTEXTS,
                "P": values,
                "best guess": [found[name].best[0][0] for name in CONTEXTS],
            }
        ),
        {"P": values},
        {"model": MODEL, "place": place},
        told,
        {"bert.masked": {}},
        [rf"P_{{\text{{{name}}}}} = {chance:.6f}" for name, chance in wanted.items()],
        look={"last": percent(share), "first": percent(bert_mini.HIDDEN)},
    )


def both_or_left(params: Params, text: Text) -> Folds:
    """Ask which model is better more often, then draw the probability of each word, masked in turn, from both sides and from
    the left."""
    places = askable(text)
    key, cost = ("masked_words.both", params.text), 200 * len(params.text)
    bert, gpt = engine_client.submit(key, lambda: _each_word(text, places), cost)
    both, left = np.array([said.target_chance for said in bert]), np.array([chance for chance, _ in gpt])
    known = ~np.isnan(left)
    wins = int((both > left)[known].sum()), int((left > both)[known].sum())
    told = exhibit_parts.predict(
        SLUG + "who",
        f"Each of {len(places)} words is hidden in turn. "
        "Which model gives the true word the higher probability more often?",
        dict(zip(WINNERS, (*wins, 0), strict=True)),
        WINNERS[0] if wins[0] > wins[1] else WINNERS[1] if wins[1] > wins[0] else WINNERS[2],
        f"bert-mini (both sides) at {wins[0]} words, gpt-mini (left only) at {wins[1]}.",
    )
    names = distinct([text.tokens[place] for place in places]) or ["–"]
    values = [100 * np.nan_to_num(row) if len(places) else np.zeros(1) for row in (both, left)]
    place = place_of(params, text)
    at = places.index(place) if place in places else 0
    mine = frozenset([at]) if place in places else None
    lanes = [
        Lane(name, row if told else None, hue, (0, 108), marked=mine, places=1)
        for hue, (name, row) in enumerate(zip(LANES, values, strict=True))
    ]
    page_parts.show(
        bar_lanes(lanes, labels=names, height=exhibit_parts.by_mode(420, 380)),
        SLUG + "both",
        "The probability of each true word from both sides and from the left"
        + (f"; both sides win at {wins[0]} words, the left at {wins[1]}." if told else "; covered."),
    )
    page_parts.summary(
        f"“{names[at]}”: {values[0][at]:.1f}% from both sides, {values[1][at]:.1f}% from the left. "
        f"Both sides win at {wins[0]} of {int(known.sum())} words, the left at {wins[1]}; "
        f"on average {values[0].mean():.1f}% and {values[1].mean():.1f}%."
        if told
        else f"{len(places)} words, each hidden once. The bars of the chosen word are strong."
    )
    pick_word(params, text)
    means = [row.mean() / 100 for row in values]
    return Folds(
        lambda: pd.DataFrame(
            {"bert-mini": both, "gpt-mini": left, "gpt-mini's own": [own for _, (own, _) in gpt]},
            index=names[: len(places)],
        ),
        {"both": both, "left": left},
        {"model": MODEL, "writer": WRITER, "place": place, "places": places},
        told,
        {"bert.masked": {}, "masked.mask": {}},
        (rf"\text{{mean: both sides }} {means[0]:.4f}, \quad \text{{left }} {means[1]:.4f}",),
    )


def _each_word(
    text: Text, places: list[int]
) -> tuple[list[BlankPrediction], list[tuple[float, tuple[str, float]]]]:
    bert, gpt = default().open(MODEL), default().open(WRITER)
    return hidden_words.in_turn(bert, text, places), hidden_words.from_the_left(gpt, text, places)


def askable(text: Text) -> list[int]:
    """Return the positions of the words that are one token each: one blank has their whole answer."""
    return [places[0] for _, places, _ in text.words if len(places) == 1]


def place_of(params: Params, text: Text) -> int:
    """Return the position of the masked word; of a sentence without such a word the first token."""
    places = askable(text) or [1]
    return places[min(params.word, len(places) - 1)]


def pick_word(params: Params, text: Text) -> None:
    """Draw pills with the words of the sentence that can be masked."""
    places = askable(text) or [1]
    names = distinct([text.tokens[place] for place in places])
    now = min(params.word, len(places) - 1)
    controls.pills("Hidden word", range(len(places)), SLUG + "word", now, lambda at: names[at])


def guess(model: Model, text: Text, params: Params) -> BlankPrediction:
    """Return the prediction at the blank."""
    return hidden_words.in_turn(model, text, [place_of(params, text)])[0]


def with_blank(text: Text, place: int) -> list[str]:
    """Return the tokens with one of them masked."""
    return [MASK if at == place else token for at, token in enumerate(text.tokens)]
