"""Score functions, which say how well a key fits a query: all those of the sources, with one interface.

`prepare` computes once for a whole sentence what depends on the keys alone; `compare` does the rest at each step of a decoder.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from core.layers.init import normal
from core.layers.linear import Linear
from core.trace import OFF, Tap

if TYPE_CHECKING:
    from jaxtyping import Float


class Score(nn.Module):
    """The base of all score functions: keys are prepared once, then compared with queries; tapped as `scores`."""

    def prepare(self, keys: Float[Tensor, "batch key d_key"]) -> Float[Tensor, "batch key ..."]:
        """Return what depends on the keys alone; here the keys themselves."""
        return keys

    def compare(
        self, query: Float[Tensor, "batch query d_query"], prepared: Float[Tensor, "batch key ..."]
    ) -> Float[Tensor, "batch query key"]:
        raise NotImplementedError

    def forward(
        self,
        query: Float[Tensor, "batch query d_query"],
        keys: Float[Tensor, "batch key d_key"],
        tap: Tap = OFF,
    ) -> Float[Tensor, "batch query key"]:
        return tap("scores", self.compare(query, self.prepare(keys)), "batch query key")


def _same_width(d_query: int, d_key: int, name: str) -> None:
    if d_query != d_key:
        raise ValueError(
            f"the score '{name}' multiplies d_query={d_query} with d_key={d_key}: they must be equal"
        )


class Dot(Score):
    """s = q . k (Ghojogh and Ghodsi 2020, Eq. (9); Luong et al. 2015, section 3.1, dot).

    Errors: ValueError when the two widths differ.

    >>> Dot(2, 2)(torch.tensor([[[1.0, 2.0]]]), torch.tensor([[[3.0, 4.0], [0.0, 1.0]]])).tolist()
    [[[11.0, 2.0]]]
    """

    def __init__(self, d_query: int, d_key: int) -> None:
        super().__init__()
        _same_width(d_query, d_key, "dot")

    def compare(
        self, query: Float[Tensor, "batch query d_key"], prepared: Float[Tensor, "batch key d_key"]
    ) -> Float[Tensor, "batch query key"]:
        return query @ prepared.mT


class ScaledDot(Score):
    """s = q . k / sqrt(d_k) (Vaswani et al. 2017, Eq. (1); Ghojogh and Ghodsi 2020, Eq. (10)).

    Beigy 2021 writes sqrt(n): n there is the size of the vectors, not the number of words.
    Errors: ValueError when the two widths differ.

    >>> ScaledDot(4, 4)(torch.ones(1, 1, 4), torch.ones(1, 1, 4)).item()
    2.0
    """

    def __init__(self, d_query: int, d_key: int) -> None:
        super().__init__()
        _same_width(d_query, d_key, "scaled")

    def compare(
        self, query: Float[Tensor, "batch query d_key"], prepared: Float[Tensor, "batch key d_key"]
    ) -> Float[Tensor, "batch query key"]:
        return query @ prepared.mT / math.sqrt(query.shape[-1])


class General(Score):
    """s = q^T W k (Luong et al. 2015, section 3.1, general; Ghojogh and Ghodsi 2020, Eq. (11)).

    W k is prepared; W may be of any two widths.

    >>> General(3, 5)(torch.ones(1, 2, 3), torch.ones(1, 7, 5)).shape
    torch.Size([1, 2, 7])
    """

    def __init__(self, d_query: int, d_key: int) -> None:
        super().__init__()
        self.to_key = Linear(d_key, d_query, bias=False)

    def prepare(self, keys: Float[Tensor, "batch key d_key"]) -> Float[Tensor, "batch key d_query"]:
        return self.to_key(keys)

    def compare(
        self, query: Float[Tensor, "batch query d_query"], prepared: Float[Tensor, "batch key d_query"]
    ) -> Float[Tensor, "batch query key"]:
        return query @ prepared.mT


class LinearAdditive(Score):
    """s = w_q . q + w_k . k (Ghojogh and Ghodsi 2020, Eq. (12)).

    As printed it cannot attend: w_q . q is the same for every key and cancels in the softmax, so all queries look
    at the same words. `Additive` is what the original has.

    >>> scores = LinearAdditive(3, 5)(torch.randn(1, 2, 3), torch.randn(1, 7, 5)).softmax(-1)
    >>> torch.allclose(scores[:, 0], scores[:, 1])
    True
    """

    def __init__(self, d_query: int, d_key: int) -> None:
        super().__init__()
        self.query = nn.Parameter(normal(d_query, std=d_query**-0.5))
        self.key = nn.Parameter(normal(d_key, std=d_key**-0.5))

    def prepare(self, keys: Float[Tensor, "batch key d_key"]) -> Float[Tensor, "batch key"]:
        return keys @ self.key

    def compare(
        self, query: Float[Tensor, "batch query d_query"], prepared: Float[Tensor, "batch key"]
    ) -> Float[Tensor, "batch query key"]:
        return (query @ self.query)[:, :, None] + prepared[:, None, :]


class Additive(Score):
    """s = v . tanh(W_1 q + W_2 k) (Bahdanau et al. 2015, appendix A.1.2; Luong et al. 2015, section 3.1, concat).

    The same as v^T tanh(W [q; k]) with W = [W_1 W_2]: a feed-forward network with one hidden layer of width d_ff that
    reads query and key together. W_2 k is prepared.

    >>> Additive(3, 5, d_ff=11)(torch.ones(1, 2, 3), torch.ones(1, 7, 5)).shape
    torch.Size([1, 2, 7])
    """

    def __init__(self, d_query: int, d_key: int, *, d_ff: int) -> None:
        super().__init__()
        self.from_query = Linear(d_query, d_ff, bias=False)
        self.from_key = Linear(d_key, d_ff, bias=False)
        self.v = nn.Parameter(normal(d_ff, std=d_ff**-0.5))

    def prepare(self, keys: Float[Tensor, "batch key d_key"]) -> Float[Tensor, "batch key d_ff"]:
        return self.from_key(keys)

    def compare(
        self, query: Float[Tensor, "batch query d_query"], prepared: Float[Tensor, "batch key d_ff"]
    ) -> Float[Tensor, "batch query key"]:
        return torch.tanh(self.from_query(query)[:, :, None] + prepared[:, None]) @ self.v


class Cosine(Score):
    """s = q . k / (|q| |k|), between -1 and 1 (Graves et al. 2014, Eq. (6): content-based addressing).

    Without a sharpness the softmax stays flat: two weights differ at most by e^2. `sharpness` is Graves' beta, Eq. (5).
    Errors: ValueError when the two widths differ.

    >>> Cosine(2, 2)(torch.tensor([[[3.0, 4.0]]]), torch.tensor([[[6.0, 8.0], [4.0, -3.0]]])).tolist()
    [[[1.0, 0.0]]]
    """

    def __init__(self, d_query: int, d_key: int, *, sharpness: float = 1.0) -> None:
        super().__init__()
        _same_width(d_query, d_key, "cosine")
        self.sharpness = sharpness

    def prepare(self, keys: Float[Tensor, "batch key d_key"]) -> Float[Tensor, "batch key d_key"]:
        return F.normalize(keys, dim=-1)

    def compare(
        self, query: Float[Tensor, "batch query d_key"], prepared: Float[Tensor, "batch key d_key"]
    ) -> Float[Tensor, "batch query key"]:
        return F.normalize(query, dim=-1) @ prepared.mT * self.sharpness


class Location(Score):
    """The score s = W q, one for each position and independent of its key (Luong et al. 2015, Eq. (8), location).

    The rows of W are positions: a source longer than `n_ctx` has no score.
    Errors: ValueError for more keys than rows, naming both.

    >>> Location(3, 5, n_ctx=11)(torch.ones(1, 2, 3), torch.ones(1, 7, 5)).shape
    torch.Size([1, 2, 7])
    """

    def __init__(self, d_query: int, d_key: int, *, n_ctx: int) -> None:
        super().__init__()
        self.to_position = Linear(d_query, n_ctx, bias=False)

    def prepare(self, keys: Float[Tensor, "batch key d_key"]) -> Float[Tensor, "batch key one"]:
        n_ctx = self.to_position.out_features
        if keys.shape[1] > n_ctx:
            raise ValueError(f"{keys.shape[1]} keys, but location scores end at n_ctx={n_ctx}")
        return keys[..., :1]  # only how many there are

    def compare(
        self, query: Float[Tensor, "batch query d_query"], prepared: Float[Tensor, "batch key one"]
    ) -> Float[Tensor, "batch query key"]:
        return self.to_position(query)[..., : prepared.shape[1]]


Maker = Callable[[int, int, int, int], Score]
"""From d_query, d_key, d_ff, n_ctx to a score function; each takes what it needs."""

SCORES: Mapping[str, Maker] = MappingProxyType(
    {
        "dot": lambda d_query, d_key, d_ff, n_ctx: Dot(d_query, d_key),
        "scaled": lambda d_query, d_key, d_ff, n_ctx: ScaledDot(d_query, d_key),
        "general": lambda d_query, d_key, d_ff, n_ctx: General(d_query, d_key),
        "linear": lambda d_query, d_key, d_ff, n_ctx: LinearAdditive(d_query, d_key),
        "concat": lambda d_query, d_key, d_ff, n_ctx: Additive(d_query, d_key, d_ff=d_ff),
        "cosine": lambda d_query, d_key, d_ff, n_ctx: Cosine(d_query, d_key),
        "location": lambda d_query, d_key, d_ff, n_ctx: Location(d_query, d_key, n_ctx=n_ctx),
    }
)
