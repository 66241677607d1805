"""Measure a model: `python -m core.tools.evaluate NAME [--data FILE] [--step N] [--limit N] [--seed N] [--record SPLIT] [--beside TRAIN] [--device cpu]`.

Prints one JSON object on standard output and nothing else; progress and errors go to standard error, an error that
the user can mend ends with status 2.

What is measured depends on the kind of model (core/scoring has the definitions):
    language models   nats_per_token bits_per_byte perplexity                      on .txt
    models each way   the same three, _forward and _backward                       on .txt
    masked models     masked_top1 masked_top5 next_sentence_accuracy               on .txt
                      or sentence_order_accuracy
    word vectors      analogy_top1 analogy_top5 queen_rank top1_by_group           on .tsv
    translators       bleu_greedy bleu_beam4 chrf_beam4 bleu_by_length             on .tsv
    classifiers       accuracy accuracy_by_class commonest nats                    on .jsonl
    models of drawings accuracy accuracy_by_class; of mae-doodles squared_error    on .npz (x, y alone will do)
                      accuracy_from_few
Models of toy tasks draw their own held-out items and need no --data:
    copy-*            token_accuracy exact_match, each by length
    prompt-tiny       exact_match, by task
    snail-recall      accuracy, by task and by place (also -convolutions and -attention)
    captioner         exact_match, by relation and of unseen colours; noun_on_object
    speller           letter_error exact_match, by noise, speed, number of words; in voices no training heard
    induction-tiny    induction_score best_head copied, by offset
A model with a mask in blocks (bigbird-mini) is measured with `--full` as if all pairs were allowed, with `--tokens N` on
passages of N tokens, and with `--cost` by the clock: milliseconds and megabytes of a pass, by length.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from core.checkpoints import history, open_model, scores, store
from core.errors import InputError
from core.scoring import Metrics, cost, files, scoring_of
from core.training.recipe import recipes

DIGITS = 5
FEWEST = 8


def evaluate(
    model: Any, data: Path | str | None = None, limit: int | None = None, seed: int | None = None
) -> Metrics:
    """Return items, seconds and the metrics of the model's kind on a file; `limit` takes only its first items.

    Without a file a model whose recipe draws held-out items is measured on those; there `limit` is for each task or
    length, and another `seed` draws others. Raises InputError for a file that is missing, damaged or of another kind than this model is measured on,
    for none where one is needed, and for a seed that is negative or given with a file.
    """
    files.check_limit(limit)
    files.check_seed(seed, data)
    begun = time.perf_counter()
    metrics = _measure_samples(model, limit, seed) if data is None else _on_file(model, Path(data), limit)
    return {
        "items": metrics.pop("items"),
        "seconds": round(time.perf_counter() - begun, 2),
        **_rounded(metrics),
    }


def with_options(model: Any, *, tokens: int | None = None, full: bool = False, blocks: bool = False) -> Any:
    """Return the model as it is to be measured: on passages of `tokens` tokens, with all pairs allowed (`full`).

    Raises InputError for more tokens than it reads, and where `blocks` are meant and it has none.
    """
    if blocks and not hasattr(model.config, "layout"):
        raise InputError(
            f"{model.name} has no mask in blocks.",
            "All its pairs are allowed as it is.",
            "Leave --full and --cost out.",
        )
    if tokens is not None and not FEWEST <= tokens <= getattr(model.config, "n_ctx", 0):
        raise InputError(
            f"--tokens is {tokens}.",
            f"{model.name} reads from {FEWEST} to {model.config.n_ctx:,} at once.",
            "Give a number between.",
        )
    model = cost.with_full_attention(model) if full else model
    return model if tokens is None else replace(model, config=replace(model.config, n_ctx=tokens))


def measure_baselines(model: Any, train: Path, data: Path | None) -> dict[str, Metrics]:
    """Return the metrics of baselines that learn from `train`, on the same file. Raises InputError where this kind of model has none."""
    scoring = scoring_of(model.family)
    if scoring.baselines is None or data is None:
        raise InputError(
            f"There is no baseline for {model.name}.",
            "Only classifiers of documents and drawings have baselines that learn from a file, and are measured on --data.",
            "Leave --beside out.",
        )
    for path in (train, data):
        files.check(path, scoring.suffix, scoring.content, f"{model.name} (a {scoring.kind})")
    return {name: _rounded(metrics) for name, metrics in scoring.baselines(model, train, data).items()}


def _on_file(model: Any, path: Path, limit: int | None) -> Metrics:
    scoring = scoring_of(model.family)
    files.check(path, scoring.suffix, scoring.content, f"{model.name} (a {scoring.kind})")
    return scoring.measure(model, path, limit)


def _measure_samples(model: Any, limit: int | None, seed: int | None) -> Metrics:
    recipe = recipes().get(history.base_name(model.name))
    if recipe is None or recipe.measure is None or recipe.family != model.family:
        scoring, own = (
            scoring_of(model.family),
            [name for name, made in sorted(recipes().items()) if made.measure],
        )
        raise InputError(
            f"There is nothing to measure {model.name} on.",
            f"A {scoring.kind} is measured on {scoring.suffix}: {scoring.content}. Only {', '.join(own)} draw their own items.",
            "Give --data FILE.",
        )
    return recipe.measure(model, limit, seed=seed or 0)


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _rounded(inner) for name, inner in value.items()}
    return round(value, DIGITS) if isinstance(value, float) else value


def main(argv: list[str] | None = None) -> int:
    ask = argparse.ArgumentParser(
        prog="python -m core.tools.evaluate",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    ask.add_argument("name", help="a shipped model, or a folder")
    ask.add_argument(
        "--data",
        type=Path,
        help="the test set: .txt .tsv .jsonl .npz, each also .xz; models of toy tasks need none",
    )
    ask.add_argument(
        "--step",
        type=int,
        help="measure the weights after so many steps of the training, where they were kept",
    )
    ask.add_argument(
        "--limit",
        type=int,
        help="only the first so many lines or sources; of drawn items, of each task or length",
    )
    ask.add_argument("--tokens", type=int, help="passages of so many tokens in place of the whole context")
    ask.add_argument(
        "--full", action="store_true", help="all pairs allowed, of a model with a mask in blocks"
    )
    ask.add_argument(
        "--cost", action="store_true", help="time and memory by length, of a model with a mask in blocks"
    )
    ask.add_argument("--seed", type=int, help="other held-out items, of a model that draws them")
    ask.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    ask.add_argument(
        "--record", metavar="SPLIT", help="also write what was measured into scores.json of the shipped model"
    )
    ask.add_argument(
        "--beside",
        metavar="TRAIN",
        type=Path,
        help="also what simpler readers reach on --data that learn from this file",
    )
    opts = ask.parse_args(argv)
    if (opts.record or opts.beside) and opts.limit:
        ask.error("--record and --beside are of a whole split; leave --limit out")
    try:
        model = open_model(opts.name) if opts.step is None else open_model(opts.name, step=opts.step)
        model.network.to(torch.device(opts.device))
        model = with_options(model, tokens=opts.tokens, full=opts.full, blocks=opts.full or opts.cost)
        found = (
            _rounded(cost.cost_by_length(model))
            if opts.cost
            else evaluate(model, opts.data, opts.limit, opts.seed)
        )
        others = found.pop("beside", {})
        others |= measure_baselines(model, opts.beside, opts.data) if opts.beside else {}
        if opts.record:
            folder = store.shipped_folder() / history.base_name(model.name)
            for of, measured in {**others, model.name: found}.items():  # the last is the first row
                scores.record(folder, opts.record, measured, subject=of)
            store.write_manifest(store.shipped_folder())
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    print(
        json.dumps(
            {
                "model": model.name,
                "data": opts.data.name if opts.data else "drawn",
                **found,
                **({"beside": others} if others else {}),
            },
            ensure_ascii=False,
        )
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
