"""Texts that a model writes on for Compare: one prompt, two ways to choose each token."""

from __future__ import annotations

import re
from typing import Any

from core.decoding import Beam, Greedy, Sample, Strategy, decode
from core.errors import InputError
from viz.languages import _
from viz.widgets import engine_client
from viz.widgets.pins import View
from viz.workspace.shared.model_run import open_model

TOKENS = 16
KNOBS = {
    "t": "temperature",
    "k": "top_k",
    "p": "top_p",
    "m": "min_p",
    "r": "repetition_penalty",
    "seed": "seed",
}
_KNOB = re.compile(r"(?:[tpmr]=\d{1,4}(?:\.\d{1,4})?|(?:k|seed)=\d{1,9})")


def strategy_of(text: str) -> Strategy:
    """Return how each token is chosen, from the words of a view. Raises InputError for others.

    >>> strategy_of("greedy"), strategy_of("beam 4") == Beam(4), strategy_of("lot t=0.8 seed=3") == Sample(0.8, seed=3)
    (Greedy(), True, True)
    """
    first, *rest = text.split() or [""]
    if first == "greedy" and not rest:
        return Greedy()
    if first == "beam" and len(rest) == 1 and rest[0].isdecimal():
        return Beam(int(rest[0]))
    if first == "lot" and all(map(_KNOB.fullmatch, rest)):
        knobs = dict(knob.split("=") for knob in rest)
        chosen: dict[str, Any] = {
            KNOBS[name]: int(value) if name in ("k", "seed") else float(value)
            for name, value in knobs.items()
        }
        return Sample(**chosen)
    raise InputError(
        _("The way in which this text was written on cannot be read."),
        _("It is greedy, lot with t= k= p= m= r= seed=, or beam and a width."),
        _("Pin it again in Decode."),
    )


def strategy_in_words(text: str) -> str:
    """Return the strategy in words, for the line above a pane.

    >>> strategy_in_words("lot t=0.8 seed=3"), strategy_in_words("beam 4")
    ('sampled (temperature 0.8, seed 3)', 'a beam of width 4')
    """
    how = strategy_of(text)
    if isinstance(how, Beam):
        return _("a beam of width {width}", width=how.width)
    if isinstance(how, Sample):
        return _(
            "sampled (temperature {temperature:g}, seed {seed})", temperature=how.temperature, seed=how.seed
        )
    return _("greedy")


def continued(view: View) -> tuple[str, str]:
    """Return the text and the translation of a view whose text is continued; a translator writes its translation."""
    how, model = strategy_of(view.strategy), open_model(view.model)
    if not model.spec.writes:
        raise InputError(
            _("{model} does not generate text.", model=view.model),
            _("It reads a whole text at once."),
            _("Choose a model that goes on with a text."),
        )
    ids = engine_client.submit(
        ("compare.written", view.model, view.text, how),
        lambda: [*decode(model, view.text, how, max_new_tokens=TOKENS)][-1].ids,
        cost=float(TOKENS * model.config.n_layers * len(view.text)),
    )
    more = model.tokenizer.decode(ids)
    return (view.text, more) if model.spec.has_source else (view.text + more, "")
