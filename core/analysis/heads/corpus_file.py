"""The file assets/heads/NAME.json.gz: every head of a shipped model over a corpus, written by `core.tools.corpus`, read by the page of a head.

It holds no passage: of each row the tokens of a window around the query and the key it attends to. `tokens` lists every label once, and
a row is `[passage, weight, query, key, its token, positions, tokens, weights, context]` with weights in thousandths. `writes`, where a kind has
them: by head the words raised and lowered, the words of each row, and in how many rows the key's token is copied; scores in thousandths of a logit.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

from core.analysis.heads.corpus import (
    QUANTILES,
    CorpusRow,
    HeadCorpus,
    HeadWrites,
    Statistics,
    TokenWeight,
    WordScore,
)
from core.analysis.heads.head_file import weights_hash
from core.checkpoints.files import MB, small_bytes, strict_json
from core.checkpoints.manifest import shipped_folder
from core.data.home import assets
from core.data.texts import Example
from core.errors import InputError

VERSION = 1
MOST_BYTES, MOST_UNPACKED = int(0.6 * MB), 8 * MB
THOUSAND = 1000
DIGITS = 4
RULE = "The heads over a corpus are read from a file of this version, for the present weights."


@dataclass(frozen=True)
class Source:
    """Where `n` passages of a corpus are from, under which licence; `is_own_task`: they are texts of the model's own task."""

    name: str
    n: int
    licence: str
    is_own_task: bool = False


@dataclass(frozen=True)
class ModelCorpus:
    """All heads of a model by kind of attention, over the passages of these sources, in their order; a visitor's own `texts` are kept, those of a file are not."""

    sources: tuple[Source, ...]
    kinds: Mapping[str, HeadCorpus]
    seed: int = 0
    texts: tuple[Example, ...] = ()

    @property
    def n(self) -> int:
        """Return how many passages there are."""
        return sum(source.n for source in self.sources)

    def source_of(self, passage: int) -> Source:
        """Return where a passage is from."""
        ends = accumulate(source.n for source in self.sources)
        return next(source for source, end in zip(self.sources, ends, strict=True) if passage < end)


def corpus_path(model: str) -> Path:
    """Return the path of the file of a shipped model, whether there is one or not."""
    return assets("heads", f"{model}.json.gz")


def write_corpus(path: Path, corpus: ModelCorpus, weights: str) -> int:
    """Write the heads of a model, whose weights have this hash, and return the bytes of the file."""
    index: dict[str, int] = {}

    def number(token: str) -> int:
        return index.setdefault(token, len(index))

    kinds = {name: _kind(one, number) for name, one in corpus.kinds.items()}
    held = {
        "version": VERSION,
        "weights": weights,
        "seed": corpus.seed,
        "sources": [[one.name, one.n, one.licence, int(one.is_own_task)] for one in corpus.sources],
        "tokens": list(index),
        "kinds": kinds,
    }
    data = json.dumps(held, ensure_ascii=False, separators=(",", ":")).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(data, 9, mtime=0))
    return path.stat().st_size


def _kind(heads: HeadCorpus, number: Callable[[str], int]) -> dict[str, Any]:
    layers, n_heads = heads.shape
    return {
        "n": heads.n,
        "measures": _tables(heads.measures),
        "controls": {name: _tables(tables) for name, tables in heads.controls.items()},
        **({} if heads.effect is None else {"effect": np.round(heads.effect, DIGITS).tolist()}),
        **({} if heads.writes is None else {"writes": _writes(heads.writes, number)}),
        "heads": [
            [
                [
                    [_row(row, number) for row in heads.strongest[layer][head]],
                    [_row(row, number) for row in heads.deciles[layer][head]],
                    [_token(one, number) for one in heads.queries[layer][head]],
                    [_token(one, number) for one in heads.keys[layer][head]],
                ]
                for head in range(n_heads)
            ]
            for layer in range(layers)
        ],
    }


def _writes(writes: Sequence[Sequence[HeadWrites]], number: Callable[[str], int]) -> list[Any]:
    def words(some: Sequence[WordScore]) -> list[list[int]]:
        return [[number(one.word), _thousandths(one.added)] for one in some]

    return [
        [[words(head.raised), words(head.lowered), [*map(words, head.rows)], head.copies] for head in row]
        for row in writes
    ]


def _tables(statistics: Statistics) -> dict[str, Any]:
    return {
        name: np.where(np.isnan(table), -1, np.round(table.astype(float), DIGITS)).tolist()
        for name, table in statistics.items()
    }


def _row(row: CorpusRow, number: Callable[[str], int]) -> list[Any]:
    return [
        row.passage,
        _thousandths(row.weight),
        row.query,
        row.key,
        number(row.query_token),
        list(row.positions),
        [number(token) for token in row.tokens],
        [_thousandths(weight) for weight in row.weights],
        [number(token) for token in row.context],
    ]


def _token(one: TokenWeight, number: Callable[[str], int]) -> list[int]:
    return [number(one.token), _thousandths(one.weight), one.count]


def _thousandths(weight: float) -> int:
    return round(THOUSAND * weight)


def shipped_corpus(model: str) -> ModelCorpus | None:
    """Return the heads of a shipped model over its corpus, None where there is no file.

    Raises InputError, in one sentence, for a file of another version or of other weights, and for a broken one.
    """
    path = corpus_path(model)
    return read_corpus(path, weights_hash(shipped_folder() / model)) if path.is_file() else None


def read_corpus(path: Path, weights: str) -> ModelCorpus:
    """Return the contents of a file, whose weights must have this hash. Raises InputError, in one sentence, where it cannot be used."""
    data = small_bytes(path, MOST_BYTES)
    try:
        unpacked = zlib.decompressobj(zlib.MAX_WBITS | 16)
        text = unpacked.decompress(data, MOST_UNPACKED)
        if not unpacked.eof:
            raise ValueError("it is cut off or too large")
        held = strict_json(text, path.name)
        version, hashed = held["version"], held["weights"]
        if version == VERSION and hashed == weights:
            return _corpus(held)
    except (zlib.error, KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise _refusal(path, f"is broken ({type(error).__name__})") from None
    if version != VERSION:
        raise _refusal(path, f"has version {version!r:.20}, not {VERSION}")
    raise _refusal(path, "is of other weights")


def _refusal(path: Path, wrong: str) -> InputError:
    name = path.name.removesuffix(".json.gz")
    return InputError(f"{path.name} {wrong}.", RULE, f"Compute it again: python -m core.tools.corpus {name}.")


def _corpus(content: Mapping[str, Any]) -> ModelCorpus:
    tokens = [_text(token) for token in content["tokens"]]
    sources = tuple(
        Source(_text(name), int(n), _text(licence), bool(own)) for name, n, licence, own in content["sources"]
    )
    n = sum(source.n for source in sources)
    return ModelCorpus(
        sources,
        {_text(name): _read_kind(about, tokens, n) for name, about in content["kinds"].items()},
        int(content["seed"]),
    )


def _read_kind(about: Mapping[str, Any], tokens: Sequence[str], n: int) -> HeadCorpus:
    heads = about["heads"]
    shape = len(heads), len(heads[0])
    if not shape[1] or any(len(row) != shape[1] for row in heads):
        raise ValueError("layers have different numbers of heads")

    def of_each(part: int, read: Callable[[Any], Any]) -> tuple:
        return tuple(tuple(tuple(read(one) for one in head[part]) for head in row) for row in heads)

    def read_row(row: Any) -> CorpusRow:
        passage, weight, query, key, token, places, names, weights, context = row
        if not len(places) == len(names) == len(weights) or not 0 <= passage < n:
            raise ValueError("a row has parts of different lengths")
        return CorpusRow(
            int(passage),
            _share(weight),
            int(query),
            int(key),
            tokens[int(token)],
            tuple(int(place) for place in places),
            tuple(tokens[int(name)] for name in names),
            tuple(_share(one) for one in weights),
            tuple(tokens[int(name)] for name in context),
        )

    def read_token(one: Any) -> TokenWeight:
        token, weight, count = one
        return TokenWeight(tokens[int(token)], _share(weight), int(count))

    def read_words(some: Any) -> tuple[WordScore, ...]:
        return tuple(WordScore(tokens[int(word)], float(added) / THOUSAND) for word, added in some)

    def read_writes(one: Any) -> HeadWrites:
        raised, lowered, rows, copies = one
        each = tuple(read_words(row) for row in rows)
        return HeadWrites(
            read_words(raised), read_words(lowered), each, None if copies is None else int(copies)
        )

    effect, writes = about.get("effect"), about.get("writes")
    if writes is not None and [len(row) for row in writes] != [shape[1]] * shape[0]:
        raise ValueError("a head is missing from what they write")
    return HeadCorpus(
        int(about["n"]),
        _statistics(about["measures"], shape),
        {_text(name): _statistics(tables, shape) for name, tables in about["controls"].items()},
        of_each(0, read_row),
        of_each(1, read_row),
        of_each(2, read_token),
        of_each(3, read_token),
        None if effect is None else _table(effect, shape),
        None if writes is None else tuple(tuple(map(read_writes, row)) for row in writes),
    )


def _statistics(tables: Mapping[str, Any], shape: tuple[int, int]) -> dict[str, np.ndarray]:
    statistics = {_text(name): _table(rows, (*shape, 1 + len(QUANTILES))) for name, rows in tables.items()}
    return {name: np.where(table < 0, np.nan, table) for name, table in statistics.items()}


def _table(rows: Any, shape: tuple[int, ...]) -> np.ndarray:
    table = np.array(rows, dtype=np.float64)
    if table.shape != shape or not np.isfinite(table).all():
        raise ValueError("a table has the wrong shape")
    return table


def _share(weight: Any) -> float:
    if not 0 <= weight <= THOUSAND:
        raise ValueError("a weight is not between 0 and 1")
    return weight / THOUSAND


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("a name is no text")
    return value
