"""Names, credits and words: mostly looked up, not computed, and said so."""

from __future__ import annotations

from itertools import pairwise

from core.text.words import WORD
from viz.course.errata._draws import gap, normal
from viz.course.errata.entry import Evidence, Where, erratum

BOTH = (Where("ghojogh2023", "throughout"), Where("ghojogh2020", "throughout"))


@erratum(
    "E38",
    "A",
    "“Google's Pathways” is called a model: the model is PaLM.",
    (Where("lifei2022", "summary", "reference [9]"),),
    says="“Google's Pathways” as a model, and training costs of hundreds or thousands of millions of dollars.",
    right="PaLM is the model, Pathways the system that trained it.",
    note="The costs have no source in the post: take them as an opinion.",
)
def pathways() -> Evidence:
    return Evidence(
        {},
        "The post's own reference names the paper “PaLM: Scaling Language Modeling with Pathways”.",
        computed=False,
    )


CREDITS = {
    "sequence to sequence": ("Bahdanau", 2015, "Sutskever; Cho", 2014),
    "attention, Eqs. (2) and (5)": ("Chorowski", 2014, "Bahdanau, preprint", 2014),
    "score (9), inner product": ("Vaswani", 2017, "Luong", 2015),
    "score (12), additive": ("Vaswani", 2017, "Bahdanau", 2015),
    "self-attention": ("Bahdanau", 2015, "Cheng", 2016),
}
"""What for; who is cited and the year; who is usually cited and the year."""


@erratum(
    "E40",
    "A",
    "Some credits point to the wrong paper.",
    (*BOTH, Where("lifei2022", "self-attention")),
    says="Bahdanau for plain sequence to sequence, Chorowski for two equations of attention, Vaswani for all scores; lifei.tech cites Bahdanau "
    "for self-attention.",
    right="Sutskever 2014 and Cho 2014; Bahdanau; Luong and Bahdanau for the older scores; Cheng 2016.",
    note="Eq. (3) of attention stands there without a credit, and so does layer normalization, which is by Ba 2016: Ioffe and Szegedy are cited for batch "
    "normalization, rightly.",
)
def credits() -> Evidence:
    later = sum(cited > first for _, cited, _, first in CREDITS.values())
    earlier = sum(cited < first for _, cited, _, first in CREDITS.values())
    numbers = {"credits": float(len(CREDITS)), "later": float(later), "earlier": float(earlier)}
    sentence = (
        f"Of {len(CREDITS)} credits {later} name a later paper than the one usually cited, and {earlier} an earlier one: "
        + "; ".join(
            f"{what}: {who} {year}, usually {usual} {first}"
            for what, (who, year, usual, first) in CREDITS.items()
        )
        + "."
    )
    return Evidence(numbers, sentence, computed=False)


@erratum(
    "E41",
    "A",
    "BERT, ALBERT and GPT are spelled out wrongly.",
    (Where("beigy2021", "BERT"), Where("beigy2024", "BERT; ALBERT; GPT")),
    says="BERT spelled out with the title of its paper; “A Little BERT”; “Generative Pre-training Transformer”, cited as 2019.",
    right="Bidirectional Encoder Representations from Transformers; A Lite BERT; Generative Pre-trained Transformer, 2018.",
    note="2019 is GPT-2.",
)
def spelled_out() -> Evidence:
    return Evidence(
        {},
        "The papers themselves and the other sources have these names; the deck's own list of references has A Lite BERT.",
        computed=False,
    )


@erratum(
    "E49",
    "D",
    "The slides and the survey of the same author number and write some equations differently.",
    (Where("ghojogh2023", "encoder", "Eq. (23)"), Where("ghojogh2020", "3.2.3", "Eq. (23)")),
    says="z'_t ← z_t + x_t in the slides, Z'_t ← Z_t + X in the survey; numbers shift by one after (25); W_O has no size in either.",
    right="The survey's letters are matrices, all words at once. Eq. (23) forces the size of W_O: h·r × d.",
    note="Citations in the atlas name source and number.",
)
def same_author() -> Evidence:
    n, d, h, r = 4, 6, 2, 5
    heads, x = normal(n, h * r), normal(n, d, start=1)
    w_o = normal(h * r, d, start=2)
    rows = [heads[t] @ w_o + x[t] for t in range(n)]
    apart = max(gap(row, both) for row, both in zip(rows, heads @ w_o + x, strict=True))
    numbers = {"rows": float(w_o.shape[0]), "columns": float(w_o.shape[1]), "gap": apart}
    sentence = (
        f"{h} heads of {r} numbers, words of {d}: only a W_O of {w_o.shape[0]} × {w_o.shape[1]} lets the sum exist. Word by word and all "
        f"at once differ by {apart:.1f}."
    )
    return Evidence(numbers, sentence)


@erratum(
    "E50",
    "L",
    "The Transformer is called an autoencoder.",
    (Where("ghojogh2023", "transformers"), Where("ghojogh2020", "3.1; 3.2")),
    says="A transformer is an autoencoder consisting of an encoder and a decoder.",
    right="An encoder-decoder. An autoencoder is trained to reproduce its own input.",
    note="The parts have the same names; the task is another.",
)
def autoencoder() -> Evidence:
    return Evidence(
        {}, "A translator is trained to write another sentence than the one it reads.", computed=False
    )


@erratum(
    "E52",
    "L",
    "BERT and GPT are “unsupervised” in one place and “self-supervised” in another.",
    (*BOTH, Where("beigy2024", "BERT; ALBERT")),
    says="Ghojogh: unsupervised. Beigy: self-supervised.",
    right="Today: self-supervised. There are labels, and the text itself gives them.",
    note="No person has to write a label; that is what both words mean to say.",
)
def supervised() -> Evidence:
    text = ("she", "is", "eating", "a", "green", "apple")
    labels = list(pairwise(text))
    numbers = {"words": float(len(text)), "labels": float(len(labels))}
    sentence = f"“{' '.join(text)}” has {len(text)} words and gives {len(labels)} labelled examples, such as “{labels[0][0]}” → “{labels[0][1]}”."
    return Evidence(numbers, sentence)


@erratum(
    "E55",
    "D",
    "“The FBI is chasing a criminal on the run”: nine lines or ten.",
    (Where("ghojogh2020", "2.4.1", "Fig. 4"), Where("beigy2021", "intra-attention")),
    says="The survey's text has one line less than the slides' picture.",
    right="One line for each token, the full stop included.",
    note="The atlas shows a line for the full stop too.",
)
def lines() -> Evidence:
    tokens = WORD.findall("The FBI is chasing a criminal on the run.")
    words = [token for token in tokens if token.isalpha()]
    numbers = {"tokens": float(len(tokens)), "words": float(len(words))}
    return Evidence(
        numbers, f"{len(words)} words, and {len(tokens)} tokens with the full stop, so {len(tokens)} lines."
    )
