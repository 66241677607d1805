"""Keys and values, kept from step to step while a text is written token by token."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from jaxtyping import Float, Int


KeysValues = tuple[Tensor, Tensor]
"""Keys and values, each (batch head key d_head)."""
Project = Callable[[Tensor], KeysValues]
"""From a source (batch pos d_in) to its keys and values."""


class Store:
    """The store that keeps nothing: keys and values are computed at each call."""

    def __call__(self, project: Project, source: Tensor) -> KeysValues:
        return project(source)

    def tensors(self) -> KeysValues | None:
        return None


NO_STORE = Store()


class _Holding(Store):
    """The base of the two stores that keep keys and values."""

    def __init__(self) -> None:
        self._tensors: KeysValues | None = None

    def tensors(self) -> KeysValues | None:
        return self._tensors

    def reorder(self, rows: Int[Tensor, " row"]) -> None:
        if self._tensors is not None:
            self._tensors = (self._tensors[0].index_select(0, rows), self._tensors[1].index_select(0, rows))


class Growing(_Holding):
    """The store of self-attention: each call appends the new positions along the key axis."""

    def __call__(self, project: Project, source: Tensor) -> KeysValues:
        k, v = project(source)
        if self._tensors is not None:
            k = torch.cat((self._tensors[0], k), dim=-2)
            v = torch.cat((self._tensors[1], v), dim=-2)
        self._tensors = (k, v)
        return k, v


class Fixed(_Holding):
    """The store of cross-attention: the encoder's output is projected once."""

    def __call__(self, project: Project, source: Tensor) -> KeysValues:
        if self._tensors is None:
            self._tensors = project(source)
        return self._tensors


class Past:
    """The input of a convolution `reach` positions earlier, zeros before the text; nothing is kept."""

    def __call__(
        self, x: Float[Tensor, "batch pos d_features"], reach: int
    ) -> Float[Tensor, "batch pos d_features"]:
        n = x.shape[1]
        return torch.cat((x.new_zeros(len(x), min(reach, n), x.shape[-1]), x[:, : max(n - reach, 0)]), dim=1)


NO_PAST = Past()


class Recent(Past):
    """The store of a convolution: the last `reach` positions of all that it has read.

    >>> store, x = Recent(), torch.tensor([[[1.0], [2.0], [3.0]]])
    >>> [store(x[:, i : i + 1], 2).item() for i in range(3)], store.tensor().flatten().tolist()
    ([0.0, 0.0, 1.0], [2.0, 3.0])
    """

    def __init__(self) -> None:
        self._tensors: Tensor | None = None

    def __call__(
        self, x: Float[Tensor, "batch pos d_features"], reach: int
    ) -> Float[Tensor, "batch pos d_features"]:
        before = x.new_zeros(len(x), reach, x.shape[-1]) if self._tensors is None else self._tensors
        read = torch.cat((before, x), dim=1)
        self._tensors = read[:, x.shape[1] :]
        return read[:, : x.shape[1]]

    def tensor(self) -> Float[Tensor, "batch reach d_features"] | None:
        return self._tensors

    def reorder(self, rows: Int[Tensor, " row"]) -> None:
        if self._tensors is not None:
            self._tensors = self._tensors.index_select(0, rows)


class Cache:
    """The stores of one decoding, one per layer; it belongs to the caller, never to a model.

    >>> Cache(n_layers=1).n_read
    0
    """

    def __init__(self, n_layers: int) -> None:
        self.self_attn = tuple(Growing() for _ in range(n_layers))
        self.cross_attn = tuple(Fixed() for _ in range(n_layers))

    @property
    def n_read(self) -> int:
        """Return how many positions self-attention has read."""
        held = self.self_attn[0].tensors()
        return 0 if held is None else held[0].shape[-2]

    def reorder(self, rows: Int[Tensor, " row"]) -> None:
        """Continue with these rows of the batch, in this order; a row may be dropped or repeated (beam search)."""
        for store in (*self.self_attn, *self.cross_attn):
            store.reorder(rows)

    @property
    def nbytes(self) -> int:
        held = [store.tensors() for store in (*self.self_attn, *self.cross_attn)]
        return sum(t.numel() * t.element_size() for pair in held if pair for t in pair)


class ConvolvedCache(Cache):
    """A cache with a store for each convolution beside those of the attention, and with its own count of what was read.

    >>> ConvolvedCache(n_layers=1, n_convolutions=3).nbytes
    0
    """

    def __init__(self, n_layers: int, n_convolutions: int) -> None:
        super().__init__(n_layers)
        self.recent = tuple(Recent() for _ in range(n_convolutions))
        self.read = 0

    @property
    def n_read(self) -> int:
        """Return how many positions were read, even if no layer attends."""
        return self.read

    def reorder(self, rows: Int[Tensor, " row"]) -> None:
        super().reorder(rows)
        for store in self.recent:
            store.reorder(rows)

    @property
    def nbytes(self) -> int:
        held = [store.tensor() for store in self.recent]
        return super().nbytes + sum(t.numel() * t.element_size() for t in held if t is not None)


class States:
    """The states of a recurrent decoding by name, one row per text, carried from step to step.

    It belongs to the caller, never to a model, and has the methods of a `Cache`.

    >>> states = States()
    >>> states.values["hidden"] = torch.tensor([[1.0], [2.0]])
    >>> states.reorder(torch.tensor([1, 1, 0]))
    >>> states.values["hidden"].flatten().tolist(), states.nbytes
    ([2.0, 2.0, 1.0], 12)
    """

    def __init__(self) -> None:
        self.n_read = 0
        self.values: dict[str, Tensor] = {}

    def reorder(self, rows: Int[Tensor, " row"]) -> None:
        """Continue with these rows of the batch, in this order (beam search)."""
        self.values = {name: value.index_select(0, rows) for name, value in self.values.items()}

    @property
    def nbytes(self) -> int:
        return sum(value.numel() * value.element_size() for value in self.values.values())
