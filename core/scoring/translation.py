"""Translators: BLEU and chrF of their output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor

from core.data.corpora import read_pairs
from core.errors import InputError
from core.models import Batch
from core.run.batched import beam, greedy
from core.scoring import Metrics, Scoring
from core.scoring.files import reading_errors
from core.scoring.progress import progress

WIDTH = 4
ALPHA = 1.0  # a beam's score is the mean log-probability of its tokens
ROWS = 64


class Decode(Protocol):
    """A method of writing the outputs of a batch: `greedy`, or `beam` of a given width."""

    def __call__(
        self, network: Any, batch: Batch, *, start: int, end: int, limit: Sequence[int]
    ) -> list[list[int]]: ...


def measure(model: Any, path: Path, limit: int | None = None) -> Metrics:
    """Measure a translator on `source TAB reference` lines (its first `limit` different sources).

    All references of a source count, wherever they are in the file; `items` are the different sources. BLEU and
    chrF are sacrebleu's with their defaults, cased. `bleu_by_length` is the BLEU of the beam search on thirds of the
    sources by their number of words; sentences of the same length stay together.
    Raises InputError for a line that is no pair, a file without any, a source longer than the model reads.
    """
    bleu, chrf = _measures()
    with reading_errors(path):
        found = group_references(read_pairs(path))
    if not found:
        raise InputError(
            f"{path.name} holds no pair.",
            "A pair is 'source TAB target' on one line.",
            "Give a file with pairs.",
        )
    found = dict(islice(found.items(), limit))
    sources = list(found)
    by_greedy = dict(zip(sources, translate(model, sources, greedy), strict=True))
    by_beam = dict(zip(sources, translate(model, sources, beam_search), strict=True))

    def score(measure: Any, translations: Mapping[str, str], some: Sequence[str]) -> float:
        return measure.corpus_score(
            [translations[s] for s in some], references([found[s] for s in some])
        ).score

    return {
        "items": len(sources),
        "pairs": sum(map(len, found.values())),
        "bleu_greedy": score(bleu, by_greedy, sources),
        "bleu_beam4": score(bleu, by_beam, sources),
        "chrf_beam4": score(chrf, by_beam, sources),
        "bleu_by_length": {name: score(bleu, by_beam, some) for name, some in length_thirds(sources).items()},
    }


def _measures() -> tuple[Any, Any]:
    try:
        from sacrebleu.metrics import BLEU, CHRF
    except ImportError:
        raise InputError(
            "sacrebleu is not installed.",
            "BLEU is measured by that library.",
            'Run: pip install "attention-atlas[train]".',
        ) from None
    return BLEU(), CHRF()


def group_references(rows: Sequence[tuple[str, str]]) -> dict[str, list[str]]:
    """Group the references of each source; sources are in the order of their first line.

    >>> group_references([("Go.", "Ve."), ("Hi.", "Hola."), ("Go.", "Vaya.")])
    {'Go.': ['Ve.', 'Vaya.'], 'Hi.': ['Hola.']}
    """
    found: dict[str, list[str]] = {}
    for source, reference in rows:
        found.setdefault(source, []).append(reference)
    return found


def references(lists: Sequence[Sequence[str]]) -> list[list[str | None]]:
    """Return the references in sacrebleu's form: the first one of every sentence, then the second, ..; None where a sentence has fewer.

    >>> references([["Ve.", "Vaya."], ["Hola."]])
    [['Ve.', 'Hola.'], ['Vaya.', None]]
    """
    most = max(map(len, lists))
    return [[some[i] if i < len(some) else None for some in lists] for i in range(most)]


def length_thirds(sources: Sequence[str]) -> dict[str, list[str]]:
    """Divide the sources by their number of words into three parts of about equal size, named by their lengths.

    >>> {name: len(some) for name, some in length_thirds(["a", "a b", "a b c", "a b c d", "a b c d e", "a b c d e f"]).items()}
    {'1-2 words': 2, '3-4 words': 2, '5-6 words': 2}
    """
    lengths = sorted(len(source.split()) for source in sources)
    cuts = sorted({lengths[len(lengths) * part // 3 - 1] for part in (1, 2, 3) if len(lengths) * part // 3})
    found: dict[str, list[str]] = {}
    low = lengths[0]
    for cut in cuts:
        part = [source for source in sources if low <= len(source.split()) <= cut]
        found[f"{low}-{cut} words" if low < cut else f"{cut} word{'s' * (cut != 1)}"] = part
        low = cut + 1
    return found


def beam_search(network: Any, batch: Batch, *, start: int, end: int, limit: Sequence[int]) -> list[list[int]]:
    """Return the token ids of the best translation of each source, by the beam search of the scores named `beam4`: width 4, mean log-probability."""
    return beam(network, batch, width=WIDTH, start=start, end=end, limit=limit, alpha=ALPHA)


def translate(model: Any, sources: Sequence[str], decode: Decode = greedy) -> list[str]:
    """Return the model's translation of each source, in their order; sentences of similar length are read together.

    At most 3 tokens for each token read and 10 more, as `Model.run` allows.
    Raises InputError for a source longer than the model reads.
    """
    tokenizer, n_ctx = model.tokenizer, model.config.n_ctx
    ids = [tokenizer.encode(source).ids or (tokenizer.start,) for source in sources]
    for source, row in zip(sources, ids, strict=True):
        if len(row) > n_ctx:
            raise InputError(
                f"A source has {len(row):,} tokens: {source[:60]!r}.",
                f"{model.name} reads at most {n_ctx:,}.",
                "Shorten or delete it.",
            )
    order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
    device = next(model.network.parameters()).device
    written: dict[int, str] = {}
    with torch.inference_mode(), progress(len(ids), "sentence") as bar:
        for first in range(0, len(order), ROWS):
            part = order[first : first + ROWS]
            source, real = _padded([ids[i] for i in part], tokenizer.pad or 0, device)
            limits = [min(n_ctx - 1, 3 * len(ids[i]) + 10) for i in part]
            batch = Batch(ids=source, real=real, source=source, source_real=real)
            rows = decode(model.network, batch, start=tokenizer.start, end=tokenizer.end, limit=limits)
            written.update((i, tokenizer.decode(row)) for i, row in zip(part, rows, strict=True))
            bar.update(len(part))
    return [written[i] for i in range(len(ids))]


def _padded(rows: Sequence[Sequence[int]], pad: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Return the ids padded to one length, and a mask of real tokens, (batch, pos) each."""
    longest = max(map(len, rows))
    ids = torch.tensor([[*row, *[pad] * (longest - len(row))] for row in rows], device=device)
    real = (
        torch.arange(longest, device=device)
        < torch.tensor([len(row) for row in rows], device=device)[:, None]
    )
    return ids, real


SCORING = Scoring(
    kind="translator",
    families=frozenset({"seq2seq", "transformer"}),
    suffix=".tsv",
    content="'source TAB target' lines",
    measure=measure,
)
