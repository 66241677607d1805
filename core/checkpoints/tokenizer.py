"""The tokenizer of a folder. A foreign one is tried in a limited child process before this process loads it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tokenizers

from core.checkpoints.files import MB, inside, json_object, need, shown
from core.checkpoints.safety.config_schema import Fields
from core.checkpoints.safety.load_plan import Plan
from core.errors import InputError
from core.text import Tokenizer

FILE, VOCAB, MERGES, WORDS, RULES = (
    "tokenizer.json",
    "vocab.json",
    "merges.txt",
    "vocab.txt",
    "tokenizer_config.json",
)
MAX_FILE, MAX_OUT = 32 * MB, 96 * MB
MEMORY, CPU, WALL = 1500 * MB, 5, 30.0
"""What the child may use: address space in bytes, seconds of processor, seconds on the clock."""

CHILD = Path(__file__).parent / "safety" / "tokenizer_sandbox.py"
PLACE = Path(tokenizers.__file__).parents[1]
RULE = "A tokenizer must load, encode and stay within limits in a process of its own first."
AGAIN = "Download or export the tokenizer again."
OTHER = "Download it again; if it is as its makers wrote it, open a model whose tokenizer is of a known kind."


def shipped_tokenizer(folder: Path, plan: Plan) -> Tokenizer:
    """A tokenizer whose file was verified by its sum: loaded here and now."""
    tokenizer = Tokenizer(tokenizers.Tokenizer.from_file(str(need(folder, FILE))), **plan.ids)
    check_rows(len(tokenizer), len(tokenizer) - 1, plan.config.n_vocab)
    return _framing(tokenizer, plan)


def read_tokenizer(folder: Path, plan: Plan) -> Tokenizer:
    """A foreign tokenizer.json, GPT-2's vocab.json and merges.txt or BERT's vocab.txt, after the child has tried it.

    Where what is read is no text, the plan has its names and no file is asked for. Padding and truncation are taken off. Marks that the config does not name are found by the plan's names for them.
    Raises InputError: missing, refused by the child, an id beyond the rows of the model's table, no mark to frame with.
    """
    if plan.tokenizer is not None:
        return Tokenizer(plan.tokenizer, **plan.ids)
    name, given = _given(folder)
    facts = try_in_child(given, name)
    check_rows(facts["n_ids"], facts["largest_id"], plan.config.n_vocab)
    return marked(tokenizers.Tokenizer.from_str(facts["tokenizer"]), plan)


def marked(backend: tokenizers.Tokenizer, plan: Plan) -> Tokenizer:
    """Our tokenizer of a backend, with the marks that the plan names. Raises InputError for none to frame with."""
    marks: dict[str, str] = {}
    for mark, names in plan.marks.items():
        there = [name for name in names.split(" or ") if backend.token_to_id(name) is not None]
        if mark not in plan.ids and there:
            marks[mark] = there[0]
    known = {token.content for token in backend.get_added_tokens_decoder().values()}
    backend.add_special_tokens(sorted(set(marks.values()) - known))
    return _framing(
        Tokenizer(backend, **plan.ids, **{mark: backend.token_to_id(word) for mark, word in marks.items()}),
        plan,
    )


def _framing(tokenizer: Tokenizer, plan: Plan) -> Tokenizer:
    if plan.spec.framed and (tokenizer.start is None or tokenizer.end is None):
        wanted = " and ".join(plan.marks[mark] for mark in ("start", "end"))
        raise InputError(
            "The tokenizer has no marks to put around a text.", f"This kind of model needs {wanted}.", AGAIN
        )
    return tokenizer


def _given(folder: Path) -> tuple[str, list[Path | str]]:
    """What the child is to read: the name of the kind, the files and how a vocab.txt normalizes."""
    for names in ((FILE,), (VOCAB, MERGES), (WORDS,)):
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
        f"A model needs it, or {VOCAB} and {MERGES}, or {WORDS}.",
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
        raise _refused(name, facts["problem"])
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
