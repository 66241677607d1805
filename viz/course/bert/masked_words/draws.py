"""Steps of the exhibit on masked words about the draw: one draw with what is asked, and many of them counted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from core.serving.engine import default
from viz.charts.bar_lanes import Lane, bar_lanes
from viz.course.bert.charts.token_rows import Row, token_rows
from viz.course.bert.masked_words import maths as hidden_words
from viz.course.bert.masked_words.blanks import MODEL, SLUG
from viz.course.bert.masked_words.maths import Text
from viz.course.bert.maths import masking
from viz.course.shared.shown import Shown
from viz.labels import distinct, percent, visible
from viz.widgets import compute as ask
from viz.widgets import controls, lesson, parts

START = 3
DRAWS = (10, 100, 1000, 10_000)
FATES = ("[MASK]", "random", "left")
HUES = {masking.HIDDEN: 0, masking.CHANGED: 3, masking.LEFT: 2}
TOKENS = 10_000


def how(text: Text, params: Any) -> dict[str, Any]:
    """What every draw is given: the mask, the tokens that may stand in, the rates."""
    model = default().open(MODEL)
    special = set(model.tokenizer.special_tokens.values())
    drawable = np.array([index for index in range(len(model.tokenizer)) if index not in special])
    return {"mask": model.tokenizer.mask, "drawable": drawable, "rates": params.rates}


def lines(params: Any) -> str:
    """The first lines of Python of both steps."""
    rates = params.rates
    return (f"import core\nimport numpy as np\nfrom viz.course.bert.masked_words import maths as hidden_words\nfrom viz.course.bert.maths import masking\n\nmodel = core.open_model({MODEL!r})\n"
            f"text = hidden_words.read(model, {params.text!r}, 30)\nspecial = set(model.tokenizer.special_tokens.values())\n"
            f"drawable = np.array([i for i in range(len(model.tokenizer)) if i not in special])\n"
            f"how = dict(mask=model.tokenizer.mask, drawable=drawable, rates=masking.Rates({rates.share}, {rates.masked}, {rates.redrawn}))\n")  # fmt: skip


def rates() -> None:
    """Sliders of the three rates."""
    left, middle, right = st.columns(3, gap="medium")
    with left:
        controls.slider("Share that is chosen", 0.05, 0.5, SLUG + "share", 0.15, 0.05)
    with middle:
        controls.slider("Of those [MASK]", 0.0, 1.0, SLUG + "masked", 0.8, 0.05)
    with right:
        controls.slider("Of those a random word", 0.0, 1.0, SLUG + "redrawn", 0.1, 0.05)


def drawn(params: Any, text: Text) -> Shown:
    """The text, what is read, what is to be said, and what bert-mini says there."""
    one = masking.draw(text.ids, text.special, params.draw, **how(text, params))
    tokenizer = default().open(MODEL).tokenizer
    places = np.flatnonzero(one.fate != masking.NOT_CHOSEN).tolist()

    def answers() -> list[hidden_words.Said]:
        chances = hidden_words.at(default().open(MODEL), np.repeat(one.read[None], len(places), axis=0), places)
        return [hidden_words.said(default().open(MODEL), row, int(text.ids[place])) for row, place in zip(chances, places, strict=True)]

    found = dict(zip(places, ask.submit(("masked_words.drawn", params.text, params.draw, params.rates), answers, 60 * len(params.text)), strict=True))
    hues = [HUES.get(int(fate)) for fate in one.fate]
    wanted = [text.tokens[at] if at in found else "" for at in range(len(text.tokens))]
    best = [f"{visible(found[at].best[0][0])}" if at in found else "" for at in range(len(text.tokens))]
    table = [Row("text", text.tokens), Row("reads", [tokenizer.token(int(index)) for index in one.read], hues), Row("to say", wanted, hues),
             Row("bert-mini", best, [None if at not in found else 2 if found[at].best[0][0] == text.tokens[at] else 1 for at in range(len(text.tokens))])]  # fmt: skip
    parts.show(token_rows(table, across=6 if len(text.tokens) <= 18 else 8, high=26 if lesson.presenting() else 30), SLUG + "drawn",
               f"{len(places)} of {int((~text.special).sum())} tokens are chosen: " + "; ".join(f"{visible(text.tokens[at])} becomes {masking.FATES[one.fate[at]]}" for at in places) + ".")  # fmt: skip
    m = int((~text.special).sum())
    parts.numbers(
        f"{percent(params.rates.share)} of {m} tokens are {params.rates.share * m:.2f}, so {len(places)} {'is' if len(places) == 1 else 'are'} chosen: "
        + ", ".join(f"“{visible(text.tokens[at])}” {'→ ' + visible(tokenizer.token(int(one.read[at]))) if one.fate[at] != masking.LEFT else 'stays'} (predicted with {percent(found[at].wanted)})" for at in places)
        + ". [CLS] and [SEP] are never chosen."
    )  # fmt: skip
    controls.draw(SLUG + "draw", START, strong=True)
    labels = ", ".join(str(label) for label in one.labels)
    return Shown(
        {"bert.masked": {}}, (rf"\text{{labels: }} {labels}", rf"L = {np.mean([-np.log(max(said.wanted, 1e-300)) for said in found.values()]):.4f} \text{{ nats, the mean over }} {len(places)}"),
        "Blue became [MASK], red a random word, green stayed as it is. The loss counts only the chosen tokens; the label of every other one is −100 and counts nothing. "
        "The last row is bert-mini's best guess, green where it is right. Tokens are chosen one by one, so half of a word may be masked.",
        lambda: pd.DataFrame({"text": [visible(t) for t in text.tokens], "reads": [visible(tokenizer.token(int(i))) for i in one.read], "what became of it": [masking.FATES[f] for f in one.fate], "label": one.labels}),
        {"read": one.read, "fate": one.fate, "labels": one.labels}, lines(params) + f"print(masking.draw(text.ids, text.special, {params.draw}, **how))", rates,
    )  # fmt: skip


def counted(params: Any, text: Text) -> Shown:
    """How often each token was chosen in many draws, and what became of the chosen ones; beside what is expected."""
    key = ("masked_words.counted", params.text, params.draw, params.rates, params.draws)
    found = ask.submit(key, lambda: masking.count(text.ids, text.special, params.draws, params.draw, **how(text, params)), 20 * params.draws)
    now, (hidden, changed, kept) = params.rates, (TOKENS * params.rates.share * params.rates.parts)
    told = lesson.predict_number(
        SLUG + "count", f"A long text of {TOKENS:,} tokens, {percent(now.share)} chosen. How many become [MASK]?", 0.0, 3000.0 if now.share <= 0.3 else 5000.0, float(round(hidden)),
        f"{TOKENS * now.share:,.0f} are chosen, and of these {percent(now.parts[0])} become [MASK]: {hidden:,.0f}. {changed:,.0f} become a random word, {kept:,.0f} stay. The loss counts all {TOKENS * now.share:,.0f}.", 50.0,
    )  # fmt: skip
    free = int(np.flatnonzero(~text.special)[0])
    middle, far = float(found.chosen_expected[free]), masking.NEAR * float(found.chosen_deviation[free])
    narrow = lesson.presenting()  # a question stands beside
    left, right = st.columns(2 if narrow else [3, 2], gap="medium")
    with left:
        parts.show(bar_lanes([Lane(f"Chosen in {params.draws:,} draws", found.chosen.astype(float), 0, (0, 1.2 * max(1.0, float(found.chosen.max()), middle + far)), (max(0.0, middle - far), middle + far), places=0)],
                             labels=distinct(text.tokens), height=290), SLUG + "chosen", f"Each word about {middle:.0f} times, [CLS] and [SEP] never.")  # fmt: skip
    with right:
        parts.show(bar_lanes([Lane("Became" if narrow else "What became of them", found.fates.astype(float) if told else None, 3, (0, 1.15 * max(1, found.total)), places=0)], labels=FATES, height=290), SLUG + "fates",
                   "What became of the chosen tokens" + (": " + ", ".join(f"{name} {n}" for name, n in zip(FATES, found.fates, strict=True)) + "." if told else "; covered."))  # fmt: skip
    bounds = [f"{name} {n:,} (expected {wanted:,.0f} ± {masking.NEAR * deviation:,.0f})" for name, n, wanted, deviation in zip(FATES, found.fates, found.fates_expected, found.fates_deviation, strict=True)]
    parts.numbers(f"{params.draws:,} draws, {found.total:,} tokens chosen: {', '.join(bounds)}. {found.outside} counts lie outside their range." if told
                  else f"{params.draws:,} draws: each word about {middle:.0f} times, [CLS] and [SEP] 0 times.")  # fmt: skip
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        controls.draw(SLUG + "draw", START)
        with st.container(width=420):
            controls.stops("Draws", DRAWS, SLUG + "draws", 1000, lambda n: f"{n:,}")
    total = found.total
    return Shown(
        {}, (rf"n q \pm 3 \sqrt{{n q (1 - q)}}, \quad n = {total}: \quad " + r",\ \ ".join(rf"{wanted:.0f} \pm {masking.NEAR * deviation:.1f}" for wanted, deviation in zip(found.fates_expected, found.fates_deviation, strict=True)),) if told else (),
        "The shaded band is where a count lies in 997 of 1,000 cases: the expected number and three standard deviations to each side. In a short sentence the share is rounded, at least one token is chosen: "
        f"here {now.n_chosen(int((~text.special).sum()))} of {int((~text.special).sum())}. The routine that draws is the one that trained bert-mini. A random word that happens to be the word itself counts as left.",
        lambda: pd.DataFrame({"chosen": found.chosen, "expected": found.chosen_expected.round(1), "deviation": found.chosen_deviation.round(2)}, index=distinct(text.tokens)),
        {"chosen": found.chosen} | ({"fates": found.fates, "expected": found.fates_expected, "deviation": found.fates_deviation} if told else {}),
        lines(params) + f"found = masking.count(text.ids, text.special, {params.draws}, {params.draw}, **how)\nprint(found.chosen, found.fates, found.fates_expected, found.outside)",
        rates,
    )  # fmt: skip
