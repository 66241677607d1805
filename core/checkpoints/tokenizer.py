"""The tokenizer of a folder. A foreign one is tried in a limited child process before this process loads it."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from functools import cached_property, partial
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import tokenizers

from core.checkpoints.files import MB, find_file, json_object, need, printable, short
from core.checkpoints.safety.config_schema import Fields, joined
from core.checkpoints.safety.load_plan import Plan
from core.errors import InputError, Phrase
from core.text import Cutter, PieceTokenizer, Tokenizer
from core.wording import mark

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
"""Limits of the child: address space in bytes, seconds of processor, seconds on the clock."""

CHILD = Path(__file__).parent / "safety" / "tokenizer_sandbox.py"
PLACE = Path(tokenizers.__file__).parents[1]
RULE = mark("A tokenizer must load, encode and stay within limits in a process of its own first.")
REMEDY = mark("Download or export the tokenizer again.")
OTHER = mark(
    "Download it again; if it is as its makers wrote it, open a model whose tokenizer is of a known kind."
)

_SHARED: WeakValueDictionary[Any, Tokenizer] = WeakValueDictionary()
"""Of the models that are open: a vocabulary of eight thousand tokens takes 30 MB in memory, and five translators have the same."""


def shipped_tokenizer(folder: Path, plan: Plan) -> Tokenizer:
    """Return a tokenizer whose file was verified by its checksum, loaded in this process. Models with the same tokens share one."""
    file = need(folder, FILE).read_bytes()
    key = hashlib.sha256(file).digest(), tuple(sorted(plan.ids.items()))
    tokenizer = _SHARED.get(key)
    if tokenizer is None:
        tokenizer = _SHARED[key] = Tokenizer(tokenizers.Tokenizer.from_buffer(file), **plan.ids)
    check_rows(len(tokenizer), len(tokenizer) - 1, plan.config.n_vocab)
    return _framing(tokenizer, plan)


def read_tokenizer(folder: Path, plan: Plan) -> Tokenizer:
    """Return the tokenizer of a foreign folder, after the child has tried it (`TokenizerLoader`)."""
    with TokenizerLoader(folder, plan) as loader:
        return loader.tokenizer


class TokenizerLoader(AbstractContextManager["TokenizerLoader"]):
    """A loader of a foreign tokenizer.json, GPT-2's vocab.json and merges.txt, BERT's vocab.txt or Marian's two SentencePiece models with a vocab.json.

    The child tries it in the background; it is made here on first access to `tokenizer`. A model without text as input has the
    plan's names and no file. Padding and truncation are taken off. Special tokens that the config does not name are found by the plan's
    names for them. `called` is the name of the file in a refusal, where it is not its own.
    Raises InputError: missing, refused by the child, an id beyond the rows of the model's table, no special token to put around a text.
    """

    def __init__(self, folder: Path, plan: Plan, called: str = "") -> None:
        self._folder, self._plan, self._called = folder, plan, called
        self._trial = (
            Trial(*given_files(folder), tokenizers.Tokenizer.from_str) if plan.tokenizer is None else None
        )

    def __exit__(self, *_: object) -> None:
        if self._trial is not None:
            self._trial.close()

    def check(self) -> None:
        """Raise InputError once the child has refused it."""
        if self._trial is not None and self._trial.ended:
            _ = self.tokenizer

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """Return our tokenizer, once the child has accepted it."""
        if self._plan.tokenizer is not None:
            return Tokenizer(self._plan.tokenizer, **self._plan.ids)
        assert self._trial is not None
        try:
            return self._made(self._trial.facts)
        except InputError as error:
            if not self._called:
                raise
            values = {name: self._called if value == FILE else value for name, value in error.values.items()}
            wrong, rule, _remedy = error.messages
            raise InputError(wrong, rule, REMEDY, **values) from None

    def _made(self, facts: Mapping[str, Any]) -> Tokenizer:
        check_rows(facts["n_ids"], facts["largest_id"], self._plan.config.n_vocab)
        if "cutters" not in facts:
            return marked(facts["tokenizer"], self._plan)
        cutters = {side: Cutter.from_facts(**cutter_facts) for side, cutter_facts in facts["cutters"].items()}
        files = {file: need(self._folder, file).read_bytes() for file in (SOURCE, TARGET, VOCAB)}
        return marked(facts["tokenizer"], self._plan, partial(PieceTokenizer, **cutters, files=files))


def marked(
    backend: tokenizers.Tokenizer, plan: Plan, make: Callable[..., Tokenizer] = Tokenizer
) -> Tokenizer:
    """Return our tokenizer of a backend, made by `make`, with the special tokens that the plan names. Raises InputError where a model needs some around a text and there are none."""
    special_tokens: dict[str, str] = {}
    for role, names in plan.special_tokens.items():
        there = [name for name in names.split(" or ") if _has_row(backend, name, plan)]
        if role not in plan.ids and there:
            special_tokens[role] = there[0]
    known = {token.content for token in backend.get_added_tokens_decoder().values()}
    backend.add_special_tokens(sorted(set(special_tokens.values()) - known))
    made = _framing(
        make(
            backend,
            rows=plan.config.n_vocab,
            **plan.ids,
            **{role: backend.token_to_id(word) for role, word in special_tokens.items()},
        ),
        plan,
    )
    made.check_special_tokens()
    return made


def _has_row(backend: tokenizers.Tokenizer, name: str, plan: Plan) -> bool:
    at = backend.token_to_id(name)
    return at is not None and at < plan.config.n_vocab


def _framing(tokenizer: Tokenizer, plan: Plan) -> Tokenizer:
    if plan.spec.framed and (tokenizer.start is None or tokenizer.end is None):
        names = (plan.special_tokens[end].split(" or ") for end in ("start", "end"))
        raise InputError(
            "The tokenizer has no marks to put around a text.",
            "This kind of model needs {wanted}.",
            REMEDY,
            wanted=joined(joined(each, mark("{one} or {other}")) for each in names),
        )
    return tokenizer


def given_files(folder: Path) -> tuple[str, list[Path | str]]:
    """Return the input of the sandboxed child: the kind's name, the tokenizer's files, and the rules of a vocab.txt.
    Raises InputError where there are none.
    """
    for names in KINDS:
        paths = [path for path in (find_file(folder, name) for name in names) if path]
        if len(paths) < len(names):
            continue
        for name, path in zip(names, paths, strict=True):
            if path.stat().st_size > MAX_FILE:
                raise InputError(
                    "{name} has {n:,} bytes.",
                    "At most {most:,} are read.",
                    REMEDY,
                    name=name,
                    n=path.stat().st_size,
                    most=MAX_FILE,
                )
        return names[0], [*paths, json.dumps(_rules(folder))] if names == (WORDS,) else [*paths]
    raise InputError(
        "{name} is missing in {folder}.",
        "A model needs it, or {vocab} and {merges}, or {words}, or {source}, {target} and {vocab}.",
        "Download or export the model again.",
        name=FILE,
        folder=printable(folder.name),
        vocab=VOCAB,
        merges=MERGES,
        words=WORDS,
        source=SOURCE,
        target=TARGET,
    )


def _rules(folder: Path) -> dict[str, bool | None]:
    """Return the rules of BERT's old tokenizer: lower case by default, and then without accents; or one token a letter."""
    fields = Fields(json_object(folder, RULES) if find_file(folder, RULES) else {}, RULES)
    return {
        "lowercase": fields.flag("do_lower_case", True),
        "strip_accents": fields.flag("strip_accents", None),
        "handle_chinese_chars": fields.flag("tokenize_chinese_chars", True),
        "letters": fields.raw("tokenizer_class") == "EsmTokenizer",
    }


def try_in_child(
    files: Sequence[Path | str], name: str, load: Callable[[str], Any] = str, **limits: Any
) -> dict[str, Any]:
    """Return a child's facts about a tokenizer (`Trial`)."""
    with closing(Trial(name, files, load, **limits)) as trial:
        return trial.facts


class Trial:
    """Child process that tries a tokenizer until it ends or is closed. Raises InputError for every bad end."""

    def __init__(
        self,
        name: str,
        files: Sequence[Path | str],
        load: Callable[[str], Any] = str,
        *,
        memory: int = MEMORY,
        cpu: int = CPU,
        wall: float = WALL,
    ) -> None:
        self._name, self._load, self._wall = name, load, wall
        self._broken = Phrase(
            "it breaks the limits of {cpu} seconds and {memory:,} MB, or ends the process",
            cpu=cpu,
            memory=memory // MB,
        )
        limits = [str(PLACE), str(memory), str(cpu), str(MAX_OUT)]
        command = [sys.executable, "-I", "-S", str(CHILD), *limits, name, *map(str, files)]
        calm = {
            key: value
            for key, value in os.environ.items()
            if key in ("PATH", "LD_LIBRARY_PATH", "SYSTEMROOT", "LANG")
        }
        calm |= {"TOKENIZERS_PARALLELISM": "false", "RAYON_NUM_THREADS": "1", "RUST_BACKTRACE": "0"}
        none, heard = subprocess.DEVNULL, subprocess.PIPE
        try:
            self._child = subprocess.Popen(command, env=calm, stdin=none, stdout=heard, stderr=none)
        except OSError:
            raise _refused(name, mark("it could not be tried")) from None

    def close(self) -> None:
        self._child.kill()  # of one that has said all it has no effect
        if self._child.stdout is not None:
            self._child.stdout.close()
        self._child.wait()

    @property
    def ended(self) -> bool:
        return self._child.poll() is not None

    @cached_property
    def facts(self) -> dict[str, Any]:
        """Return the child's facts: the ids, and as "tokenizer" the result of `load` on the cleaned file, which runs while the child tries it."""
        late: list[bool] = []
        clock = threading.Timer(self._wall, lambda: (late.append(True), self._child.kill()))
        clock.start()
        try:
            loaded, facts = self._heard()
        except ValueError:
            raise _refused(self._name, mark("it could not be tried")) from None
        finally:
            clock.cancel()
        if late or facts is None:
            raise _refused(self._name, mark("it does not end") if late else self._broken)
        if "problem" in facts:
            problem = Phrase(facts["problem"], **facts["values"])
            raise _refused(facts.get("file", self._name), problem)
        return facts | {"tokenizer": loaded}

    def _heard(self) -> tuple[Any, dict[str, Any] | None]:
        out = self._child.stdout
        assert out is not None
        cleaned = out.readline(MAX_OUT + 1)
        loaded = self._load(cleaned.decode()) if len(cleaned) > 1 and cleaned.endswith(b"\n") else None
        said = out.read(MAX_OUT + 1)
        self.close()
        return loaded, None if self._child.returncode else json.loads(said)


def _refused(name: str, problem: str) -> InputError:
    return InputError("{file} is refused: {problem}.", RULE, OTHER, file=name, problem=short(problem, 250))


def spare(n_rows: int) -> int:
    """Return how many tokens a vocabulary may have beyond the rows of a model: famous folders have one, others a few added ones."""
    return max(1, n_rows // 100)


def check_rows(n_ids: int, largest: int, n_rows: int) -> None:
    """Raise InputError where more tokens have no row in the model's table than may be left out."""
    if largest >= n_rows + spare(n_rows):
        raise InputError(
            "The tokenizer has {n:,} entries up to id {largest:,}, the model {rows:,} rows.",
            "Every token needs a row of the model's table; at most {spare:,} may be left out.",
            "Take tokenizer and weights from the same model.",
            n=n_ids,
            largest=largest,
            rows=n_rows,
            spare=spare(n_rows),
        )
