"""Keys and values that need not be computed again while a text is written token by token."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

KeysValues = tuple[Tensor, Tensor]
Project = Callable[[Tensor], KeysValues]


class Store:
    """The store that is off: projects what it is given (a source side) each time."""

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

    def reorder(self, rows: Tensor) -> None:
        if self._tensors is not None:
            self._tensors = (self._tensors[0].index_select(0, rows), self._tensors[1].index_select(0, rows))


class Growing(_Holding):
    """Self-attention's store: each call appends the new positions along the key axis."""

    def __call__(self, project: Project, source: Tensor) -> KeysValues:
        k, v = project(source)
        if self._tensors is not None:
            k = torch.cat((self._tensors[0], k), dim=-2)
            v = torch.cat((self._tensors[1], v), dim=-2)
        self._tensors = (k, v)
        return k, v


class Fixed(_Holding):
    """Cross-attention's store: the encoder's output is projected once."""

    def __call__(self, project: Project, source: Tensor) -> KeysValues:
        if self._tensors is None:
            self._tensors = project(source)
        return self._tensors


class Past:
    """The input of a convolution `reach` positions earlier, zeros before the text, computed from x (batch pos d) alone: the store that is off."""

    def __call__(self, x: Tensor, reach: int) -> Tensor:
        n = x.shape[1]
        return torch.cat((x.new_zeros(len(x), min(reach, n), x.shape[-1]), x[:, : max(n - reach, 0)]), dim=1)


NO_PAST = Past()


class Recent(Past):
    """A convolution's store: of all that it has read, the last `reach` positions are enough to go on.

    >>> store, x = Recent(), torch.tensor([[[1.0], [2.0], [3.0]]])
    >>> [store(x[:, i : i + 1], 2).item() for i in range(3)], store.tensor().flatten().tolist()
    ([0.0, 0.0, 1.0], [2.0, 3.0])
    """

    def __init__(self) -> None:
        self._tensors: Tensor | None = None

    def __call__(self, x: Tensor, reach: int) -> Tensor:
        before = x.new_zeros(len(x), reach, x.shape[-1]) if self._tensors is None else self._tensors
        read = torch.cat((before, x), dim=1)
        self._tensors = read[:, x.shape[1] :]
        return read[:, : x.shape[1]]

    def tensor(self) -> Tensor | None:
        return self._tensors

    def reorder(self, rows: Tensor) -> None:
        if self._tensors is not None:
            self._tensors = self._tensors.index_select(0, rows)


class Cache:
    """The stores of one decoding, one a layer; it belongs to the caller, never to a model.

    >>> Cache(n_layers=2).n_read
    0
    """

    def __init__(self, n_layers: int) -> None:
        self.self_attn = tuple(Growing() for _ in range(n_layers))
        self.cross_attn = tuple(Fixed() for _ in range(n_layers))

    @property
    def n_read(self) -> int:
        """Return how many positions the self-attention already holds."""
        held = self.self_attn[0].tensors()
        return 0 if held is None else held[0].shape[-2]

    def reorder(self, rows: Tensor) -> None:
        """Go on with these rows of the batch, in this order: one may be left out, another go on twice (beam search)."""
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
        """Return how many positions were read: also where nothing attends to them."""
        return self.read

    def reorder(self, rows: Tensor) -> None:
        super().reorder(rows)
        for store in self.recent:
            store.reorder(rows)

    @property
    def nbytes(self) -> int:
        held = [store.tensor() for store in self.recent]
        return super().nbytes + sum(t.numel() * t.element_size() for t in held if t is not None)


class States:
    """The states of a recurrent decoding, by name, one row for each text; they are carried from step to step.

    It belongs to the caller, never to a model, and answers to what a `Cache` does.

    >>> states = States()
    >>> states.values["hidden"] = torch.tensor([[1.0], [2.0]])
    >>> states.reorder(torch.tensor([1, 1, 0]))
    >>> states.values["hidden"].flatten().tolist(), states.nbytes
    ([2.0, 2.0, 1.0], 12)
    """

    def __init__(self) -> None:
        self.n_read = 0
        self.values: dict[str, Tensor] = {}

    def reorder(self, rows: Tensor) -> None:
        """Go on with these rows of the batch, in this order (beam search)."""
        self.values = {name: value.index_select(0, rows) for name, value in self.values.items()}

    @property
    def nbytes(self) -> int:
        return sum(value.numel() * value.element_size() for value in self.values.values())
