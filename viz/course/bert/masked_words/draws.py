"""Steps of the exhibit on masked words about sampling: one sample with its labels, and many counted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from core.errors import InputError
from core.serving.engine import default
from viz.charts.bar_lanes import Lane, bar_lanes
from viz.course.bert import hidden_words, masking
from viz.course.bert.charts.token_rows import Row, token_rows
from viz.course.bert.hidden_words import BlankPrediction, Text
from viz.course.bert.masked_words.params import MODEL, SLUG, Params
from viz.course.exhibit import Folds
from viz.labels import distinct, list_values, percent, visible
from viz.widgets import engine_client, exhibit_parts, page_parts

FATES = ("[MASK]", "random", "left")
HUES = {masking.HIDDEN: 0, masking.CHANGED: 3, masking.LEFT: 2}
TOKENS = 10_000


def one_draw(params: Params, text: Text) -> Folds:
    """Draw the text, the input, the labels, and bert-mini's predictions."""
    one, model = masking.draw(text.ids, text.special, params.draw, **how(text, params)), default().open(MODEL)
    places = np.flatnonzero(one.fate != masking.NOT_CHOSEN).tolist()

    def answers() -> list[BlankPrediction]:
        chances = hidden_words.chances_at(model, np.repeat(one.read[None], len(places), axis=0), places)
        wanted = text.ids[places]
        return [
            hidden_words.blank_prediction(model, row, int(id))
            for row, id in zip(chances, wanted, strict=True)
        ]

    key = ("masked_words.drawn", params.text, params.draw, params.rates)
    found = dict(zip(places, engine_client.submit(key, answers, 60 * len(params.text)), strict=True))
    names, read = text.tokens, [model.tokenizer.token(int(id)) for id in one.read]
    hues = [HUES.get(int(fate)) for fate in one.fate]
    everywhere = range(len(names))
    best = {at: said.best[0][0] for at, said in found.items()}
    table = [
        Row("text", names),
        Row("reads", read, hues),
        Row("label", [names[at] if at in found else "" for at in everywhere], hues),
        Row(
            "bert-mini",
            [visible(best[at]) if at in found else "" for at in everywhere],
            [None if at not in found else 2 if best[at] == names[at] else 1 for at in everywhere],
        ),
    ]
    m = int((~text.special).sum())
    became = "; ".join(f"{visible(names[at])} becomes {masking.FATES[one.fate[at]]}" for at in places)
    page_parts.show(
        token_rows(
            table,
            across=6 if len(names) <= 18 else 8,
            high=exhibit_parts.by_mode(30, 26),
            room=exhibit_parts.by_mode(0, 405),
        ),
        SLUG + "drawn",
        f"{len(places)} of {m} tokens are chosen: {became}.",
    )
    each = ", ".join(
        f"“{visible(names[at])}” {'stays' if one.fate[at] == masking.LEFT else '→ ' + visible(read[at])} "
        f"(predicted with {percent(said.target_chance)})"
        for at, said in found.items()
    )
    share = params.rates.share
    page_parts.summary(
        f"{percent(share)} of {m} tokens are {share * m:.2f}, so {len(places)} "
        f"{'is' if len(places) == 1 else 'are'} chosen: {each}. [CLS] and [SEP] are never chosen."
    )
    loss = np.mean([-np.log(max(said.target_chance, 1e-300)) for said in found.values()])
    return Folds(
        lambda: pd.DataFrame(
            {
                "text": [visible(token) for token in names],
                "reads": [visible(token) for token in read],
                "what became of it": [masking.FATES[fate] for fate in one.fate],
                "label": one.labels,
                "probability": [found[at].target_chance if at in found else np.nan for at in everywhere],
            }
        ),
        {"read": one.read, "fate": one.fate, "labels": one.labels, "share": share},
        {"model": MODEL},
        equations={"bert.masked": {}},
        latex=(
            rf"\text{{labels: }} {', '.join(map(str, one.labels))}",
            rf"L = {loss:.4f} \text{{ nats, the mean over }} {len(places)}",
        ),
    )


def counted(params: Params, text: Text) -> Folds:
    """Ask how many tokens become [MASK], then draw the counts of many samples, beside the expected ones."""
    key = ("masked_words.counted", params.text, params.draw, params.rates, params.draws)
    found = engine_client.submit(key, lambda: _count(params, text), 20 * params.draws)
    now, (hidden, changed, kept) = params.rates, TOKENS * params.rates.share * params.rates.parts
    told = exhibit_parts.predict_number(
        SLUG + "count",
        f"In a text of {TOKENS:,} tokens {percent(now.share)} are chosen. How many tokens become [MASK]?",
        0.0,
        3000.0 if now.share <= 0.3 else 5000.0,
        float(round(hidden)),
        f"{TOKENS * now.share:,.0f} are chosen, and of these {percent(now.parts[0])} become [MASK]: "
        f"{hidden:,.0f}. {changed:,.0f} become a random word, {kept:,.0f} stay. The loss counts all "
        f"{TOKENS * now.share:,.0f}.",
        50.0,
    )
    free = int(np.flatnonzero(~text.special)[0])
    middle, far = float(found.chosen_expected[free]), masking.NEAR * float(found.chosen_deviation[free])
    narrow = exhibit_parts.presenting()  # a question stands beside
    left, right = st.columns(2 if narrow else [3, 2], gap="medium")
    with left:
        lane = Lane(
            f"Chosen in {params.draws:,} draws",
            found.chosen_counts.astype(float),
            0,
            (0, 1.2 * max(1.0, float(found.chosen_counts.max()), middle + far)),
            (max(0.0, middle - far), middle + far),
            places=0,
        )
        page_parts.show(
            bar_lanes([lane], labels=distinct(text.tokens), height=290),
            SLUG + "chosen",
            f"Each word about {middle:.0f} times, [CLS] and [SEP] never.",
        )
    with right:
        lane = Lane(
            "Became" if narrow else "What became of them",
            found.fates.astype(float) if told else None,
            3,
            (0, 1.15 * max(1, found.total)),
            places=0,
        )
        became_of = list_values(zip(FATES, found.fates, strict=True), "{}")
        page_parts.show(
            bar_lanes([lane], labels=FATES, height=290),
            SLUG + "fates",
            f"What became of the chosen tokens: {became_of}."
            if told
            else "What became of the chosen tokens; covered.",
        )
    expected = list(zip(found.fates_expected, masking.NEAR * found.fates_deviation, strict=True))
    bounds = ", ".join(
        f"{name} {n:,} (expected {wanted:,.0f} ± {around:,.0f})"
        for name, n, (wanted, around) in zip(FATES, found.fates, expected, strict=True)
    )
    page_parts.summary(
        f"{params.draws:,} draws, {found.total:,} tokens chosen: {bounds}. "
        f"{found.outside} counts lie outside their range."
        if told
        else f"{params.draws:,} draws: each word about {middle:.0f} times, [CLS] and [SEP] 0 times."
    )
    m = int((~text.special).sum())
    ranges = r",\ \ ".join(rf"{wanted:.0f} \pm {around:.1f}" for wanted, around in expected)
    return Folds(
        lambda: pd.DataFrame(
            {
                "chosen": found.chosen_counts,
                "expected": found.chosen_expected.round(1),
                "deviation": found.chosen_deviation.round(2),
            },
            index=distinct(text.tokens),
        ),
        {
            "chosen": found.chosen_counts,
            "fates": found.fates,
            "expected": found.fates_expected,
            "deviation": found.fates_deviation,
        },
        {"model": MODEL},
        told,
        latex=(rf"n q \pm 3 \sqrt{{n q (1 - q)}}, \quad n = {found.total}: \quad {ranges}",),
        look={"chosen": now.n_chosen(m), "m": m},
    )


def _count(params: Params, text: Text) -> masking.Count:
    return masking.count(text.ids, text.special, params.draws, params.draw, **how(text, params))


def how(text: Text, params: Params) -> dict[str, Any]:
    """Return the arguments of every sample: the mask, the possible random tokens, the rates. Raises InputError where no token
    can be chosen."""
    if text.special.all():
        raise InputError(
            f"No word of this text is in the vocabulary of {MODEL}.",
            "[UNK], the token for unknown words, is never chosen.",
            "Type a sentence of common words.",
        )
    tokenizer = default().open(MODEL).tokenizer
    special = set(tokenizer.special_tokens.values())
    drawable = np.array([index for index in range(len(tokenizer)) if index not in special])
    return {"mask": tokenizer.mask, "drawable": drawable, "rates": params.rates}
