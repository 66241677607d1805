"""A model ready to use: a frozen network, its tokenizer, and one way to run text through it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from core.decoding.batched import greedy
from core.errors import InputError
from core.models import Batch, Family
from core.run import Run, RunTrace, Side
from core.text import Encoded, Tokenizer
from core.trace import Edit, Recorder, Trace

KEEP_LIMIT = 256 * 2**20
NAMES = {"start": "START", "end": "END", "pad": "PAD"}


@dataclass(frozen=True, eq=False)
class Model:
    """A trained network of one family. It never changes: edits are arguments of a run, caches belong to the caller."""

    name: str
    spec: Family
    config: Any
    network: Any
    tokenizer: Tokenizer
    card: str = ""

    def __post_init__(self) -> None:
        self.network.eval().requires_grad_(False)

    @property
    def family(self) -> str:
        return self.spec.name

    @property
    def n_parameters(self) -> int:
        return sum(weight.numel() for weight in self.network.parameters())

    def run(
        self,
        text: str,
        *,
        pair: str | None = None,
        target: str | None = None,
        keep: Sequence[str] | None = None,
        edits: Sequence[Edit] = (),
        grad: str | None = None,
        special: bool = False,
    ) -> Run:
        """One pass over `text`, everything asked for recorded. Always computes; caching is the engine's.

        `target` is what an encoder-decoder writes (teacher forcing); without it the model's own greedy output is
        used, named in `run.target_text`. `keep` lists path patterns (default: every value); `edits` change values on
        the way; `grad="logit:TOKEN"` also gives the gradient of that token's last logit for every recorded value.
        `special=True` reads the names of special tokens inside the text as those tokens.
        Raises InputError (text that cannot be used), KeyError or ValueError naming a path that does not exist.
        """
        return self.run_many([text], pairs=[pair], targets=[target], keep=keep, edits=edits, grad=grad, special=special)[0]

    def run_many(
        self,
        texts: Sequence[str],
        *,
        pairs: Sequence[str | None] | None = None,
        targets: Sequence[str | None] | None = None,
        keep: Sequence[str] | None = None,
        edits: Sequence[Edit] = (),
        grad: str | None = None,
        special: bool = False,
    ) -> list[Run]:
        """Several texts in one padded batch; the padding stays visible in each run's tokens."""
        if not texts:
            raise InputError("There is no text.", "A run needs at least one.", "Give a list of texts.")
        if any(pair is not None for pair in pairs or ()):
            raise InputError(f"{self.name} does not read pairs.", "Pairs are for models of the BERT kind.", "Leave pair out.")
        targets = list(targets or [None] * len(texts))
        sides, sources, shown = self._sides(list(texts), targets, special, tuple(edits))
        batch = self._batch(sides, sources)
        hidden, logits, trace, gradients = self._forward(batch, keep, tuple(edits), grad, sides[0])
        lazily = keep is None or "*" in keep or "logits" in keep
        runs: list[Run] = []
        for row, side in enumerate(sides):
            source = sources[row] if sources else None
            view = RunTrace(trace, row, gradients, lambda row=row: runs[row].logits if lazily else None)
            runs.append(Run(self, side, source, view, shown[row], hidden[row], None if logits is None else logits[row]))
        return runs

    def _sides(
        self, texts: list[str], targets: list[str | None], special: bool, edits: tuple[Edit, ...]
    ) -> tuple[list[Side], list[Side] | None, list[str | None]]:
        if not self.spec.has_source:
            if any(target is not None for target in targets):
                raise InputError(f"{self.name} has one stack and no target.", "It continues the text itself.", "Leave target out.")
            return self._padded([self._side(text, special=special) for text in texts]), None, [None] * len(texts)
        for text, target in zip(texts, targets, strict=True):
            if not text.strip():
                wrong = "There is a target but no source." if target else "The text is empty."
                raise InputError(wrong, f"{self.name} translates a source sentence.", "Type a sentence to read.")
        sources = self._padded([self._side(text, special=special) for text in texts])
        own = self._own_targets(sources, edits) if any(target is None for target in targets) else []
        sides = [own[row] if target is None else self._side(target, special=special, start=True) for row, target in enumerate(targets)]
        return self._padded(sides), sources, [side.text for side in sides]

    def _side(self, text: str, *, special: bool = False, start: bool = False) -> Side:
        encoded = self.tokenizer.encode(text, special=special)
        return self._started(text, encoded) if start or not encoded.ids else self._fitting(text, encoded)

    def _started(self, text: str, encoded: Encoded) -> Side:
        start = self.tokenizer.start
        if start is None:
            raise InputError("The text holds no token.", "A model needs at least one.", "Type a word.")
        return self._fitting(text, Encoded((start, *encoded.ids), (NAMES["start"], *encoded.tokens), (None, *encoded.spans)))

    def _fitting(self, text: str, encoded: Encoded) -> Side:
        if len(encoded.ids) > self.config.n_ctx:
            raise InputError(
                f"The text has {len(encoded.ids):,} tokens.",
                f"{self.name} reads at most {self.config.n_ctx:,} at once.",
                "Shorten the text, or choose the part to read.",
            )
        return Side(text, encoded.tokens, encoded.ids, encoded.spans)

    def _padded(self, sides: list[Side]) -> list[Side]:
        longest = max(len(side.ids) for side in sides)
        pad = self.tokenizer.pad if self.tokenizer.pad is not None else 0
        return [
            replace(
                side,
                ids=side.ids + (pad,) * (missing := longest - len(side.ids)),
                tokens=side.tokens + (NAMES["pad"],) * missing,
                spans=side.spans + (None,) * missing,
                n_real=len(side.ids),
            )
            for side in sides
        ]

    def _batch(self, sides: list[Side], sources: list[Side] | None) -> Batch:
        ids, real = _tensors(sides)
        source, source_real = _tensors(sources) if sources else (None, None)
        return Batch(ids=ids, real=real, source=source, source_real=source_real)

    def _own_targets(self, sources: list[Side], edits: tuple[Edit, ...]) -> list[Side]:
        ids, real = _tensors(sources)
        start, end = self.tokenizer.start, self.tokenizer.end
        assert start is not None and end is not None
        batch = Batch(ids=ids, real=real, source=ids, source_real=real)
        limits = [min(self.config.n_ctx - 1, 3 * source.n_real + 10) for source in sources]
        with torch.inference_mode():
            written = greedy(self.network, batch, start=start, end=end, limit=limits, edits=edits)
        return [self._started(*self.tokenizer.written(row)) for row in written]

    def _forward(
        self, batch: Batch, keep: Sequence[str] | None, edits: tuple[Edit, ...], grad: str | None, first: Side
    ) -> tuple[Tensor, Tensor | None, Trace, dict[str, Tensor]]:
        patterns = ("*",) if keep is None else tuple(keep)
        wants_logits = any("logits" in edit.where for edit in edits) or grad is not None
        kept = (*(p for p in patterns if p != "logits" or wants_logits), *self._masks(patterns))
        if grad is not None:
            edits = (*edits, *(_Leaf(f"*embed.{part}") for part in ("token", "position") if part in self.network.embed))
        tap = Recorder(kept, edits, limit=KEEP_LIMIT if keep is None else None)
        try:
            with torch.enable_grad() if grad is not None else torch.inference_mode():
                hidden = self.network(batch, tap=tap)
                logits = self.network.logits(hidden, tap) if wants_logits else None
        except MemoryError as error:
            raise InputError(str(error), "A run keeps at most 256 MB unless told what to keep.", 'Give keep=["*.pattern"].') from None
        trace = tap.close()
        if grad is None or logits is None:
            return hidden, logits, trace, {}
        return hidden.detach(), logits.detach(), trace, self._gradients(logits[0, first.n_real - 1], grad, trace)

    def _masks(self, patterns: tuple[str, ...]) -> tuple[str, ...]:
        """Who keeps patterns keeps their masks: they are views, and a picture needs both."""
        return () if "*" in patterns or not any(p.endswith("pattern") for p in patterns) else ("*.allowed",)

    def _gradients(self, logits: Tensor, grad: str, trace: Trace) -> dict[str, Tensor]:
        if not grad.startswith("logit:"):
            raise InputError(f"grad='{grad}' is unknown.", "A gradient is asked for as 'logit:TOKEN'.", "Name a token.")
        token = self._token_id(grad.removeprefix("logit:"))
        paths = [path for path in trace if trace[path].requires_grad]
        found = torch.autograd.grad(logits[token], [trace[path] for path in paths], allow_unused=True)
        return {path: torch.zeros_like(trace[path]) if g is None else g for path, g in zip(paths, found, strict=True)}

    def _token_id(self, text: str) -> int:
        for form in (text, f" {text}"):
            ids = self.tokenizer.encode(form, special=True).ids
            if len(ids) == 1:
                return ids[0]
        raise InputError(f"'{text}' is not one token of {self.name}.", "A logit belongs to one token.", "Name a single token.")


def _tensors(sides: list[Side]) -> tuple[Tensor, Tensor]:
    ids = torch.tensor([side.ids for side in sides])
    return ids, torch.tensor([[i < side.n_real for i in range(len(side.ids))] for side in sides])


@dataclass(frozen=True)
class _Leaf:
    """Make a value a leaf of the gradient graph."""

    where: str

    def __call__(self, value: Tensor) -> Tensor:
        return value.detach().requires_grad_()
