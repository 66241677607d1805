"""Errata on names, credits and words: mostly looked up, not computed, and marked as such."""

from __future__ import annotations

from itertools import pairwise

from core.text.words import words_in
from viz.course.errata._draws import gap, normal
from viz.course.errata.entry import Evidence, Where, erratum
from viz.languages import _, mark

BOTH = (Where("ghojogh2023", "throughout"), Where("ghojogh2020", "throughout"))


@erratum("E38")
def pathways() -> Evidence:
    return Evidence(
        {},
        _("The post's own reference names the paper “PaLM: Scaling Language Modeling with Pathways”."),
        computed=False,
    )


CREDITS = {
    mark("sequence to sequence"): ("Bahdanau", 2015, "Sutskever; Cho", 2014),
    mark("attention, Eqs. (2) and (5)"): ("Chorowski", 2014, "Bahdanau, preprint", 2014),
    mark("score (9), inner product"): ("Vaswani", 2017, "Luong", 2015),
    mark("score (12), additive"): ("Vaswani", 2017, "Bahdanau", 2015),
    mark("self-attention"): ("Bahdanau", 2014, "Cheng", 2016),
}
"""Achievement; the cited author and year; the usually cited author and year."""


@erratum("E40")
def credits() -> Evidence:
    later = sum(cited > first for _who, cited, _usual, first in CREDITS.values())
    earlier = sum(cited < first for _who, cited, _usual, first in CREDITS.values())
    numbers = {"credits": float(len(CREDITS)), "later": float(later), "earlier": float(earlier)}
    each = "; ".join(
        _(
            "{what}: {who} {year}, usually {usual} {first}",
            what=_(what),
            who=who,
            year=year,
            usual=usual,
            first=first,
        )
        for what, (who, year, usual, first) in CREDITS.items()
    )
    sentence = _(
        "Of {n} credits {later} name a later paper than the one usually cited, and {earlier} an earlier one: {each}.",
        n=len(CREDITS),
        later=later,
        earlier=earlier,
        each=each,
    )
    return Evidence(numbers, sentence, computed=False)


@erratum("E41")
def spelled_out() -> Evidence:
    return Evidence(
        {},
        _(
            "The papers themselves and the other sources have these names; the deck's own list of references has A Lite BERT."
        ),
        computed=False,
    )


@erratum("E49")
def same_author() -> Evidence:
    n, d, h, r = 4, 6, 2, 5
    heads, x = normal(n, h * r), normal(n, d, start=1)
    w_o = normal(h * r, d, start=2)
    rows = [heads[t] @ w_o + x[t] for t in range(n)]
    apart = max(gap(row, both) for row, both in zip(rows, heads @ w_o + x, strict=True))
    numbers = {"rows": float(w_o.shape[0]), "columns": float(w_o.shape[1]), "gap": apart}
    sentence = _(
        "{h} heads of {r} numbers, words of {d}: only a W_O of {rows} × {columns} lets the sum exist. Word by word and all at once differ by {apart:.1f}.",
        h=h,
        r=r,
        d=d,
        rows=w_o.shape[0],
        columns=w_o.shape[1],
        apart=apart,
    )
    return Evidence(numbers, sentence)


@erratum("E50")
def autoencoder() -> Evidence:
    return Evidence(
        {}, _("A translator is trained to write another sentence than the one it reads."), computed=False
    )


@erratum("E52")
def supervised() -> Evidence:
    text = ("she", "is", "eating", "a", "green", "apple")
    labels = list(pairwise(text))
    numbers = {"words": float(len(text)), "labels": float(len(labels))}
    sentence = _(
        "“{text}” has {n} words and gives {labels} labelled examples, such as “{before}” → “{next}”.",
        text=" ".join(text),
        n=len(text),
        labels=len(labels),
        before=labels[0][0],
        next=labels[0][1],
    )
    return Evidence(numbers, sentence)


@erratum("E55")
def lines() -> Evidence:
    tokens = words_in("The FBI is chasing a criminal on the run.")
    words = [token for token in tokens if token.isalpha()]
    numbers = {"tokens": float(len(tokens)), "words": float(len(words))}
    return Evidence(
        numbers,
        _(
            "{words} words, and {tokens} tokens with the full stop, so {tokens} lines.",
            words=len(words),
            tokens=len(tokens),
        ),
    )
