"""Steps of the exhibit on one word with two meanings: cosines, a map, vectors of whole sentences."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from core.errors import InputError
from core.serving.engine import default
from viz.charts import marks
from viz.course.bert import contextual_vectors, senses
from viz.course.bert.bank import charts, topics
from viz.course.bert.bank.params import MODEL, SLUG, Params, how_label, names_of
from viz.course.bert.bank.words import check
from viz.course.exhibit import Folds
from viz.course.shared.word_vectors import principal_plane
from viz.labels import percent, visible
from viz.widgets import engine_client, exhibit_parts, page_parts

YOURS = "yours"


def matrix(params: Params, sense: senses.Word) -> Folds:
    """Ask how many nearest sentences have the same meaning, then draw the cosines of the word's vectors in all sentences at one
    layer."""
    found, kinds, meanings = collection(params, sense)
    n, k, word = len(found.vectors), len(sense.uses), params.which
    ours = kinds[:k]
    right = contextual_vectors.agree(found.cosines(-1)[:k, :k], ours)
    by_lot = sum((ours.count(kind) - 1) / (k - 1) for kind in ours)
    told = exhibit_parts.predict_number(
        SLUG + f"many.{word}",
        f"After the last layer the vector of “{word}” in each of {k} sentences is nearest to the one in another sentence. How many of these pairs have the same meaning?",
        0.0,
        float(k),
        float(right),
        f"By chance (baseline): {by_lot:.1f}. In half of the sentences it means {meanings[0]}, in half {meanings[1]}.",
        0.9,
    )
    layer = min(params.layer, n - 1)
    now, at = found.cosines(layer), names_of(n)[layer]
    numbers = [str(place + 1) for place in range(len(kinds))]
    rows = [f"{number} {meanings[kind]}" for number, kind in zip(numbers, kinds, strict=True)]
    low = float(np.floor(10 * min(now.min(), 0.9)) / 10)
    table, high = pd.DataFrame(now, rows, numbers), exhibit_parts.by_mode(320, 390)
    picture = marks.cells(table, "{:.2f}", ends=(low, 1), covered=not told, height=high)
    left, side = (st.container(), None) if exhibit_parts.presenting() else st.columns([3, 2], gap="medium")
    with left:
        page_parts.show(
            picture,
            SLUG + "matrix",
            f"Cosines of “{word}” in {len(kinds)} sentences at “{at}”, from {now.min():.2f} to 1."
            if told
            else "Covered until you guess.",
        )
    if side:
        with side:
            listed(found, kinds, meanings)
    same, other = contextual_vectors.kept_apart(now[:k, :k], ours)
    yours = ""
    if len(kinds) > k:
        near = contextual_vectors.nearest(now)[-1]
        yours = f" Yours is nearest to {near + 1} ({meanings[kinds[near]]})."
    page_parts.summary(
        f"At “{at}” {same:.3f} on average between sentences of one meaning, {other:.3f} between the two; "
        f"for {contextual_vectors.agree(now[:k, :k], ours)} of {k} the nearest sentence has the same meaning.{yours}"
        if told
        else f"{len(kinds)} sentences, {len(kinds) * (len(kinds) - 1) // 2} cosines. The meaning follows each number."
    )
    return Folds(
        lambda: pd.DataFrame(now, index=numbers, columns=numbers),
        {"cosines": now, "same_meaning": same, "other_meaning": other},
        {"model": MODEL, "own": own_of(params), "layer": layer, "k": k},
        told,
        {"vectors.cosine": {}},
        (
            rf"\text{{same meaning }} {same:.4f}, \quad \text{{other }} {other:.4f}, "
            rf"\quad \text{{nearest of the same: }} {right} / {k} \text{{ after the last layer}}",
        ),
    )


def on_map(params: Params, sense: senses.Word) -> Folds:
    """Draw the same vectors in their two main directions."""
    found, kinds, meanings = collection(params, sense)
    n, k = len(found.vectors), len(sense.uses)
    layer = min(params.layer, n - 1)
    one_point, at = layer == 0, names_of(n)[layer]
    places, share = principal_plane(found.vectors[layer])
    places = np.zeros((len(kinds), 2)) if one_point else places[:, :2]
    named, order = [meanings[kind] for kind in kinds], meanings if 2 in kinds else meanings[:2]
    left, side = st.columns([1, 1] if exhibit_parts.presenting() else [3, 2], gap="medium")
    with left:
        page_parts.show(
            charts.on_a_map(places, found.texts, named, order),
            SLUG + "map",
            f"{len(kinds)} points at “{at}”: all at one point, since the table has one vector."
            if one_point
            else f"{len(kinds)} points at “{at}”; the two directions account for {percent(share)} of the variance.",
        )
    with side:
        listed(found, kinds, meanings)
    agrees = contextual_vectors.agree(found.cosines(layer)[:k, :k], kinds[:k])
    page_parts.summary(
        "table: one vector, so all points lie on each other."
        if one_point
        else f"At “{at}” the two directions account for {percent(share)} of the variance of the {len(kinds)} vectors. "
        f"With the whole vectors, the nearest sentence has the same meaning for {agrees} of {k}."
    )
    return Folds(
        {"text": found.texts, "meaning": named, "x": places[:, 0], "y": places[:, 1]},
        {"places": places, "share_of_variance": share},
        {"model": MODEL, "own": own_of(params), "layer": layer},
        latex=(rf"\text{{share of the variance: }} {share:.4f}",),
    )


def collection(
    params: Params, sense: senses.Word
) -> tuple[contextual_vectors.Uses, list[int], tuple[str, ...]]:
    """Return the word's vectors in our sentences and the visitor's, the meaning of each (2: the visitor's), and the meanings'
    names."""
    check(params.own)
    own = params.own.strip()
    texts = [text for text, _ in sense.uses] + ([own] if own else [])
    key = ("bank.many", params.which, own)
    found = engine_client.submit(
        key, lambda: contextual_vectors.uses(default().open(MODEL), texts, sense.word), 3000
    )
    return found, [kind for _, kind in sense.uses] + ([2] if own else []), (*sense.meanings, YOURS)


def own_of(params: Params) -> str:
    """Return the visitor's own sentence as Python text, to be added to ours."""
    return f" + [{params.own.strip()!r}]" if params.own.strip() else ""


def listed(uses: contextual_vectors.Uses, kinds: list[int], meanings: tuple[str, ...]) -> None:
    """List the sentences by number, each with its meaning."""
    rows = zip(kinds, uses.texts, strict=True)
    st.text("\n".join(f"{at} ({meanings[kind]})  {_plain(text)}" for at, (kind, text) in enumerate(rows, 1)))


def whole_sentences(params: Params, sense: senses.Word) -> Folds:
    """Ask for the accuracy of a classifier on [CLS], then draw it, and which is nearer: the same meaning, or a lookalike."""
    check(params.sentence)
    if not params.sentence.strip():
        rule = "A sentence's vector is made of its words."
        raise InputError("There is no word.", rule, "Type a sentence.")
    triples, hows = senses.TRIPLES, contextual_vectors.HOWS
    each = {
        how: engine_client.submit(("bank.whole", how), partial(topics.cosines, how), 4000) for how in hows
    }
    classified = {
        how: engine_client.submit(("bank.topics", how), partial(topics.classified, how), 8000) for how in hows
    }
    n, n_stories, asked = len(triples), round(1 / topics.chance()), classified[hows[0]]
    told = exhibit_parts.predict_number(
        SLUG + "whole",
        f"A linear classifier learns from [CLS] vectors which of {n_stories} stories a sentence is from. Of {asked.n} sentences that were not in its training, how many does it classify correctly? (By chance: {asked.n * topics.chance():g})",
        0.0,
        float(asked.n),
        float(asked.right),
        "; ".join(
            f"{how_label(how)}: {found.right} of {found.n} (95% interval {percent(found.low)} to {percent(found.high)})"
            for how, found in classified.items()
        )
        + ".",
        3.0,
    )
    (same, alike), found = each[params.how], classified[params.how]
    won = int((same > alike).sum())
    low = max(-1.0, float(np.floor(10 * min(same.min(), alike.min())) / 10))
    texts, partners = [row.text for row in triples], [(row.same, row.lookalike) for row in triples]
    left, right = st.columns([2, 3], gap=exhibit_parts.column_gap("medium"))
    with left:
        rows = pd.Series(
            {how_label(how): each_way.right / each_way.n for how, each_way in classified.items()}
            | {"by chance": topics.chance()}
        )
        st.markdown("**Trained classifier, correct**")
        page_parts.show(
            marks.bars(rows, "{:.0%}", highlighted=[how_label(params.how)], end=1.0, covered=not told),
            SLUG + "classified",
            "; ".join(f"{name}: {percent(value)}" for name, value in rows.items()) + "."
            if told
            else "Bars, covered until you guess.",
        )
    with right:
        st.markdown("**Cosine alone, nothing trained**")
        page_parts.show(
            charts.nearer(
                texts, partners, same if told else None, alike, low=low, high=exhibit_parts.by_mode(26, 30)
            ),
            SLUG + "whole",
            f"{won} of {n} sentences are nearer to the one that means the same."
            if told
            else "Ten rows of two points, covered until you guess.",
        )
    key = ("bank.nearest", params.sentence, params.how)
    text, value = engine_client.submit(key, lambda: nearest(params.sentence, params.how), 4000)
    page_parts.summary(
        f"With {how_label(params.how)}: classifier {found.right} of {found.n} (chance {found.n * topics.chance():g}); by cosine alone "
        f"{won} of {n} are nearer to the one that means the same. Your sentence “{_plain(params.sentence)}” is nearest to “{text}” ({value:.3f})."
        if told
        else f"{n_stories} stories, {asked.n} held-out sentences; {n} sentences, each with one of the same meaning and one that only "
        "looks alike."
    )
    return Folds(
        lambda: pd.DataFrame(
            {
                "sentence": texts,
                "same": [row.same for row in triples],
                "cosine, same": same,
                "alike": [row.lookalike for row in triples],
                "cosine, alike": alike,
            }
        ),
        {"same": same, "alike": alike, "classified": [one.right for one in classified.values()]},
        {"model": MODEL},
        told,
        {"vectors.cosine": {}},
        (rf"\text{{nearer to the same meaning: }} {won} / {n}",),
    )


def nearest(sentence: str, how: str) -> tuple[str, float]:
    """Return the sentence of ours that is nearest to another one, and its cosine."""
    texts = [text for text in _texts() if text != sentence]
    made = contextual_vectors.sentences(default().open(MODEL), [sentence, *texts], how)
    values = contextual_vectors.cosines(made)[0, 1:]
    return texts[int(values.argmax())], float(values.max())


def _texts() -> list[str]:
    return [text for row in senses.TRIPLES for text in (row.text, row.same, row.lookalike)]


def _plain(text: str) -> str:
    return visible(text).replace("·", " ")
