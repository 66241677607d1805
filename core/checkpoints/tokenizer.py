"""The tokenizer of a folder. A foreign one is tried in a limited child process before this process loads it."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import tokenizers

from core.checkpoints.files import MB, inside, json_object, need, shown
from core.checkpoints.safety.config_schema import Fields
from core.checkpoints.safety.load_plan import Plan
from core.errors import InputError
from core.text import Cutter, PieceTokenizer, Tokenizer

FILE, VOCAB, MERGES, WORDS, RULES = (
    "tokenizer.json",
    "vocab.json",
    "merges.txt",
    "vocab.txt",
    "tokenizer_config.json",
)
SOURCE, TARGET = "source.spm", "target.spm"
KINDS = ((FILE,), (SOURCE, TARGET, VOCAB), (VOCAB, MERGES), (WORDS,))
"""The files that a tokenizer may be, what is read first standing first."""
MAX_FILE, MAX_OUT = 32 * MB, 96 * MB
MEMORY, CPU, WALL = 1500 * MB, 5, 30.0
"""What the child may use: address space in bytes, seconds of processor, seconds on the clock."""

CHILD = Path(__file__).parent / "safety" / "tokenizer_sandbox.py"
PLACE = Path(tokenizers.__file__).parents[1]
RULE = "A tokenizer must load, encode and stay within limits in a process of its own first."
AGAIN = "Download or export the tokenizer again."
OTHER = "Download it again; if it is as its makers wrote it, open a model whose tokenizer is of a known kind."

_SHARED: WeakValueDictionary[Any, Tokenizer] = WeakValueDictionary()
"""Of the models that are open: a vocabulary of eight thousand tokens takes 30 MB in memory, and five translators have the same."""


def shipped_tokenizer(folder: Path, plan: Plan) -> Tokenizer:
    """A tokenizer whose file was verified by its sum: loaded here and now. Models of the same tokens have one in common."""
    file = need(folder, FILE).read_bytes()
    key = hashlib.sha256(file).digest(), tuple(sorted(plan.ids.items()))
    tokenizer = _SHARED.get(key)
    if tokenizer is None:
        tokenizer = _SHARED[key] = Tokenizer(tokenizers.Tokenizer.from_buffer(file), **plan.ids)
    check_rows(len(tokenizer), len(tokenizer) - 1, plan.config.n_vocab)
    return _framing(tokenizer, plan)


def read_tokenizer(folder: Path, plan: Plan) -> Tokenizer:
    """A foreign tokenizer.json, GPT-2's vocab.json and merges.txt, BERT's vocab.txt or Marian's two SentencePiece models with a vocab.json, after the child has tried it.

    Where what is read is no text, the plan has its names and no file is asked for. Padding and truncation are taken off. Marks that the config does not name are found by the plan's names for them.
    Raises InputError: missing, refused by the child, an id beyond the rows of the model's table, no mark to frame with.
    """
    if plan.tokenizer is not None:
        return Tokenizer(plan.tokenizer, **plan.ids)
    name, given = given_files(folder)
    facts = try_in_child(given, name)
    check_rows(facts["n_ids"], facts["largest_id"], plan.config.n_vocab)
    backend = tokenizers.Tokenizer.from_str(facts["tokenizer"])
    if "cutters" not in facts:
        return marked(backend, plan)
    cutters = {side: Cutter.of(**held) for side, held in facts["cutters"].items()}
    files = {file: need(folder, file).read_bytes() for file in (SOURCE, TARGET, VOCAB)}
    return marked(backend, plan, partial(PieceTokenizer, **cutters, files=files))


def marked(
    backend: tokenizers.Tokenizer, plan: Plan, make: Callable[..., Tokenizer] = Tokenizer
) -> Tokenizer:
    """Our tokenizer of a backend, made by `make`, with the marks that the plan names. Raises InputError for none to frame with."""
    marks: dict[str, str] = {}
    for mark, names in plan.marks.items():
        there = [name for name in names.split(" or ") if backend.token_to_id(name) is not None]
        if mark not in plan.ids and there:
            marks[mark] = there[0]
    known = {token.content for token in backend.get_added_tokens_decoder().values()}
    backend.add_special_tokens(sorted(set(marks.values()) - known))
    return _framing(
        make(backend, **plan.ids, **{mark: backend.token_to_id(word) for mark, word in marks.items()}),
        plan,
    )


def _framing(tokenizer: Tokenizer, plan: Plan) -> Tokenizer:
    if plan.spec.framed and (tokenizer.start is None or tokenizer.end is None):
        wanted = " and ".join(plan.marks[mark] for mark in ("start", "end"))
        raise InputError(
            "The tokenizer has no marks to put around a text.", f"This kind of model needs {wanted}.", AGAIN
        )
    return tokenizer


def given_files(folder: Path) -> tuple[str, list[Path | str]]:
    """What the child is to read: the name of the kind, the files and how a vocab.txt normalizes. Raises InputError where there are none."""
    for names in KINDS:
        paths = [path for path in (inside(folder, name) for name in names) if path]
        if len(paths) < len(names):
            continue
        for name, path in zip(names, paths, strict=True):
            if path.stat().st_size > MAX_FILE:
                raise InputError(
                    f"{name} has {path.stat().st_size:,} bytes.", f"At most {MAX_FILE:,} are read.", AGAIN
                )
        return names[0], [*paths, json.dumps(_rules(folder))] if names == (WORDS,) else [*paths]
    wrong = f"{FILE} is missing in {shown(folder.name)}."
    raise InputError(
        wrong,
        f"A model needs it, or {VOCAB} and {MERGES}, or {WORDS}, or {SOURCE}, {TARGET} and {VOCAB}.",
        "Download or export the model again.",
    )


def _rules(folder: Path) -> dict[str, bool | None]:
    """How BERT's old tokenizer normalizes: lower case unless told otherwise, and then without accents."""
    said = Fields(json_object(folder, RULES) if inside(folder, RULES) else {}, RULES)
    return {
        "lowercase": said.flag("do_lower_case", True),
        "strip_accents": said.flag("strip_accents", None),
        "handle_chinese_chars": said.flag("tokenize_chinese_chars", True),
    }


def try_in_child(
    given: Sequence[Path | str], name: str, *, memory: int = MEMORY, cpu: int = CPU, wall: float = WALL
) -> dict[str, Any]:
    """What the child says about a tokenizer: the cleaned file and its ids. Raises InputError for every bad end."""
    limits = [str(PLACE), str(memory), str(cpu), str(MAX_OUT)]
    command = [sys.executable, "-I", str(CHILD), *limits, name, *map(str, given)]
    calm = {
        key: value
        for key, value in os.environ.items()
        if key in ("PATH", "LD_LIBRARY_PATH", "SYSTEMROOT", "LANG")
    }
    calm |= {"TOKENIZERS_PARALLELISM": "false", "RAYON_NUM_THREADS": "1", "RUST_BACKTRACE": "0"}
    try:
        done = subprocess.run(
            command, env=calm, stdin=subprocess.DEVNULL, capture_output=True, timeout=wall, check=False
        )
        facts = json.loads(done.stdout) if done.returncode == 0 else None
    except subprocess.TimeoutExpired:
        raise _refused(name, "it does not end") from None
    except (OSError, ValueError):
        raise _refused(name, "it could not be tried") from None
    if facts is None:
        raise _refused(
            name, f"it breaks the limits of {cpu} seconds and {memory // MB:,} MB, or ends the process"
        )
    if "problem" in facts:
        raise _refused(facts.get("file", name), facts["problem"])
    return facts


def _refused(name: str, problem: str) -> InputError:
    return InputError(f"{name} is refused: {shown(problem, 250)}.", RULE, OTHER)


def check_rows(n_ids: int, largest: int, n_rows: int) -> None:
    """Raises InputError where a token has no row in the model's table."""
    if largest >= n_rows:
        raise InputError(
            f"The tokenizer has {n_ids:,} entries up to id {largest:,}, the model {n_rows:,} rows.",
            "Every token needs a row of the model's table.",
            "Take tokenizer and weights from the same model.",
        )
