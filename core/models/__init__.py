"""The families: one file each, found by name. A family file declares `FAMILY`."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

from core.layers.score_terms import Terms
from core.layers.task_head import Head, Pooling
from core.text import Reader
from core.trace import OFF, Tap

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int


@dataclass(frozen=True, kw_only=True)
class Batch:
    """The input of a network: token `ids`, and `real`, True at tokens that are not padding.

    `segments` is the part of the text to which a token belongs: the first or the second text of a pair, or the number of its
    sentence. `values` are the numbers of the tokens of pictures and sounds, which are no words of a table: of the source
    where there is one, else of the text itself; zero at padding.
    """

    ids: Int[Tensor, "batch pos"]
    real: Bool[Tensor, "batch pos"]
    source: Int[Tensor, "_ source"] | None = None
    source_real: Bool[Tensor, "_ source"] | None = None
    segments: Int[Tensor, "batch _"] | None = None
    values: Float[Tensor, "_ _ number"] | None = None

    def on(self, device: str) -> Batch:
        """Return the same input in the memory of this device."""
        moved = {name: value.to(device) for name, value in vars(self).items() if value is not None}
        return replace(self, **moved)

    def read(self) -> Int[Tensor, "batch pos"]:
        """Return the ids of the source sentence. Raises ValueError where there is none."""
        if self.source is None:
            raise ValueError("This network needs Batch.source, the sentence to read.")
        return self.source

    def read_values(self) -> Float[Tensor, "batch pos number"]:
        """Return the numbers behind the tokens of the input. Raises ValueError where there are none."""
        if self.values is None:
            raise ValueError("This network needs Batch.values, the numbers behind the tokens that it reads.")
        return self.values

    def read_real(self) -> Bool[Tensor, "batch pos"]:
        """Return True at the source's tokens that are not padding; at all of them where no mask is given."""
        return self.read() >= 0 if self.source_real is None else self.source_real


@dataclass(frozen=True, kw_only=True)
class Kind:
    """One kind of attention of a family: where its patterns are recorded and what its two axes are.

    An axis has the tokens of the "target" or of the "source", the "sentence"s of the text, or the "document" as one.

    Paths are made of the `stack`, the layer's number and the `leaf`: `decoder.layer.0.cross_attn.pattern`. Where it is not
    `layered`, the stack has one attention beside its layers, and the path has no number. `depth` is the field of a config
    that counts the layers. A config whose `attends` is false has none.
    """

    name: str
    stack: str
    leaf: str = "self_attn"
    queries: str = "target"
    keys: str = "target"
    layered: bool = True
    depth: str = "n_layers"

    @property
    def has_learned_queries(self) -> bool:
        """Return whether the queries are learned vectors and not tokens: one row per sentence, or one for the document."""
        return self.queries in ("sentence", "document")

    @property
    def one_text(self) -> bool:
        """Return whether queries and keys are positions of one text, so that a query has a position of its own among the keys."""
        return self.queries == self.keys

    def path(self, layer: int, value: str) -> str:
        """Return the trace path of a value of this attention, such as "pattern", in a layer."""
        return (
            f"{self.stack}.{layer}.{self.leaf}.{value}"
            if self.layered
            else f"{self.stack}.{self.leaf}.{value}"
        )

    def n_layers(self, config: Any) -> int:
        """Return how many layers of a network with this config have this kind of attention."""
        if not getattr(config, "attends", True):
            return 0
        return getattr(config, self.depth) if self.layered else 1

    def module(self, network: nn.Module, layer: int) -> Any:
        """Return the attention module of a layer: a part of `block`, or beside the layers, where
        `decoder.attn` is the module `decoder.attend` and `words.attn` is `summaries.words`."""
        if not self.layered:
            return network.get_submodule(
                f"summaries.{self.stack}" if self.has_learned_queries else f"{self.stack}.attend"
            )
        return self.block(network, layer).get_submodule(self.leaf)

    def block(self, network: nn.Module, layer: int) -> nn.Module:
        """Return the module of a layer: the path `encoder.layer.0` is the module `encoder.0`, `layer.0` is `layers.0`."""
        stack = self.stack.removesuffix(".layer") if "." in self.stack else f"{self.stack}s"
        return network.get_submodule(f"{stack}.{layer}")

    def terms(self, network: nn.Module, layer: int) -> Terms:
        """Return the terms of the scores of an attention in layers; none for one beside the layers."""
        return self.module(network, layer).score_terms() if self.layered else ()


ENTERS, LEAVES = "*resid_in|*features_in", "*resid_out|*features_out"
"""Patterns of the paths of the layers' inputs and outputs, in the names of all families whose layers pass a stream from one to the next."""


@dataclass(frozen=True)
class Output:
    """An output that a method of the network computes after the last layer, with the paths that are tapped on the way.

    It is computed from `reads`, another output, or "hidden", what the network itself returns. `task`: its head of fine-tuning computes it;
    `pooling`: it is the vector of a whole text, pooled like this.
    """

    paths: tuple[str, ...]
    reads: str = "hidden"
    task: bool = False
    pooling: Pooling | None = None

    def compute(
        self,
        name: str,
        network: Any,
        value: Float[Tensor, "..."],
        real: Bool[Tensor, "batch pos"],
        tap: Tap = OFF,
    ) -> Float[Tensor, "..."]:
        """Return this output of a network, from what it reads; `real` is True at tokens that are not padding."""
        if self.pooling is not None:
            mapped = getattr(network, "pooled_maps", None)
            return tap(name, self.pooling.sentence_vector(value, real, mapped), "batch feature")
        return network.task(value, tap, real=real) if self.task else getattr(network, name)(value, tap)


def next_word_output(config: Any) -> Mapping[str, Output]:
    """Return the output of a network that scores the next word: logits, but nothing of a decoder saved without its output layer (`headless`)."""
    return {} if getattr(config, "headless", False) else {"logits": Output(("logits",))}


@dataclass(frozen=True, kw_only=True)
class Family:
    """The description of a family of models that the rest of the code works with.

    `config` has a classmethod `tiny()`: the smallest useful shape, all axes different primes where they can be.
    `stacks` maps a side's name to the path its layers are recorded under, `stream` names what enters and what leaves a
    layer there; `has_source` says whether the family reads a source sequence beside the one it writes; `framed`,
    whether a text is framed by START and END and may be followed by a second one. `outputs` names what a network of
    a config computes after its last layer, each by a method of that name; an output that another reads comes before it.
    `sentences` says that a text is read sentence by sentence: the segments of a batch are then their numbers.
    `reads` makes, for a network of a config, what reads its input where that is no sentence.
    """

    name: str
    config: type[Any]
    network: type[Any]
    kinds: tuple[Kind, ...]
    stacks: Mapping[str, str]
    stream: tuple[str, str] = ("resid_in", "resid_out")
    has_source: bool = False
    framed: bool = False
    sentences: bool = False
    outputs: Callable[[Any], Mapping[str, Output]] = next_word_output
    reads: Callable[[Any], Reader] | None = None

    def outputs_with(
        self, config: Any, head: Head | None, pooling: Pooling | None = None
    ) -> Mapping[str, Output]:
        """Return the outputs of a network by name; a head of fine-tuning replaces the one for words, a pooling adds an embedding."""
        own = self.outputs(config)
        if pooling is not None:
            own = {**own, "embedding": Output(("embedding",), pooling=pooling)}
        if head is None:
            return own
        reads = "pooled" if head.pooled else "hidden"
        others = {name: output for name, output in own.items() if name != "logits"}
        return {**others, head.output: Output((head.output,), reads, task=True)}

    @property
    def writes(self) -> bool:
        """Return whether a network of this family writes a text word after word: from a source, or behind its own words only."""
        return self.has_source or any(kind.name == "causal" for kind in self.kinds)

    def kinds_of(self, config: Any) -> tuple[Kind, ...]:
        """Return the kinds of attention with at least one layer in a network with this config."""
        return tuple(kind for kind in self.kinds if kind.n_layers(config))

    def depth(self, config: Any, stack: str) -> int:
        """Return how many layers the stack at a path has: those of its attention, of which the two stacks of a model may have different numbers."""
        inside = (kind.depth for kind in self.kinds if kind.layered and kind.stack == stack)
        return getattr(config, next(inside, "n_layers"))

    def kind(self, name: str) -> Kind:
        for kind in self.kinds:
            if kind.name == name:
                return kind
        raise KeyError(
            f"The family {self.name} has no attention '{name}'; it has {', '.join(k.name for k in self.kinds)}."
        )


@cache
def families() -> Mapping[str, Family]:
    """Return every family by name; a family is a file of this folder.

    >>> "gpt" in families()
    True
    """
    files = (import_module(f"{__name__}.{each.name}") for each in pkgutil.iter_modules(__path__))
    return {file.FAMILY.name: file.FAMILY for file in files}
