"""Training against inference: one target, with its own words as input at each step (teacher forcing) or the model's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from core.decoding.prompt import Prompt, prompt_of
from core.decoding.stepper import Stepper
from core.errors import InputError
from core.model import Model
from core.models import Batch

if TYPE_CHECKING:
    from jaxtyping import Float


Array = np.ndarray
EXTRA_TOKENS = 10


@dataclass(frozen=True)
class Position:
    """One position: the token read there, the next one, and the one that the model ranks first.

    The next token is the right one where the right words are given, and the written one where the model reads its own. `logprob` is ln p.
    """

    read: str
    read_id: int
    next: str
    next_id: int
    logprob: float
    best: str
    best_id: int
    best_logprob: float

    @property
    def p(self) -> float:
        """Return the probability of the next token."""
        return math.exp(self.logprob)

    @property
    def best_p(self) -> float:
        """Return the probability of the most probable token."""
        return math.exp(self.best_logprob)

    @property
    def loss(self) -> float:
        """Return the loss of the next token, -ln p, in nats."""
        return -self.logprob

    @property
    def right(self) -> bool:
        """Return whether the most probable token is the next one; always true where the model reads its own words."""
        return self.best_id == self.next_id


@dataclass(frozen=True)
class Forcing:
    """The same beginning twice: `forced` reads the target's words in one pass, `free` the model's own, one after the other.

    `prompt_tokens` are the tokens before the first place. The two part at place `first_difference`: there a token follows that is not the
    one that was wanted, and behind it the free one reads words that the right text does not have (None: they never do).
    `difference` is the largest |logit of the one pass - logit of step after step with a cache| on the right words.
    """

    prompt_tokens: tuple[str, ...]
    forced: tuple[Position, ...]
    free: tuple[Position, ...]
    first_difference: int | None
    difference: float

    @property
    def loss(self) -> float:
        """Return the mean of -ln p over the target's tokens: the loss that training lowers, in nats per token."""
        return sum(place.loss for place in self.forced) / len(self.forced)


def compare_forcing(model: Model, source: str, target: str, *, ends: bool | None = None) -> Forcing:
    """Compare one target teacher-forced and running free.

        loss_t = -ln P(y_t | y_1 .. y_{t-1}, x)    forced: y are the target's tokens, all t in one pass (Vaswani et al.
                                                   2017, 3.1: shifted right by one, and later words forbidden)
        y_t = argmax P(. | y_1 .. y_{t-1}, x)      free: y are the model's own, one pass a token

    Of a translator `source` is its input, the target begins after START and END is wanted at its end. Of a model
    that continues a text, `source` is its beginning (empty: START) and `target` how it really went on, with the space
    before it if it has one; END is wanted there only where `ends` says so.
    Raises InputError: a model that writes nothing, an empty source or target, more tokens than the model reads.

    >>> import core
    >>> found = compare_forcing(core.open_model("prompt-tiny"), "reverse: abc =", "cba", ends=True)
    >>> [(place.read, place.next) for place in found.forced], found.first_difference
    ([('=', 'c'), ('c', 'b'), ('b', 'a'), ('a', 'END')], None)
    """
    prompt = decoding_prompt(model, source)
    ids = target_ids(model, prompt, target)
    ended = model.spec.has_source if ends is None else ends
    wanted = [*ids, prompt.end] if ended and prompt.end is not None else [*ids]
    whole = continuation_logits(model, prompt, [wanted[:-1]])[0]
    forced = _places(prompt, wanted, whole)
    room = model.config.n_ctx - len(prompt.ids) + 1
    limit = max(len(wanted), 3 * len(prompt.source) + EXTRA_TOKENS) if prompt.source else len(wanted)
    free = _run_free(model, prompt, min(limit, room))
    stepwise = _stepwise(model, prompt, wanted[:-1])
    return Forcing(
        tuple(prompt.labels(())),
        forced,
        free,
        _first_difference([place.next_id for place in forced], [place.next_id for place in free]),
        float((whole - stepwise).abs().max()),
    )


def decoding_prompt(model: Model, text: str) -> Prompt:
    """Return the prompt of a decoding of this text. Raises InputError for a model that writes nothing."""
    if not model.spec.writes:
        raise InputError(
            "{model} does not generate text.",
            "Only a model with a causal decoder continues a text.",
            "Choose another model.",
            model=model.name,
        )
    return prompt_of(model, text)


def target_ids(model: Model, prompt: Prompt, text: str) -> tuple[int, ...]:
    """Return the ids of the tokens of a continuation, `text`. Raises InputError for none, and for more than the model reads."""
    ids = model.tokenizer.encode(text).ids
    if not text.strip() or not ids:
        raise InputError(
            "The text to be written is empty.",
            "It needs at least one token.",
            "Type a word.",
        )
    if len(prompt.ids) + len(ids) > model.config.n_ctx:
        raise InputError(
            "Together they have {n:,} tokens.",
            "{model} reads at most {n_ctx:,} at once.",
            "Shorten one of them.",
            n=len(prompt.ids) + len(ids),
            model=model.name,
            n_ctx=model.config.n_ctx,
        )
    return ids


def continuation_logits(
    model: Model, prompt: Prompt, rows: Sequence[Sequence[int]]
) -> list[Float[Tensor, "_ vocab"]]:
    """Compute the logits of every next token for each row of ids, from the prompt's last token on: len(row) + 1 rows each.

    One padded pass over `prompt + row`: row t of a result scores what follows the prompt and t tokens of the row.

    >>> import core
    >>> tiny = core.open_model("prompt-tiny")
    >>> [tuple(row.shape) for row in continuation_logits(tiny, prompt_of(tiny, "copy: ab ="), [[7, 8], []])]
    [(3, 59), (1, 59)]
    """
    longest, first = max(map(len, rows)), len(prompt.ids) - 1
    pad = model.tokenizer.pad or 0
    ids = torch.tensor([[*prompt.ids, *row, *[pad] * (longest - len(row))] for row in rows])
    ends = torch.tensor([[len(prompt.ids) + len(row)] for row in rows])
    batch = Batch(ids=ids, real=torch.arange(ids.shape[1]) < ends)
    if prompt.source:
        source = torch.tensor([list(prompt.source)])
        batch = replace(batch, source=source, source_real=torch.ones_like(source, dtype=torch.bool))
    with torch.inference_mode():
        scores = model.network.logits(model.network(batch)[:, first:]).double()
    return [row_scores[: len(row) + 1] for row_scores, row in zip(scores, rows, strict=True)]


def _stepwise(model: Model, prompt: Prompt, ids: Sequence[int]) -> Tensor:
    """Compute the logits after the prompt and after each token of `ids`, (len(ids) + 1, vocab), token by token with a KV cache."""
    reader = Stepper(model, prompt)
    logits = [reader.read([prompt.ids]).logits[0], *(reader.read([[index]]).logits[0] for index in ids)]
    return torch.from_numpy(np.stack(logits))


def _run_free(model: Model, prompt: Prompt, limit: int) -> tuple[Position, ...]:
    """Append the most probable token each time, until END or the limit."""
    reader, new, positions = Stepper(model, prompt), prompt.ids, []
    while len(positions) < limit and not (positions and prompt.is_end(new[0])):
        scores = torch.from_numpy(reader.read([new]).logits[0])
        label = positions[-1].next if positions else prompt.labels(())[-1]
        positions.append(_place(prompt, label, new[-1], int(scores.argmax()), scores))
        new = (positions[-1].next_id,)
    return tuple(positions)


def _places(prompt: Prompt, targets: Sequence[int], scores: Tensor) -> tuple[Position, ...]:
    """Return a position for each target token; scores (len(targets), vocab). The first reads the prompt's last token."""
    labels = [prompt.labels(())[-1], *(prompt.name(index) for index in targets[:-1])]
    read = [prompt.ids[-1], *targets[:-1]]
    return tuple(_place(prompt, *each) for each in zip(labels, read, targets, scores, strict=True))


def _place(prompt: Prompt, label: str, read: int, following: int, scores: Tensor) -> Position:
    log_p, best = scores.log_softmax(-1), int(scores.argmax())
    return Position(
        label,
        read,
        prompt.name(following),
        following,
        float(log_p[following]),
        prompt.name(best),
        best,
        float(log_p[best]),
    )


def _first_difference(forced: Sequence[int], free: Sequence[int]) -> int | None:
    """Return the first index at which different tokens follow, or at which only one text continues; None if they are equal."""
    apart = (t for t, pair in enumerate(zip(forced, free, strict=False)) if pair[0] != pair[1])
    return next(apart, None if len(forced) == len(free) else min(len(forced), len(free)))
