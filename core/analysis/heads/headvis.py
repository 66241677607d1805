"""Heads over a corpus in the file tree of HeadVis, which Neuronpedia imports and offers for download: written and read.

The form is that of Neuronpedia's pipeline (`utils/neuronpedia-utils/neuronpedia_utils/headvis` in hijohnnylin/neuronpedia, August 2026), which calls it the one
of the front end of HeadVis (Luger, Kamath et al. 2026): `config.json`, `scatter_data.json`, `heads/L0H0.json` and on, `server_config.json` and
`attributions/manifest.json`. The code of anthropics/headvis itself could not be had, and no front end was run on what is written here.

A passage has a value for each kept pair of a query and a key, at `query * length + key`. Ours keep one row: its window of tokens is the sequence, with "…" where
tokens are left out, and `positions` (null there), `query`, `key` and `group` say where it stood; `measures` and `controls` have the quantiles. Keys that are not in
the form of the pipeline are these alone. Differences of meaning: their `max_activation` leaves out position 0 as query and as key, ours also the query itself and tokens that the
model added; their `qk_distance_histogram` and top tokens sum the weights of all kept rows, ours have one row a passage and the mean of the largest weights; their
`pattern_entropy` is in nats, ours ("spread") a share of the largest possible, so the former is null. A file of theirs has no quantiles and no controls.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from core.analysis.heads.corpus import (
    AFTER,
    BEFORE,
    DISTANCE,
    MEAN,
    MORE,
    QUANTILES,
    STRONGEST_WEIGHT,
    CorpusRow,
    HeadCorpus,
    TokenWeight,
)
from core.checkpoints.files import MB, printable, small_bytes, strict_json
from core.errors import InputError

VERSION = 1
MARK = "attention_atlas"
"""Key of config.json with the version of what we add, and the kind of attention."""
METRIC_NAMES = {
    "itself": "self_attention_score",
    "previous": "prev_token_score",
    "induction": "induction_score",
    DISTANCE: "qk_distance",
}
"""Names of their metrics by our measures with the same meaning."""
UNMEASURED_METRICS = ("pattern_entropy", "qk_distance_variance")
EDGES = [0, *(2**power for power in range(13))]
"""Edges of their histogram of distances."""
GAP = "…"
STRONGEST, DECILE = "strongest", "decile"
MOST_BYTES, MOST_HEADS, MOST_TOKENS = 8 * MB, 20_000, 100_000
"""Limits of one file, of the heads of a model, and of the tokens of one sequence."""
DIGITS = 4
RULE = "It is the file tree of HeadVis: config.json, scatter_data.json and heads/L0H0.json and on, in a folder or a .zip."
REMEDY = "Export it again, or choose another."


@dataclass(frozen=True)
class HeadVis:
    """Heads of one kind of attention of a model over a data set, as read; `n_intervals` groups of passages by their largest weight."""

    model: str
    dataset: str
    kind: str
    n_intervals: int
    heads: HeadCorpus


def write_headvis(path: Path | str, heads: HeadCorpus, model: str, dataset: str, kind: str) -> None:
    """Write the tree into a folder, or into one file where the path ends in .zip. Raises InputError for attention between two texts.

    >>> import tempfile
    >>> from core.analysis.heads.corpus_file import shipped_corpus
    >>> heads = shipped_corpus("induction-tiny").kinds["causal"]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_headvis(folder, heads, "induction-tiny", "strings", "causal")
    ...     read_headvis(folder).heads.strongest == heads.strongest
    True
    """
    path = Path(path)
    if path.suffix == ".zip":
        path.write_bytes(headvis_zip(heads, model, dataset, kind))
        return
    for name, value in headvis_files(heads, model, dataset, kind).items():
        file = path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(_encoded(value))


def headvis_zip(heads: HeadCorpus, model: str, dataset: str, kind: str) -> bytes:
    """Return the tree as the bytes of a .zip, the same for the same heads."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as file:
        for name, value in headvis_files(heads, model, dataset, kind).items():
            file.writestr(zipfile.ZipInfo(name), _encoded(value), zipfile.ZIP_DEFLATED)
    return data.getvalue()


def _encoded(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def headvis_files(heads: HeadCorpus, model: str, dataset: str, kind: str) -> dict[str, Any]:
    """Return the JSON of each file of the tree, by its name."""
    if any(row.context or row.query not in row.positions for row in _all_rows(heads)):
        raise InputError(
            f"The attention {kind} of {model} is between two texts.",
            "HeadVis shows attention within one.",
            "Choose another kind of attention.",
        )
    layers, n_heads = heads.shape
    places = [(layer, head) for layer in range(layers) for head in range(n_heads)]
    n_intervals = max((len(heads.deciles[layer][head]) for layer, head in places), default=0) or 1
    tables = {METRIC_NAMES.get(name, name): table[..., MEAN] for name, table in heads.measures.items()}
    for control, statistics in heads.controls.items():
        tables |= {
            f"{METRIC_NAMES.get(name, name)}_{control}": table[..., MEAN]
            for name, table in statistics.items()
        }
    if heads.effect is not None:
        tables["loss_growth_without_head"] = heads.effect
    files: dict[str, Any] = {
        "config.json": {
            "model_name": model,
            "np_model_id": model,
            "dataset_name": dataset,
            "heads": [list(place) for place in places],
            "n_layers": layers,
            "n_heads": n_heads,
            "n_intervals": n_intervals,
            "metrics": list(tables),
            "metric_descriptions": {name: name.replace("_", " ") for name in tables},
            "head_data_pattern": "L{layer}H{head}.json",
            "has_umap": False,
            "umap_heads": [],
            "custom_plots": [{"key": "qk_distance_histogram", "label": "Q-K distance"}],
            "custom_tables": [
                {"key": "top_query_tokens", "label": "Top query tokens (mean of the largest weight)"},
                {"key": "top_key_tokens", "label": "Top key tokens (mean of the largest weight)"},
            ],
            "statistics_display": {
                "n_samples": {"label": "Samples kept", "format": "default"},
                "mean_max_activation": {"label": "Mean max activation", "format": "default"},
            },
            "pipeline_config": {
                "n_sequences": heads.n,
                "actual_sequences_processed": heads.n,
                "seq_len": max((len(row.tokens) for row in _all_rows(heads)), default=0),
                "dtype": "float32",
                "attn_implementation": "eager",
                "sample_seed": 0,
            },
            MARK: {"version": VERSION, "kind": kind},
        },
        "scatter_data.json": [
            {
                "layer": layer,
                "head": head,
                **{name: _number(table[layer, head]) for name, table in tables.items()},
                **dict.fromkeys(UNMEASURED_METRICS),
            }
            for layer, head in places
        ],
        "server_config.json": {},
        "attributions/manifest.json": {},
    }
    for layer, head in places:
        files[f"heads/L{layer}H{head}.json"] = _head(heads, layer, head, n_intervals)
    return files


def _all_rows(heads: HeadCorpus) -> list[CorpusRow]:
    return [
        row for group in (heads.strongest, heads.deciles) for layer in group for rows in layer for row in rows
    ]


def _head(heads: HeadCorpus, layer: int, head: int, n_intervals: int) -> dict[str, Any]:
    sequences = sequences_of(heads, layer, head, n_intervals)
    strongest = heads.measures.get(STRONGEST_WEIGHT)
    return {
        "sequences": sequences,
        "qk_distance_histogram": _distances(sequences),
        "top_query_tokens": _tokens(heads.queries[layer][head]),
        "top_key_tokens": _tokens(heads.keys[layer][head]),
        "statistics": {
            "n_samples": len(sequences),
            "mean_max_activation": None if strongest is None else _number(strongest[layer, head, MEAN]),
        },
        "measures": _statistics(heads.measures, layer, head),
        "controls": {name: _statistics(tables, layer, head) for name, tables in heads.controls.items()},
    }


def sequences_of(
    heads: HeadCorpus, layer: int, head: int, n_intervals: int | None = None
) -> list[dict[str, Any]]:
    """Return the sequences of a head: the strongest rows in the highest interval, and one of each tenth in its own, the lowest 1."""
    deciles = heads.deciles[layer][head]
    n_intervals = n_intervals or len(deciles) or 1
    return [
        *(_sequence(row, n_intervals, STRONGEST) for row in heads.strongest[layer][head]),
        *(_sequence(row, n_intervals - rank, DECILE) for rank, row in enumerate(deciles)),
    ]


def _sequence(row: CorpusRow, interval: int, group: str) -> dict[str, Any]:
    tokens: list[str] = []
    places: list[int | None] = []
    for place, token in zip(row.positions, row.tokens, strict=True):
        if places and place != (places[-1] or 0) + 1:
            tokens.append(GAP)
            places.append(None)
        tokens.append(token)
        places.append(place)
    query, n = places.index(row.query), len(tokens)
    return {
        "sequence_id": row.passage,
        "interval": interval,
        "tokens": tokens,
        "attention_indices": [query * n + places.index(place) for place in row.positions],
        "attention_values": list(row.weights),
        "seq_len": n,
        "max_activation": row.weight,
        "positions": places,
        "query": query,
        "key": places.index(row.key),
        "group": group,
    }


def neuronpedia_sequences(heads: HeadCorpus, layer: int, head: int) -> list[dict[str, Any]]:
    """Return the sequences of a head as Neuronpedia's interface returns them (`/api/model/head-sequences/get`), the highest interval first."""
    rows = sequences_of(heads, layer, head)
    rows.sort(key=lambda one: (-one["interval"], -one["max_activation"]))
    return [
        {
            "id": f"{layer}-{head}-{number}",
            "layer": layer,
            "headIndex": head,
            "interval": one["interval"],
            "tokens": one["tokens"],
            "attentionIndices": one["attention_indices"],
            "attentionValues": one["attention_values"],
            "maxActivation": one["max_activation"],
        }
        for number, one in enumerate(rows)
    ]


def _distances(sequences: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return their histogram of |query - key|, weighted by attention, of positions in the whole text."""
    values = [0.0] * (len(EDGES) - 1)
    for one in sequences:
        places, n = one["positions"], one["seq_len"]
        for index, weight in zip(one["attention_indices"], one["attention_values"], strict=True):
            distance = abs(places[index // n] - places[index % n])
            if (bin_ := bisect_right(EDGES, distance) - 1) < len(values):
                values[bin_] += weight
    return {"bin_edges": EDGES, "bin_values": [round(value, DIGITS) for value in values]}


def _tokens(tokens: Sequence[TokenWeight]) -> list[dict[str, Any]]:
    return [{"token": one.token, "weight": one.weight, "count": one.count} for one in tokens]


def _statistics(statistics: Mapping[str, np.ndarray], layer: int, head: int) -> dict[str, Any]:
    return {name: [_number(value) for value in table[layer, head]] for name, table in statistics.items()}


def _number(value: float) -> float | None:
    return round(float(value), DIGITS) if np.isfinite(value) else None


def read_headvis(path: Path | str) -> HeadVis:
    """Read a tree, ours or one of Neuronpedia's pipeline, from its folder or a .zip. Raises InputError, in words, where it is not one.

    Of each sequence of theirs its strongest row is taken, by our rule, with the tokens of a window; the measures have means only (quantiles are NaN).
    """
    path = Path(path)
    open_file = _opener(path)
    config = _object(open_file, "config.json")
    try:
        mark = config.get(MARK)
        version = VERSION if mark is None else mark["version"]
        if version != VERSION:
            raise _refusal("config.json", f"has version {version!r:.20} of what we add, not {VERSION}")
        places = [(_count(layer), _count(head)) for layer, head in config["heads"]]
        layers, n_heads, n_intervals = (
            _count(config[name]) for name in ("n_layers", "n_heads", "n_intervals")
        )
        if not 0 < layers * n_heads <= MOST_HEADS or not places:
            raise ValueError("its number of heads cannot be read")
        if any(layer >= layers or head >= n_heads for layer, head in places) or len({*places}) != len(places):
            raise ValueError("a head is not in the model, or twice")
        pipeline = config.get("pipeline_config") or config
        n = _count(pipeline.get("actual_sequences_processed", pipeline.get("n_sequences", 0)))
        model, dataset = _text(config["model_name"]), _text(config["dataset_name"])
        kind = "causal" if mark is None else _text(mark["kind"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _broken("config.json", error) from None
    files = {place: _object(open_file, f"heads/L{place[0]}H{place[1]}.json") for place in places}
    scatter = _json(open_file, "scatter_data.json")
    parts = {}
    for place, content in files.items():
        try:
            parts[place] = _read_head(content, n_intervals, windows=mark is not None)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            raise _broken(f"L{place[0]}H{place[1]}.json", error) from None
    try:
        measures, effect = _read_scatter(scatter, (layers, n_heads))
        for group in ("measures", "controls") if mark is not None else ():
            for content in files.values():
                if not isinstance(content.get(group), dict):
                    raise KeyError(group)
        controls: dict[str, dict[str, np.ndarray]] = {}
        if mark is not None:
            measures = _tables({place: one["measures"] for place, one in files.items()}, (layers, n_heads))
            for name in dict.fromkeys(name for one in files.values() for name in one["controls"]):
                each = {place: one["controls"].get(name, {}) for place, one in files.items()}
                controls[_text(name)] = _tables(each, (layers, n_heads))
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise _broken("scatter_data.json", error) from None

    def of_each(part: int) -> tuple:
        return tuple(
            tuple(parts[layer, head][part] if (layer, head) in parts else () for head in range(n_heads))
            for layer in range(layers)
        )

    heads = HeadCorpus(n, measures, controls, of_each(0), of_each(1), of_each(2), of_each(3), effect)
    return HeadVis(model, dataset, kind, n_intervals, heads)


def rows_of_neuronpedia(data: bytes) -> dict[tuple[int, int], tuple[CorpusRow, ...]]:
    """Return the strongest rows by (layer, head), the strongest first, from a list of sequences as Neuronpedia's interface returns them.

    Passages are numbered in the order of the list. Raises InputError, in words, for anything else.
    """
    name = "The list of sequences"
    if len(data) > MOST_BYTES:
        raise _refusal(name, f"has {len(data):,} bytes, more than {MOST_BYTES:,}")
    content = strict_json(data, name)
    found: dict[tuple[int, int], list[CorpusRow]] = {}
    try:
        if not isinstance(content, list):
            raise TypeError("it is no list")
        for number, one in enumerate(content):
            sequence = {
                "tokens": one["tokens"],
                "attention_indices": one["attentionIndices"],
                "attention_values": one["attentionValues"],
                "sequence_id": number,
                "max_activation": one["maxActivation"],
            }
            row = _read_sequence(sequence, windows=False)
            rows = found.setdefault((_count(one["layer"]), _count(one["headIndex"])), [])
            rows += [row] if row else []
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise _broken(name, error) from None
    return {place: tuple(sorted(rows, key=lambda row: -row.weight)) for place, rows in found.items()}


def _opener(path: Path) -> Callable[[str], bytes]:
    """Return what reads a file of the tree by its name, at most `MOST_BYTES` of it."""
    if path.is_dir():

        def from_folder(name: str) -> bytes:
            file = path / name
            if not file.is_file():
                raise _refusal(printable(path.name), f"has no {name}")
            return small_bytes(file, MOST_BYTES)

        return from_folder
    try:
        archive = zipfile.ZipFile(path)
    except (OSError, zipfile.BadZipFile, ValueError) as error:
        raise _refusal(printable(path.name), f"cannot be opened ({type(error).__name__})") from None
    names = {info.filename: info for info in archive.infolist()}
    roots = {name.removesuffix("config.json") for name in names if re.search(r"(^|/)config\.json$", name)}
    root = min(roots, key=len, default="")

    def from_archive(name: str) -> bytes:
        info = names.get(root + name)
        if info is None:
            raise _refusal(printable(path.name), f"has no {name}")
        try:
            with archive.open(info) as file:
                data = file.read(MOST_BYTES + 1)
        except (OSError, zipfile.BadZipFile, RuntimeError, EOFError) as error:
            raise _refusal(name, f"cannot be unpacked ({type(error).__name__})") from None
        if len(data) > MOST_BYTES:
            raise _refusal(name, f"has more than {MOST_BYTES:,} bytes")
        return data

    return from_archive


def _json(open_file: Callable[[str], bytes], name: str) -> Any:
    return strict_json(open_file(name), name)


def _object(open_file: Callable[[str], bytes], name: str) -> dict[str, Any]:
    content = _json(open_file, name)
    if not isinstance(content, dict):
        raise _refusal(name, "holds no JSON object")
    return content


def _read_head(
    content: Mapping[str, Any], n_intervals: int, *, windows: bool
) -> tuple[tuple, tuple, tuple, tuple]:
    """Return the strongest rows, those of the intervals from the highest, and the top tokens as queries and as keys."""
    groups: dict[Any, list[CorpusRow]] = {}
    for one in content["sequences"]:
        interval = _count(one["interval"])
        if not 1 <= interval <= n_intervals:
            raise ValueError("an interval is not one of the model's")
        row = _read_sequence(one, windows=windows)
        if row is None:
            continue
        if windows and one["group"] == STRONGEST:
            groups.setdefault(STRONGEST, []).append(row)
        else:
            groups.setdefault(interval, []).append(row)
    for rows in groups.values():
        if not windows:
            rows.sort(key=lambda row: -row.weight)
    strongest = groups.get(STRONGEST if windows else n_intervals, [])
    tenths = [groups[number] for number in range(n_intervals, 0, -1) if number in groups]
    tokens = [
        tuple(
            TokenWeight(_text(one["token"]), float(one["weight"]), _count(one.get("count", 0)))
            for one in content.get(name) or ()
        )
        for name in ("top_query_tokens", "top_key_tokens")
    ]
    return tuple(strongest), tuple(rows[len(rows) // 2] for rows in tenths), tokens[0], tokens[1]


def _read_sequence(one: Mapping[str, Any], *, windows: bool) -> CorpusRow | None:
    """Return the strongest row of a sequence; None where no pair counts."""
    tokens = [_text(token) for token in one["tokens"]]
    n, indices, values = len(tokens), one["attention_indices"], one["attention_values"]
    if n > MOST_TOKENS or len(indices) != len(values) or one.get("seq_len", n) != n:
        raise ValueError("a sequence has parts of different lengths")
    pairs: dict[tuple[int, int], float] = {}
    for index, value in zip(indices, values, strict=True):
        if not 0 <= _count(index) < n * n or not 0 <= value <= 1.001:
            raise ValueError("a weight or its place is out of range")
        pairs[divmod(index, n)] = float(value)
    places = one["positions"] if windows else list(range(n))
    if len(places) != n or any(place is not None and place < 0 for place in places):
        raise ValueError("a sequence has parts of different lengths")
    if windows:
        query, key, weight = _count(one["query"]), _count(one["key"]), float(one["max_activation"])
        if query >= n or key >= n or places[query] is None or places[key] is None:
            raise ValueError("a query or key is not in its sequence")
        near = [number for number, place in enumerate(places) if place is not None]
    else:
        counting = {pair: value for pair, value in pairs.items() if pair[0] and pair[1] not in (0, pair[0])}
        if not counting:
            return None
        (query, key), weight = max(counting.items(), key=lambda pair: pair[1])
        row = sorted((k for q, k in pairs if q == query), key=lambda k: -pairs[query, k])[:MORE]
        around = {place for middle in (key, query) for place in range(middle - BEFORE, middle + AFTER + 1)}
        near = sorted(place for place in {*around, *row} if 0 <= place < n)
    return CorpusRow(
        _count(one["sequence_id"]),
        round(weight, 3),
        places[query],
        places[key],
        tokens[query],
        tuple(places[number] for number in near),
        tuple(tokens[number] for number in near),
        tuple(round(pairs.get((query, number), 0.0), 3) for number in near),
    )


def _read_scatter(rows: Any, shape: tuple[int, int]) -> tuple[dict[str, np.ndarray], np.ndarray | None]:
    """Return the means of each metric as statistics without quantiles, under our names where we have them, and the effect on the loss."""
    if not isinstance(rows, list):
        raise TypeError("it is no list")
    measure_names = {metric: name for name, metric in METRIC_NAMES.items()}
    names = dict.fromkeys(str(name) for row in rows for name in row if name not in ("layer", "head"))
    tables: dict[str, np.ndarray] = {name: np.full(shape, np.nan) for name in names}
    for row in rows:
        place = _count(row["layer"]), _count(row["head"])
        for name, value in row.items():
            if name in tables and value is not None:
                tables[name][place] = float(value)
    effect = tables.pop("loss_growth_without_head", None)
    whole = {name: table for name, table in tables.items() if not np.isnan(table).all()}
    empty = np.full((*shape, len(QUANTILES)), np.nan)
    statistics = {
        measure_names.get(name, name): np.concatenate([table[..., None], empty], -1)
        for name, table in whole.items()
    }
    return statistics, effect


def _tables(
    heads: Mapping[tuple[int, int], Mapping[str, Any]], shape: tuple[int, int]
) -> dict[str, np.ndarray]:
    names = dict.fromkeys(_text(name) for one in heads.values() for name in one)
    tables = {name: np.full((*shape, 1 + len(QUANTILES)), np.nan) for name in names}
    for place, one in heads.items():
        for name, values in one.items():
            tables[name][place] = [np.nan if value is None else float(value) for value in values]
    return tables


def _refusal(name: str, wrong: str) -> InputError:
    return InputError(f"{name} {wrong}.", RULE, REMEDY)


def _broken(name: str, error: Exception) -> InputError:
    if isinstance(error, InputError):
        return error
    detail = f"has no {error.args[0]!r:.40}" if isinstance(error, KeyError) else f"is broken ({error!s:.80})"
    return _refusal(name, detail)


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError("a whole number is missing")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("a name is no text")
    return value
