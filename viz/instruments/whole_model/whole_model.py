"""A whole Transformer on one screen: tokens, embeddings, block after block, and the probabilities of the next token.

The data flow from left to right. Each block shows the attention of a chosen head as lines between tokens (cross-attention as
cells) and the residual stream after it as stripes. Temperature and top-k change the probabilities in the browser; a touched
token becomes the position whose next token is predicted, and a touched part is reported to Python (`opened_part`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from viz.instruments.kit.component import Instrument, nothing, stored
from viz.instruments.kit.payload import Packet, labels
from viz.instruments.kit.spec import Spec, as_function

WHOLE_MODEL = Instrument("attention_atlas_whole_model", "whole_model/whole_model")
STRIPES = 32
"""Cells of the stripe of one position's vector: each the mean of as many neighbouring numbers."""
BARS = 8
"""Candidates that are named at the right end."""


@dataclass(frozen=True, eq=False)
class Stack:
    """The encoder, or the decoder: its tokens, and from the left to the right what each block does.

    name: "" where a model has one stack. tokens: those that are drawn, in order. vectors: (layer + 1, token, feature), the residual
    stream after the embedding and after each block. attention: by kind, (layer, head, query, key); the keys of "cross" are
    the tokens of the stack before. heads: the head that each layer opens with, by kind.
    """

    name: str
    tokens: Sequence[str]
    vectors: ArrayLike
    attention: Mapping[str, ArrayLike]
    heads: Mapping[str, Sequence[int]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class WholeModel(Spec):
    """One run of a model, all stages on one screen.

    stacks: one, or encoder and decoder. logits: (vocabulary) of the position whose next token is predicted. names: the BARS most
    probable tokens, best first. position: that position among the tokens of the last stack.
    temperature, top_k: as the visitor opens the page; a top_k of 0 keeps every token. on_position, on_part: called before the run that answers.

    Raises ValueError where the arrays of a stack do not belong to its tokens.

    Example:
        >>> stack = Stack("", ["a", "b"], np.zeros((2, 2, 64)), {"causal": np.ones((1, 1, 2, 2))})
        >>> packet = WholeModel([stack], logits=[0.0, 2.0, 1.0], names=["y", "z", "x"], position=1).packet()
        >>> packet.header["stacks"][0]["stripes"], packet.header["position"]
        ([2, 2, 32], 1)
    """

    stacks: Sequence[Stack]
    _: KW_ONLY
    logits: ArrayLike
    names: Sequence[str]
    position: int
    temperature: float = 1.0
    top_k: int = 0
    url: str = ""
    title: str = ""
    on_position: Callable[[], None] = nothing
    on_part: Callable[[], None] = nothing

    def show(self) -> None:
        """Draw it in the page."""
        packet, event = self.packet(), stored(self.key, "position")
        packet.header["echo"] = str(event.get("id", "")) if isinstance(event, dict) else ""
        packet.header["place"] = self.key
        WHOLE_MODEL.show(
            packet, key=self.key, on_position_change=self.on_position, on_part_change=self.on_part
        )

    def packet(self) -> Packet:
        packet = Packet(
            {
                "stacks": [],
                "echo": "",
                "names": labels(list(self.names), len(self.names), "candidate"),
                **self.plain("position", "temperature", "top_k", "url", "title", "python"),
            }
        )
        for number, stack in enumerate(self.stacks):
            packet.header["stacks"].append(self._add(packet, number, stack))
        if not 0 <= self.position < len(self.stacks[-1].tokens):
            raise ValueError(f"position {self.position} of {len(self.stacks[-1].tokens)} tokens")
        ordered = -np.sort(-np.asarray(self.logits, dtype=np.float64), kind="stable")
        packet.add("logits", ordered.astype("<f4").tobytes())
        return packet

    def _add(self, packet: Packet, number: int, stack: Stack) -> dict[str, Any]:
        """Add the numbers of a stack; return what its header says."""
        n, vectors = len(stack.tokens), np.asarray(stack.vectors, dtype=np.float64)
        if vectors.ndim != 3 or vectors.shape[1] != n:
            raise ValueError(f"{n} tokens, but vectors of shape {vectors.shape}")
        pooled = stripes(vectors)
        packet.add(f"stripes.{number}", pooled.astype("<f4").tobytes())
        kinds = {}
        for kind, weights in stack.attention.items():
            grid = np.asarray(weights, dtype=np.float64)
            keys = len(self.stacks[number - 1].tokens) if kind == "cross" else n
            if grid.shape[2:] != (n, keys):
                raise ValueError(
                    f"{n} queries and {keys} keys, but weights of shape {grid.shape[2:]} in “{kind}”"
                )
            packet.add(f"{kind}.{number}", grid.astype("<f4").tobytes())
            kinds[kind] = {
                "shape": list(grid.shape),
                "heads": list(stack.heads.get(kind, [0] * grid.shape[0])),
            }
        return {
            "name": stack.name,
            "tokens": labels(list(stack.tokens), n, "token"),
            "width": vectors.shape[2],
            "stripes": list(pooled.shape),
            "kinds": kinds,
        }


whole_model_packet = as_function(WholeModel, WholeModel.packet)
whole_model = as_function(WholeModel, WholeModel.show)


def stripes(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (layer, token, STRIPES) means of neighbouring numbers, each layer divided by its own standard deviation.

    Example:
        >>> stripes(np.tile([1.0, -1.0], (1, 1, 32)).reshape(1, 1, 64)).shape
        (1, 1, 32)
    """
    groups = np.array_split(np.arange(vectors.shape[2]), min(STRIPES, vectors.shape[2]))
    pooled = np.stack([vectors[:, :, group].mean(2) for group in groups], axis=2)
    spread = pooled.std(axis=(1, 2), keepdims=True)
    return pooled / np.where(spread == 0, 1.0, spread)


def chosen_position(key: str, n_tokens: int) -> int | None:
    """Return the position that the visitor touched last, if there is one of this number."""
    event = stored(key, "position")
    position = event["at"][0] if isinstance(event, dict) and event.get("at") else None
    return position if isinstance(position, int) and 0 <= position < n_tokens else None


def opened_part(key: str) -> tuple[dict[str, Any], str] | None:
    """Return the part that the visitor touched last and the id of the touch: a part has `name`, and `stack, kind, layer, head` where it is attention."""
    event = stored(key, "part")
    if not isinstance(event, dict) or not isinstance(event.get("at"), dict):
        return None
    return event["at"], str(event.get("id", ""))
