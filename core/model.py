"""A model ready to use: a frozen network, its tokenizer, and the methods that run text through it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from core.abilities import ABILITIES, OUTPUTS
from core.errors import InputError
from core.layers import linear
from core.layers.task_head import Head, Pooling
from core.models import Batch, Family, Output
from core.run import Run, RunTrace, TokenSequence
from core.run.batched import TokenSequences, greedy
from core.run.devices import CPU, network_on, trace_on_cpu
from core.run.goals import Goal, goal_of, gradients
from core.run.lazy_logits import Outputs, check_finite
from core.run.token_sequence import tensors, values
from core.text import Encoded, Reader, Tokenizer
from core.text.sentences import sentence_numbers
from core.trace import Edit, Recorder, Trace, matches, ready
from core.wording import mark

if TYPE_CHECKING:
    from jaxtyping import Float


KEEP_LIMIT = 256 * 2**20
WRITES = 64
"""Tokens that a translator writes by itself to a short text before it is stopped, should it not end: a long text may have half as many more than it has."""
NAMES = {"start": "START", "end": "END", "pad": "PAD"}


@dataclass(frozen=True, eq=False)
class Model:
    """A trained network of one family. It never changes: edits are arguments of a run, caches belong to the caller.

    `bad_words` are sequences of ids that it may not write, `ends` the tokens that end its output besides its end
    mark, `first` the token that an encoder-decoder always writes first. `head` is the head of its fine-tuning, if one
    was read, `pooling` the rule of a sentence embedder that makes one vector of a text. `files` is False once a file
    that it reads from was written to.
    """

    name: str
    spec: Family
    config: Any
    network: Any
    tokenizer: Tokenizer
    card: str = ""
    files: Any = True
    bad_words: TokenSequences = ()
    ends: tuple[int, ...] = ()
    head: Head | None = None
    pooling: Pooling | None = None
    first: int | None = None

    def __post_init__(self) -> None:
        linear.configure_packing(self.network.eval().requires_grad_(False))

    def __repr__(self) -> str:
        kinds = (kind.name for kind in self.spec.kinds_of(self.config))
        return ", ".join([f"Model: {self.name}", self.family, f"{self.n_parameters:,} parameters", *kinds])

    @property
    def family(self) -> str:
        return self.spec.name

    @cached_property
    def reader(self) -> Reader | Tokenizer:
        """Return the reader of the input: the tokenizer, its part for the source where the model writes another text, or
        for other inputs the family's reader.
        """
        return self.tokenizer.source if self.spec.reads is None else self.spec.reads(self.config)

    @cached_property
    def outputs(self) -> Mapping[str, Output]:
        """Return the outputs that this network computes after its last layer, by name."""
        return self.spec.outputs_with(self.config, self.head, self.pooling)

    @property
    def main_output(self) -> str:
        """Return the name of the output that `Run.scores`, questions and gradients are about: the logits, else the first
        of OUTPUTS that the model has, else any.

        Raises InputError for a model without any output.
        """
        if not self.outputs:
            raise InputError(
                "{name} has no output.",
                "Only its layers are in its file; attention and vectors of tokens can be read.",
                "Choose a model that has one, or look at its attention.",
                name=self.name,
            )
        return next((name for name in OUTPUTS if name in self.outputs), next(iter(self.outputs)))

    def can(self, ability: str) -> bool:
        """Return whether the model has an ability, by its name in `core.abilities`.

        >>> import core
        >>> core.open_model("bert-mini").can("fill_blanks"), core.open_model("bert-mini").can("write")
        (True, False)
        """
        return ABILITIES[ability].has(self)

    def lacks(self, *abilities: str) -> str:
        """Return why the model cannot do the first of these abilities that it lacks, as the end of a sentence about it; "" where it has all."""
        return next((ABILITIES[name].lacks(self) for name in abilities if not self.can(name)), "")

    @property
    def is_classifier(self) -> bool:
        """Return whether its output is a class of the whole input, and no words."""
        return self.can("score_classes") and not self.can("score_words")

    @property
    def has_scores(self) -> bool:
        """Return whether it has scores (`Run.scores`): of words, classes, tags, the edges of an answer, or one score."""
        return self.can("answer")

    @property
    def whole_input(self) -> bool:
        """Return whether its scores are one row about the whole input: classes, or one score."""
        return self.has_scores and self.main_output in ("classes", "score")

    def choice(self, index: int) -> str:
        """Return the name of a column of `Run.scores`: a token, a class or a tag; `Run.choice` also names the positions of an answer."""
        names = {"classes": self.class_names, "tags": self.tag_names, "score": ("score",)}.get(
            self.main_output
        )
        return self.tokenizer.token(index) if names is None else names[index]

    @property
    def class_names(self) -> tuple[str, ...]:
        """Return the names of its classes; numbers for those of a head that was saved without names."""
        if self.head is not None:
            return self._head_names("classes", "class")
        numbered = tuple(f"class {index}" for index in range(getattr(self.config, "n_classes", 0)))
        return tuple(getattr(self.config, "classes", ())) or numbered

    @property
    def tag_names(self) -> tuple[str, ...]:
        """Return the names of the tags that it gives to words; numbers for those of a head that was saved without names."""
        return self._head_names("tags", "tag")

    def _head_names(self, output: str, word: str) -> tuple[str, ...]:
        if self.head is None or self.head.output != output:
            return tuple(f"{word} {index}" for index in range(getattr(self.config, f"n_{output}", 0)))
        return self.head.names or tuple(f"{word} {index}" for index in range(self.head.n_out))

    @cached_property
    def n_parameters(self) -> int:
        """Return the number of parameters, counted once: pages ask for it hundreds of times."""
        return sum(weight.numel() for weight in self.network.parameters())

    def run(
        self,
        text: str,
        *,
        pair: str | None = None,
        target: str | None = None,
        keep: str | Sequence[str] | None = None,
        edits: Sequence[Edit] = (),
        grad: Goal | None = None,
        special: bool = False,
        reads_on: bool = False,
        device: str = CPU,
    ) -> Run:
        """Run `text` through the network once and return the run with every recorded value. Always computes; the engine does the caching.

        `target` is what an encoder-decoder writes (teacher forcing); without it the model's own greedy output is
        used, named in `run.target_text`. `keep` is one or several path patterns (default: every value); `edits` change values on
        the way; `grad="logit:TOKEN"` also gives the gradient of that token's last logit for every recorded value, and
        `grad="class:NAME"` that of a class's score; a function of the scores in its place, of the number that it makes of them.
        Of several texts each has the gradient of its own goal.
        `special=True` reads names of special tokens in the text as those; `reads_on=True` keeps keys and values for a `decode` of the run.
        `device` ("cuda", "cuda:1", "mps") is where the network computes; every value comes back to the processor's memory. The copy of
        the weights there stays for the next run.
        Raises InputError (text that cannot be used), KeyError or ValueError naming a path that does not exist.
        """
        return self.run_many(
            [text],
            pairs=[pair],
            targets=[target],
            keep=keep,
            edits=edits,
            grad=grad,
            special=special,
            reads_on=reads_on,
            device=device,
        )[0]

    def run_many(
        self,
        texts: Sequence[str],
        *,
        pairs: Sequence[str | None] | None = None,
        targets: Sequence[str | None] | None = None,
        keep: str | Sequence[str] | None = None,
        edits: Sequence[Edit] = (),
        grad: Goal | None = None,
        special: bool = False,
        reads_on: bool = False,
        device: str = CPU,
    ) -> list[Run]:
        """Run several texts as one batch and return one run for each.

        Shorter texts are padded. The padding is in `run.side` and `run.trace`; `run.tokens`, `run.logits`, the other
        outputs, `run.hidden()` and `run.attention()` are cut to the text, as those of a single run.
        """
        if not texts:
            raise InputError("There is no text.", "A run needs at least one.", "Give a list of texts.")
        if any(isinstance(each, str) for each in (texts, pairs, targets)):
            raise InputError(
                "One text is given in place of a list.",
                "run reads one text, run_many a list of texts.",
                "Write run(text), or run_many([text]).",
            )
        if not all(isinstance(text, str) for text in texts):
            raise InputError(
                "A text is given as {kind}.",
                "run reads one text, run_many a list of texts; the tokenizer makes the ids.",
                "Give run_many(texts) for several texts, model.tokenizer.decode(ids) for ids.",
                kind=next(type(text).__name__ for text in texts if not isinstance(text, str)),
            )
        edits = ready(self, edits)
        targets, pairs = list(targets or [None] * len(texts)), list(pairs or [None] * len(texts))
        sides, sources, shown = self._sides(list(texts), pairs, targets, special, edits)
        batch = self.batch(sides, sources)
        patterns = ("*",) if keep is None else (keep,) if isinstance(keep, str) else tuple(keep)
        alone = len(sides) == 1 and not edits and grad is None
        goes_on = reads_on and alone and self.spec.writes and not self.spec.has_source
        if goes_on and device != CPU:
            raise InputError(
                "A run on {device} is asked to be read on.",
                "Keys and values stay on the cpu.",
                "Leave out device, or reads_on.",
                device=device,
            )
        cache = self.network.new_cache() if goes_on else None
        hidden, early, trace, grads = self._forward(batch, patterns, edits, grad, sides, cache, device)
        runs: list[Run] = []
        for row, side in enumerate(sides):
            here = {name: value[row : row + 1] for name, value in early.items()}
            real = batch.real[row : row + 1]
            outputs = Outputs(self.name, self.network, self.outputs, hidden[row : row + 1], here, real)
            view = RunTrace(trace, row, grads, outputs, patterns)
            source, read = sources[row] if sources else None, [] if cache is None else [cache]
            runs.append(Run(self, side, source, view, shown[row], outputs, read))
        return runs

    def _sides(
        self,
        texts: list[str],
        pairs: list[str | None],
        targets: list[str | None],
        special: bool,
        edits: tuple[Edit, ...],
    ) -> tuple[list[TokenSequence], list[TokenSequence] | None, list[str | None]]:
        if any(pair is not None for pair in pairs):
            self._check_pairs()
        if not self.spec.has_source:
            if any(target is not None for target in targets):
                reads = mark("It reads a text, or two.") if self.spec.framed else mark("It reads a text.")
                reads = mark("It continues the text itself.") if self.spec.writes else reads
                raise InputError(
                    "{name} has one stack and no target.", reads, "Leave target out.", name=self.name
                )
            reads_one = self._framed_sequence if self.spec.framed else self._sequence
            read = [reads_one(text, pair, special=special) for text, pair in zip(texts, pairs, strict=True)]
            return self._padded(read), None, [None] * len(texts)
        for text, target in zip(texts, targets, strict=True):
            if not text.strip():
                raise InputError(
                    "There is a target but no source." if target else "The text is empty.",
                    "{name} reads one text and writes another.",
                    "Type a text to read.",
                    name=self.name,
                )
        read = [self._sequence(text, pair, special=special) for text, pair in zip(texts, pairs, strict=True)]
        sources = self._padded(read)
        if self.head is not None:
            own = [
                self._repeated_source(source, target) for source, target in zip(sources, targets, strict=True)
            ]
            return self._padded(own), sources, [None] * len(own)
        own = self._greedy_targets(sources, edits) if any(target is None for target in targets) else []
        sides = [
            own[row] if target is None else self._sequence(target, special=special, start=True)
            for row, target in enumerate(targets)
        ]
        return self._padded(sides), sources, [side.text for side in sides]

    def _repeated_source(self, source: TokenSequence, target: str | None) -> TokenSequence:
        """Return the decoder's input in a fine-tuned encoder-decoder: START, then the source without its last token. Raises InputError if a target is given, since it writes nothing."""
        if target is not None:
            raise InputError(
                "{name} does not write, so it reads no target.",
                "Its decoder reads the source once more, and its head reads what that makes of it.",
                "Leave target out.",
                name=self.name,
            )
        n = source.n_real - 1
        own = self._target_sequence(source.text, Encoded(source.ids[:n], source.tokens[:n], source.spans[:n]))
        return replace(own, segments=(0, *source.segments[:n]) if source.segments else (), pair=source.pair)

    def _check_pairs(self) -> None:
        """Raise InputError for a model that does not read two texts."""
        if not self.spec.framed and not self.can("read_pairs"):
            raise InputError(
                "{name} does not read pairs.",
                "Pairs are for models of the BERT kind, and for those with a head for classes, tags, an answer or a score.",
                "Leave pair out.",
                name=self.name,
            )
        doubled = getattr(self.config, "two_ends", False)
        if self.spec.framed and self.config.n_segments == 1 and not doubled:
            raise InputError(
                "{model} does not read pairs.",
                "It has one segment.",
                "Leave pair out.",
                model=self.name,
            )

    def _sequence(
        self, text: str, pair: str | None = None, *, special: bool = False, start: bool = False
    ) -> TokenSequence:
        reader = self.tokenizer if start else self.reader
        if pair is not None:
            return self._pair_sequence(text, pair, self.tokenizer.pair_frame_ids, special)
        encoded = reader.encode(text, special=special)
        if self.spec.sentences:
            if not encoded.ids:
                raise InputError(
                    "The text holds no word.", "A document needs at least one.", "Type a sentence."
                )
            return replace(
                self._checked_sequence(text, encoded), segments=sentence_numbers(text, encoded.spans)
            )
        if isinstance(reader, Tokenizer) and (encoded.ids or not self.spec.has_source):
            whole = (self.spec.has_source or not self.can("write")) and not start
            encoded = reader.with_special(encoded, with_end=whole)
        if start and self.first is not None and encoded.ids[:1] != (self.first,):
            name = self.tokenizer.token(self.first)
            encoded = Encoded((self.first, *encoded.ids), (name, *encoded.tokens), (None, *encoded.spans))
        return (
            self._target_sequence(text, encoded)
            if start or not encoded.ids
            else self._checked_sequence(text, encoded)
        )

    def _target_sequence(self, text: str, encoded: Encoded) -> TokenSequence:
        start = self.tokenizer.start
        if start is None:
            raise InputError("The text holds no token.", "A model needs at least one.", "Type a word.")
        return self._checked_sequence(
            text, Encoded((start, *encoded.ids), (NAMES["start"], *encoded.tokens), (None, *encoded.spans))
        )

    def _framed_sequence(self, text: str, pair: str | None, *, special: bool) -> TokenSequence:
        """Return START text END, and after it pair END: BERT's [CLS] a [SEP] b [SEP], RoBERTa's <s> a </s></s> b </s>. The second text is segment 1."""
        start, end = ((mark,) for mark in (self.tokenizer.start, self.tokenizer.end) if mark is not None)
        if pair is not None:
            doubled = getattr(self.config, "two_ends", False)
            between = self.tokenizer.pair_frame_ids[1] or end * (1 + doubled)
            return self._pair_sequence(text, pair, (start, between, end), special)
        _check_words("text", text)
        ids = _joined(
            self._special_tokens(start),
            self.tokenizer.encode(text, special=special),
            self._special_tokens(end),
        )
        return replace(self._checked_sequence(text, ids), segments=(0,) * len(ids.ids))

    def _pair_sequence(
        self, text: str, pair: str, frame: Sequence[Sequence[int]], special: bool
    ) -> TokenSequence:
        """Return two texts as one sequence, with special tokens before, between and after them. The second text is segment 1."""
        _check_words("text", text)
        _check_words("second text", pair)
        before, between, behind = map(self._special_tokens, frame)
        first, second = (self.tokenizer.encode(each, special=special) for each in (text, pair))
        row = _joined(before, first, between, second, behind)
        own = len(before.ids) + len(first.ids) + len(between.ids)
        segments = (0,) * own + (1,) * (len(row.ids) - own)
        return replace(self._checked_sequence(text, row), segments=segments, pair=pair)

    def _special_tokens(self, ids: Sequence[int]) -> Encoded:
        """Return special tokens, by id, as tokens without a span."""
        return Encoded(tuple(ids), tuple(map(self.tokenizer.token, ids)), (None,) * len(ids))

    def _checked_sequence(self, text: str, encoded: Encoded) -> TokenSequence:
        if len(encoded.ids) > self.config.n_ctx:
            raise InputError(
                "The text has {n:,} tokens.",
                "{model} reads at most {n_ctx:,} at once.",
                "Shorten the text, or choose the part to read.",
                n=len(encoded.ids),
                model=self.name,
                n_ctx=self.config.n_ctx,
            )
        return TokenSequence(text, encoded.tokens, encoded.ids, encoded.spans, values=encoded.values)

    def _padded(self, sides: list[TokenSequence]) -> list[TokenSequence]:
        longest, pad = max(len(side.ids) for side in sides), self.tokenizer.pad or 0
        name = self.tokenizer.token(pad) if self.spec.framed else NAMES["pad"]
        return [
            replace(
                side,
                ids=side.ids + (pad,) * (missing := longest - len(side.ids)),
                tokens=side.tokens + (name,) * missing,
                spans=side.spans + (None,) * missing,
                segments=side.segments + (0,) * missing if side.segments else (),
                n_real=len(side.ids),
            )
            for side in sides
        ]

    def batch(self, sides: list[TokenSequence], sources: list[TokenSequence] | None) -> Batch:
        """Return the batch that the network reads, from texts of one length and, where it reads a source, their sources."""
        ids, real = tensors(sides)
        source, source_real = tensors(sources) if sources else (None, None)
        several = getattr(self.config, "n_segments", 0) > 1 and not getattr(self.config, "two_ends", False)
        parted = self.spec.sentences or (self.spec.framed and several)
        segments = torch.tensor([side.segments for side in sides]) if parted else None
        numbers = values(sources or sides)
        return Batch(
            ids=ids, real=real, source=source, source_real=source_real, segments=segments, values=numbers
        )

    def _greedy_targets(self, sources: list[TokenSequence], edits: tuple[Edit, ...]) -> list[TokenSequence]:
        ids, real = tensors(sources)
        start, end = self.tokenizer.start, self.tokenizer.end
        assert start is not None and end is not None
        batch = Batch(ids=ids, real=real, source=ids, source_real=real, values=values(sources))
        room = self.config.n_ctx - 1
        most = [min(room, 3 * n + 10, max(WRITES, 3 * n // 2)) for n in (side.n_real for side in sources)]
        with torch.inference_mode():
            rows = greedy(
                self.network,
                batch,
                start=start,
                end=end,
                limit=most,
                edits=edits,
                bad_words=self.bad_words,
                ends=self.ends,
                first=self.first,
            )
        return [self._target_sequence(*self.tokenizer.decode_with_spans(row)) for row in rows]

    def _forward(
        self,
        batch: Batch,
        patterns: tuple[str, ...],
        edits: tuple[Edit, ...],
        grad: Goal | None,
        sides: list[TokenSequence],
        cache: Any,
        device: str,
    ) -> tuple[Tensor, dict[str, Tensor], Trace, dict[str, Tensor]]:
        network, batch = network_on(self.network, device), batch if device == CPU else batch.on(device)
        early = self._early_outputs(edits, grad)
        later = [path for name, output in self.outputs.items() if name not in early for path in output.paths]
        if grad is not None:
            read = (part for part in ("token", "position") if part in self.network.embed)
            edits = (*edits, *(_Leaf(f"*embed.{part}") for part in read))
        limit = KEEP_LIMIT if patterns == ("*",) else None
        tap = Recorder((*patterns, *self._masks(patterns)), edits, limit=limit, later=later)
        try:
            with (
                torch.enable_grad() if grad is not None else torch.inference_mode(),
                nullcontext() if device == CPU else torch.device(device),
            ):
                goes_on = {} if cache is None else {"cache": cache}
                values = {"hidden": network(batch, tap=tap, **goes_on)}
                for name in early:
                    output = self.outputs[name]
                    values[name] = output.compute(name, network, values[output.reads], batch.real, tap)
        except MemoryError as error:
            raise InputError(
                str(error), "A run keeps at most 256 MB unless told what to keep.", 'Give keep=["*.pattern"].'
            ) from None
        trace = tap.close()
        grads = {} if grad is None else gradients(self._goal(values[self.main_output], sides, grad), trace)
        values = {name: check_finite(value.detach().cpu(), self.name) for name, value in values.items()}
        if device != CPU:
            trace, grads = trace_on_cpu(trace), {path: value.cpu() for path, value in grads.items()}
        return values.pop("hidden"), values, trace, grads

    def _goal(self, scores: Tensor, sides: list[TokenSequence], grad: Goal) -> Tensor:
        """Return the sum of the goals of all texts of a batch: none depends on another text, so each keeps its own gradient."""
        by_token = self.main_output in ("logits", "tags", "answer")
        cut = (own[: side.n_real] if by_token else own for own, side in zip(scores, sides, strict=True))
        rows = (own.T if self.main_output == "answer" else own for own in cut)
        return sum(
            (
                goal_of(self, own, grad, partial(self._goal_position, side))
                for own, side in zip(rows, sides, strict=True)
            ),
            start=scores.new_zeros(()),
        )

    def _early_outputs(self, edits: tuple[Edit, ...], grad: Goal | None) -> list[str]:
        """Return the outputs that an edit or a gradient needs during the run, with those they read, in the order of the computation."""
        wanted = {
            name
            for name, out in self.outputs.items()
            if any(matches(path, edit.where) for path in out.paths for edit in edits)
        }
        wanted |= set() if grad is None else {self.main_output}
        wanted |= {self.outputs[name].reads for name in wanted}
        return [name for name in self.outputs if name in wanted]

    def _goal_position(self, side: TokenSequence) -> int:
        """Return the position whose prediction a gradient is about: the last one, of a masked language model the first mask."""
        if not self.spec.framed:
            return side.n_real - 1
        if self.tokenizer.mask not in side.ids:
            raise InputError(
                "No word is hidden.",
                "A gradient of {name} is that of a hidden word.",
                "Put [MASK] in the place of a word.",
                name=self.name,
            )
        return side.ids.index(self.tokenizer.mask)

    def _masks(self, patterns: tuple[str, ...]) -> tuple[str, ...]:
        """Return the paths of the masks beside the attention patterns that `patterns` keep: masks are views, and pictures need both."""
        kept = [] if "*" in patterns else [path for each in patterns for path in each.split("|")]
        return tuple(path.removesuffix("pattern") + "allowed" for path in kept if path.endswith("pattern"))

    def token_vector(self, text: str) -> Float[Tensor, " d_model"]:
        """Return the embedding (d_model,) of the one token that a text is. Raises InputError where the text is several tokens."""
        if self.spec.reads is not None and not self.spec.has_source:
            wrong, rule = f"{self.name} has no vectors of tokens.", "It reads a picture, not words."
            raise InputError(wrong, rule, "Give the vector itself.")
        return self.network.embed["token"](torch.tensor([[self.token_id(text)]]))[0, 0]

    def token_id(self, text: str) -> int:
        """Return the id of the one token that a text is, by itself or after a space. Raises InputError where it is several."""
        for form in (text, f" {text}"):
            ids = self.tokenizer.encode(form, special=True).ids
            if len(ids) == 1:
                return ids[0]
        # a tokenizer may put a space in front of what it reads: a piece of a word is known by its name alone
        for index in range(len(self.tokenizer)):
            if self.tokenizer.token(index) == text:
                return index
        raise InputError(
            "'{text}' is not one token of {name}.",
            "A logit belongs to one token.",
            "Name a single token.",
            text=text,
            name=self.name,
        )


def _check_words(name: str, text: str) -> None:
    if not text.strip():
        raise InputError(
            "The {name} is empty.",
            "Each text needs at least one word.",
            "Type a sentence.",
            name=name,
        )


def _joined(*parts: Encoded) -> Encoded:
    """Return the tokens of all parts as one sequence."""
    ids, tokens, spans = (
        tuple(chain.from_iterable(getattr(part, name) for part in parts))
        for name in ("ids", "tokens", "spans")
    )
    return Encoded(ids, tokens, spans)


@dataclass(frozen=True)
class _Leaf:
    """An edit that makes a value a leaf of the gradient graph."""

    where: str

    def __call__(self, value: Tensor) -> Tensor:
        return value.detach().requires_grad_()
