"""Description of a model folder before it is opened: `python -m core.checkpoints.inspect PATH`.

Its config and the headers of its weights are read, and its tokenizer is tried in the limited child process; no number of
its weights is. The status is 0 where the model would be opened, 2 where it is refused.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

from core.checkpoints.files import find_file, json_object, printable
from core.checkpoints.gguf_file import gguf_in, gguf_tokenizer_loader, missing_cut_note
from core.checkpoints.load import inspect
from core.checkpoints.safety.config_schema import joined
from core.checkpoints.safety.gguf_header import read_gguf_header
from core.checkpoints.safety.load_plan import Plan
from core.checkpoints.tokenizer import KINDS, VOCAB, TokenizerLoader, given_files, try_in_child
from core.checkpoints.weights import Weights
from core.errors import InputError, Phrase
from core.text import PieceTokenizer, Tokenizer
from core.wording import mark

SIZES: Mapping[str, str] = {
    "n_layers": mark("layers"),
    "n_heads": mark("heads"),
    "n_kv_heads": mark("key-value heads"),
    "d_model": mark("width"),
    "d_head": mark("width of a head"),
    "d_ff": mark("width of the feed-forward network"),
    "n_vocab": mark("vocabulary"),
    "n_ctx": mark("context length"),
}
ROLES: Mapping[str, str] = {
    "start": mark("start"),
    "end": mark("end"),
    "pad": mark("pad"),
    "mask": mark("mask"),
}
"""The special tokens of a tokenizer, by the names of its fields."""
LISTED = mark("{one}, {other}")
SIDES: Mapping[str, str] = {"source": mark("source"), "target": mark("target")}
Facts = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Inspection:
    """Result of a check: the folder's description of itself, facts as (name, value) a line, and every reason not to open it."""

    description: str
    facts: tuple[Facts, ...]
    problems: tuple[InputError, ...]


def check_folder(folder: Path) -> Inspection:
    """Check a folder without opening it; its tokenizer is tried in the child.

    >>> check_folder(Path("no such folder")).problems[0].wrong
    "There is no folder 'no such folder'."
    """
    problems: list[InputError] = []
    try:
        plan, weights = inspect(folder)
    except InputError as error:
        problems.append(error)
        return Inspection(_description(folder), tuple(_tokenizer_alone(folder, problems)), tuple(problems))
    lines = [*shape(plan)]
    try:
        lines += stored(plan, weights)
        packed = gguf_in(folder)
        with (
            TokenizerLoader(folder, plan) if packed is None else gguf_tokenizer_loader(packed, plan) as loader
        ):
            lines.append(tokenizer_facts(loader.tokenizer, framed=plan.spec.framed))
        if packed is not None and (words := missing_cut_note(read_gguf_header(packed))):
            lines.append((("how it cuts", words[-1]),))
    except InputError as error:
        problems.append(error)
    return Inspection(_description(folder), tuple(lines), tuple(problems))


def report(folder: Path) -> tuple[list[str], list[InputError]]:
    """Return lines about a model folder, and every reason not to open it; [] where it would open."""
    judged = check_folder(folder)
    lines = ["  " + ", ".join(": ".join(fact) for fact in facts) for facts in judged.facts]
    return [f"{printable(folder.name)}: {judged.description}", *lines], [*judged.problems]


def _description(folder: Path) -> str:
    """Return the kind that a folder's files name."""
    try:
        if gguf_in(folder) is not None:
            return "a GGUF file"
        values = json_object(folder, "config.json")
    except InputError:
        return "no readable config.json"
    given: Any = values.get("model_type") or values.get("family")
    return f"config.json calls it {printable(str(given), 40)}" if given else "config.json names no kind"


def shape(plan: Plan) -> Iterator[Facts]:
    """Yield the kind of the model and its sizes."""
    kinds = ", ".join(kind.name for kind in plan.spec.kinds_of(plan.config))
    yield ((mark("kind"), plan.spec.name), (mark("attention"), kinds or mark("none")))
    words = plan.spec.reads is None or plan.spec.has_source  # else its ids are places of a picture
    sizes = {
        word: getattr(plan.config, name, None) for name, word in SIZES.items() if words or name != "n_vocab"
    }
    yield tuple((word, Phrase("{n:,}", n=size)) for word, size in sizes.items() if isinstance(size, int))
    outputs = ", ".join(plan.spec.outputs_with(plan.config, plan.head, plan.pooling))
    yield ((mark("outputs"), outputs or mark("none")),)
    if plan.head is not None and plan.head.names:
        yield ((plan.head.output, _first(plan.head.names, 10, ", ")),)


def stored(plan: Plan, weights: Weights) -> Iterator[Facts]:
    """Yield the number of parameters, their format, the memory they need, and the tensors that are not read."""
    sizes = [prod(take.shape) for take in plan.takes]
    precisions = ", ".join(weights.precisions)
    numbers = Phrase(
        "{n:,} in {tensors:,} tensors, stored as {precisions}",
        n=sum(sizes),
        tensors=len(sizes),
        precisions=precisions,
    )
    yield ((mark("parameters"), numbers),)
    halves = sum(prod(take.shape) for take in plan.takes if plan.mapped.get(take.name) == 2)
    storage = mark("mapped from the file") if plan.mapped else mark("in float32")
    if halves:
        storage = Phrase("{n:,} numbers stay in half precision, mapped from the file", n=halves)
    memory = Phrase(
        "{size} ({storage}), {most} while it is opened",
        size=_mb(plan.n_bytes),
        storage=storage,
        most=_mb(plan.memory),
    )
    yield ((mark("memory"), memory),)
    yield ((mark("computed in"), "float32"),)
    if plan.unused:
        names = ", ".join(map(printable, plan.unused[:5]))
        yield (
            (mark("not used"), Phrase("{names} and more", names=names) if len(plan.unused) > 5 else names),
        )


def tokenizer_facts(tokenizer: Tokenizer, *, framed: bool) -> Facts:
    """Describe a tokenizer as facts: its number of entries, its special tokens, those that it puts around a text (START and END where it is `framed`), and the pieces of SentencePiece."""
    marks = {name: getattr(tokenizer, role) for role, name in ROLES.items()}
    named = [
        Phrase("{name} {token}", name=name, token=printable(tokenizer.token(at)))
        for name, at in marks.items()
        if at is not None
    ]
    marked = ((tokenizer.start,), (tokenizer.end,)) if framed else tokenizer.frame_ids
    before, behind = (
        " ".join(printable(tokenizer.token(at)) for at in side if at is not None) for side in marked
    )
    told = Phrase(
        "{n:,} entries, {marks}; it puts {before} before a text and {behind} behind it",
        n=len(tokenizer),
        marks=joined(named, LISTED) if named else mark("no marks"),
        before=before or mark("nothing"),
        behind=behind or mark("nothing"),
    )
    facts = ((mark("tokenizer"), told),)
    return (*facts, ("SentencePiece", _pieces(tokenizer))) if isinstance(tokenizer, PieceTokenizer) else facts


def _pieces(tokenizer: PieceTokenizer) -> str:
    """Return how many pieces each side has, how many of them have no number, and the languages that can be chosen."""
    vocab = tokenizer.vocab
    sides = []
    for side, cutter in tokenizer.cutters.items():
        missing = sum(piece not in vocab for piece in cutter.pieces)
        pieces = Phrase("{side} {n:,} pieces", side=SIDES[side], n=len(cutter.pieces))
        unknown = mark("{pieces} ({n:,} of them not in {file}, read as unknown)")
        sides.append(Phrase(unknown, pieces=pieces, n=missing, file=VOCAB) if missing else pieces)
    if codes := [printable(code, 20) for code in tokenizer.codes]:
        sides.append(Phrase("languages {codes}", codes=_first(codes, 5, " ")))
    return joined(sides, mark("{one}; {other}"))


def _first(names: Sequence[str], n: int, between: str) -> str:
    """Return the first n names, and how many more there are."""
    few = between.join(names[:n])
    return Phrase("{names} and {n:,} more", names=few, n=len(names) - n) if len(names) > n else few


def _tokenizer_alone(folder: Path, problems: list[InputError]) -> Iterator[Facts]:
    """Yield facts about a tokenizer without its model."""
    if not folder.is_dir() or not any(find_file(folder, names[0]) for names in KINDS):
        return
    try:
        name, given = given_files(folder)
        facts = try_in_child(given, name)
        entries = Phrase("{n:,} entries up to id {largest:,}", n=facts["n_ids"], largest=facts["largest_id"])
        yield ((mark("tokenizer"), entries),)
    except InputError as error:
        problems.append(error)


def _mb(n: int) -> str:
    return Phrase("{n:,.1f} MB", n=n / 2**20)


def main(argv: list[str] | None = None) -> int:
    ask = argparse.ArgumentParser(prog="python -m core.checkpoints.inspect", description=__doc__)
    ask.add_argument("path", type=Path, help="the folder of a model")
    lines, problems = report(ask.parse_args(argv).path.absolute())
    print("\n".join(lines))
    for error in problems:
        print(f"  refused: {error}")
    print("  it is not opened" if problems else "  it opens")
    return 2 if problems else 0


if __name__ == "__main__":
    raise SystemExit(main())
