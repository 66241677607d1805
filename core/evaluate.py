"""Measure a model: `python -m core.evaluate NAME --data FILE [--limit N] [--record SPLIT] [--device cpu]`.

Prints one JSON object on standard output and nothing else; progress and errors go to standard error, an error that
the user can mend ends with status 2.

What is measured depends on the kind of model (core/scoring has the definitions):
    language models   nats_per_token bits_per_byte perplexity                      on .txt
    masked models     masked_top1 masked_top5 next_sentence_accuracy               on .txt
    word vectors      analogy_top1 analogy_top5 queen_rank top1_by_group           on .tsv
    translators       bleu_greedy bleu_beam4 chrf_beam4 bleu_by_length             on .tsv
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import torch

import core
from core.checkpoints import scores, store
from core.errors import InputError
from core.scoring import Metrics, files, scoring_of

DIGITS = 5


def evaluate(model: Any, data: Path | str, limit: int | None = None) -> Metrics:
    """Items, seconds and the metrics of the model's kind on a file; `limit` takes the first so many items.

    Raises InputError for a file that is missing, damaged or of another kind than this model is measured on.
    """
    path, scoring = Path(data), scoring_of(model.family)
    files.check(path, scoring.suffix, scoring.content, f"{model.name} (a {scoring.kind})")
    files.check_limit(limit)
    begun = time.perf_counter()
    metrics = scoring.measure(model, path, limit)
    return {"items": metrics.pop("items"), "seconds": round(time.perf_counter() - begun, 2), **_rounded(metrics)}


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _rounded(inner) for name, inner in value.items()}
    return round(value, DIGITS) if isinstance(value, float) else value


def main(argv: list[str] | None = None) -> int:
    ask = argparse.ArgumentParser(
        prog="python -m core.evaluate", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    ask.add_argument("name", help="a shipped model, or a folder")
    ask.add_argument("--data", type=Path, required=True, help="the test set: .txt .tsv .jsonl .npz, each also .xz")
    ask.add_argument("--limit", type=int, help="only the first so many lines or sources")
    ask.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    ask.add_argument("--record", metavar="SPLIT", help="also write what was measured into scores.json of the shipped model")
    opts = ask.parse_args(argv)
    if opts.record and opts.limit:
        ask.error("--record writes down a whole split; leave --limit out")
    try:
        model = core.open_model(opts.name)
        model.network.to(torch.device(opts.device))
        found = evaluate(model, opts.data, opts.limit)
        if opts.record:
            scores.record(store.shipped_folder() / model.name, opts.record, found)
            store.write_manifest(store.shipped_folder())
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    print(json.dumps({"model": model.name, "data": opts.data.name, **found}, ensure_ascii=False))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
