"""The decoding loop of every model that generates text: read, choose, record, repeat."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from core.decoding import beam
from core.decoding.choose import choose
from core.decoding.prompt import Prompt, prompt_of
from core.decoding.step import Step
from core.decoding.stepper import Stepper, StepReader
from core.decoding.strategies import Beam, Greedy, Sample, Strategy
from core.errors import InputError
from core.trace import Edit, ready

if TYPE_CHECKING:
    from core.model import Model
    from core.run import Run

Forced = Mapping[int, int]


def decode(
    m: Model,
    text: str,
    strategy: Strategy = Greedy(),  # noqa: B008 - frozen, holds nothing
    prefix: str = "",
    max_new_tokens: int = 40,
    edits: Sequence[Edit] = (),
    force: Iterable[tuple[int, int | str]] = (),
    run: Run | None = None,
) -> Iterator[Step]:
    """Generate text and yield one `Step` per token, computed when it is requested; closing the generator stops the work.

    `text` is the prompt, or for a translator the source; `prefix` is then the forced beginning of what it
    writes. `force` holds (step, token) pairs: at that step this token (an id, or the text of one) is written whatever
    the model says. `edits` change values on the way, at every step.
    `run`, of the same text and made with `reads_on`, saves reading it again.
    Equal arguments give equal steps. Raises InputError at once for text, strategy or force that cannot be used.
    """
    if not isinstance(strategy, Strategy):
        f"The strategy is given as {type(strategy).__name__}."
        raise InputError(
            "The strategy is given as {name}.",
            "A strategy is Greedy(), Sample(...) or Beam(...).",
            "Write core.Greedy().",
            name=type(strategy).__name__,
        )
    edits = ready(m, edits)
    prompt = prompt_of(m, text, prefix)
    if isinstance(max_new_tokens, bool) or not isinstance(max_new_tokens, int) or max_new_tokens < 0:
        raise InputError(
            "max_new_tokens is {max_new_tokens}.",
            "It is a whole number, 0 or more.",
            "Choose 40.",
            max_new_tokens=max_new_tokens,
        )
    reader = Stepper(m, prompt, edits, run)
    return write(reader, prompt, strategy, max_new_tokens, _forced(m, force))


def write(
    reader: StepReader, prompt: Prompt, strategy: Strategy, limit: int, forced: Forced
) -> Iterator[Step]:
    """Yield the steps of any strategy over any reader."""
    if prompt.first is not None:
        forced = {0: prompt.first, **forced}
    if isinstance(strategy, Beam):
        return beam.search(reader, prompt, strategy, limit, forced)
    return _one_by_one(reader, prompt, strategy, limit, forced)


def _one_by_one(
    reader: StepReader, prompt: Prompt, strategy: Greedy | Sample, limit: int, forced: Forced
) -> Iterator[Step]:
    written: list[int] = []
    new: Sequence[int] = prompt.ids
    sources = {kind.name: kind.keys == "source" for kind in reader.kinds}
    for index in range(limit):
        begun = time.perf_counter()
        reading = reader.read([new])
        seed = (strategy.seed, index) if isinstance(strategy, Sample) and strategy.draws else None
        text_ids = (*prompt.ids, *written)
        choice = choose(
            reading.logits[0],
            prompt.name,
            filters=(*prompt.filters, *strategy.filters),
            ids=text_ids,
            seed=seed,
            forced=forced.get(index),
        )
        labels = prompt.labels(written)
        written.append(choice.id)
        text, pending = prompt.text(written)
        reason = "end" if prompt.is_end(choice.id) else stop_reason(len(written), limit, prompt)
        yield Step(
            index=index,
            token=prompt.name(choice.id),
            id=choice.id,
            chosen_by="rule" if index == 0 and choice.id == prompt.first else choice.chosen_by,
            draw=choice.draw,
            candidates=choice.candidates,
            n_kept=choice.n_kept,
            cuts=choice.cuts,
            logprob=choice.logprob,
            entropy=choice.entropy,
            surprise=choice.surprise,
            log_total=choice.log_total,
            log_kept=choice.log_kept,
            filters=choice.filters,
            attention={kind: rows[0] for kind, rows in reading.attention.items()},
            allowed={kind: rows[0] for kind, rows in reading.allowed.items()},
            keys={kind: prompt.source_tokens if across else labels for kind, across in sources.items()},
            ids=tuple(written),
            text=text,
            pending=pending,
            seconds=time.perf_counter() - begun,
            cache_bytes=reader.nbytes,
            done=bool(reason),
            reason=reason,
            note=prompt.note if index == 0 else "",
            hidden=prompt.hidden,
            ends=prompt.is_end(choice.id),
        )
        if reason:
            return
        new = (choice.id,)


def stop_reason(n_written: int, limit: int, prompt: Prompt) -> str:
    """Return why no further token can be written, "context" or "limit"; "" if one can."""
    if len(prompt.ids) + n_written >= prompt.room:
        return "context"
    return "limit" if n_written >= limit else ""


def _forced(m: Model, force: Iterable[tuple[int, int | str]]) -> Forced:
    return {int(step): _token_id(m, token) for step, token in force}


def _token_id(m: Model, token: int | str) -> int:
    size = m.config.n_vocab
    if isinstance(token, str):
        ids = m.tokenizer.encode(token, special=True).ids
        if len(ids) != 1:
            raise InputError(
                "'{token}' is not one token of {name}.",
                "One step writes one token of the vocabulary.",
                "Force its pieces one by one.",
                token=token,
                name=m.name,
            )
        return ids[0]
    if isinstance(token, bool) or not 0 <= token < size:
        raise InputError(
            "There is no token {token} in {name}.",
            "Its vocabulary has {size:,}, counted from 0.",
            "Choose 0 to {last:,}.",
            token=token,
            name=m.name,
            size=size,
            last=size - 1,
        )
    return token
