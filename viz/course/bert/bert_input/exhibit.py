"""The input of BERT: words split into tokens, special tokens around them, and three vectors added at each position."""

from __future__ import annotations

import numpy as np

from core.errors import InputError
from core.serving.engine import RunRequest, default
from viz.charts import thumbs
from viz.course.bert.bert_input import input_sum, pieces, promises, sums
from viz.course.bert.bert_input.params import LONGEST, MODEL, Params
from viz.course.exhibit import Exhibit, Step
from viz.instruments.kit import origin


def compute(params: Params) -> input_sum.Sum:
    """Return three vectors of each token, and their sum. Errors: InputError for no word, or too many."""
    model = default().open(MODEL)
    n = sum(len(model.tokenizer.encode(text).ids) for text in (params.text, params.pair))
    if n > LONGEST:
        raise InputError(
            f"The two texts have {n} pieces.",
            f"This page draws up to {LONGEST}.",
            "Shorten one, or take the example.",
        )
    pair = params.pair if params.pair.strip() else None
    return input_sum.summed(default().run(RunRequest(MODEL, params.text, pair=pair, keep=input_sum.KEEP)))


def thumbnail() -> str:
    """Draw token, segment and position vector and their sum, the first numbers of one token."""
    params = Params()
    found = compute(params)
    rows = [*(found.parts[name][params.place] for name in input_sum.PARTS), found.total[params.place]]
    return thumbs.cells(np.stack(rows)[:, :16], centred=True)


EXHIBIT = Exhibit(
    __file__,
    Params,
    compute,
    (
        Step(pieces.cut, change=("word",), promises=promises.CUT),
        Step(pieces.vocabularies, promises=promises.VOCABULARIES),
        Step(pieces.marks, ("whose",), promises=promises.MARKS),
        Step(sums.added, promises=promises.ADDED),
        Step(sums.ablation, ("off",), promises=promises.ABLATION),
    ),
    compute_fields=("text", "pair"),
    cost=lambda params: 10 * max(1, len(params.text + params.pair)),
    controls=("text", "pair"),
    tells=lambda params, data: origin.tell(model=MODEL, text=params.text, second_text=params.pair),
)
