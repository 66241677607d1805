"""The record of one generated token."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from core.decoding.choose import Candidate, FilterEffect, SampledNumber
from core.decoding.filters import Array, Filter
from core.decoding.rows import Rows
from core.decoding.tree import Tree


@dataclass(frozen=True, kw_only=True)
class Step:
    """A record of one generated token.

    token, id: what was written (END is named so). chosen_by: "argmax", "draw" (then `draw` says how), "forced", "rule" (always written first) or
    "beam". candidates: the most probable tokens, the chosen one among them; `n_kept` tokens remained after the
    filters, `cuts` are the effects of each filter. logprob: ln p of the token as the model gives it, before any filter;
    surprise: the same in bits; entropy: of that distribution, in nats; log_total: ln sum exp of the logits; log_kept:
    the same of what the `filters` made of them, None where there was none.
    attention: for each kind the pattern (layer, head, key) of the row that wrote the token; allowed: the mask of the same shape; keys: the keys' labels. A model without attention has none of the three.
    ids: all that was written, END included. text: all text so far; `pending` are bytes of a character that is not
    complete yet and not in the text. note: what the reader should know before the first step.
    done: nothing follows; reason: "end" (the model wrote END), "limit" (as many tokens as asked for), "context" (the
    model can read no more). tree: all branches of a beam; then token, candidates and attention are those of the best
    continuation of this step, text and ids those of the best text; rows: what every text of the beam read, so that
    `along` gives the steps of any one of them. hidden: how many tokens before the text are no part of it (START).
    ends: whether this token is END, by its id, for a token of a text may be spelled so.
    """

    index: int
    token: str
    id: int
    chosen_by: str
    draw: SampledNumber | None
    candidates: tuple[Candidate, ...] = field(repr=False)
    n_kept: int
    cuts: tuple[FilterEffect, ...]
    logprob: float
    entropy: float
    surprise: float
    log_total: float
    attention: Mapping[str, Array] = field(repr=False)
    allowed: Mapping[str, Array] = field(repr=False)
    keys: Mapping[str, tuple[str, ...]] = field(repr=False)
    ids: tuple[int, ...] = field(repr=False)
    text: str
    pending: bytes = b""
    seconds: float = 0.0
    cache_bytes: int = 0
    done: bool = False
    reason: str = ""
    note: str = ""
    log_kept: float | None = None
    filters: tuple[Filter, ...] = ()
    tree: Tree | None = field(default=None, repr=False)
    rows: Rows | None = field(default=None, repr=False)
    hidden: int = 0
    ends: bool = False

    @property
    def chosen_candidate(self) -> Candidate:
        """Return the candidate that was chosen."""
        return next(candidate for candidate in self.candidates if candidate.id == self.id)
