"""Position encodings of Transformers: sinusoids, a learned table, rotary, ALiBi.

Sinusoids and the learned table are *added* to the word embeddings before the first block.
Rotary turns queries and keys, ALiBi shifts the scores; both act inside every attention layer.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

import torch
from torch import Tensor, nn
from torch.nn import functional

from core.layers.init import normal, shapes_only

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int, Real


Variant = Literal["paired", "over_p", "unpaired"]
"""The exponent of the base: ``paired`` 2*floor(i/2)/d, ``over_p`` 2*floor(i/2)/p, ``unpaired`` i/d."""

VARIANTS: tuple[Variant, ...] = get_args(Variant)


def _check(d_model: int, base: float, variant: str, p: float | None) -> None:
    if d_model < 1:
        raise ValueError(f"d_model={d_model} must be at least 1")
    if not (base > 0 and math.isfinite(base)):
        raise ValueError(f"base={base} must be a positive finite number")
    if variant not in VARIANTS:
        raise ValueError(f"variant={variant!r} is none of {', '.join(VARIANTS)}")
    if (variant == "over_p") != (p is not None):
        raise ValueError(f"p={p} goes with variant='over_p' and only with it, not with variant={variant!r}")
    if p is not None and not p > 0:
        raise ValueError(f"p={p} must be positive")


def frequencies(
    d_model: int,
    base: float = 10000.0,
    variant: Variant = "paired",
    *,
    p: float | None = None,
    cut: bool = True,
) -> Float[Tensor, " d_model"]:
    """Return the angular frequency w_i of each dimension: angle = position * w_i, in radians.

    Equation: w_i = base ** -e_i with the exponent e_i of the variant (see `sinusoidal`).
    In float64; with ``cut=False`` there are 2 * (floor(d_model / 2) + 1) entries.
    Errors: ValueError names the parameter and its value.

    >>> frequencies(4)
    tensor([1.0000, 1.0000, 0.0100, 0.0100], dtype=torch.float64)
    """
    _check(d_model, base, variant, p)
    entries = d_model if cut else 2 * (d_model // 2 + 1)
    i = torch.arange(entries, dtype=torch.float64)
    pair = 2 * torch.div(i, 2, rounding_mode="floor")
    exponent = {"paired": pair / d_model, "over_p": pair / (p or 1), "unpaired": i / d_model}[variant]
    return torch.as_tensor(base, dtype=torch.float64) ** -exponent


def sinusoidal_at(
    positions: Real[Tensor, " pos"],
    d_model: int,
    base: float = 10000.0,
    variant: Variant = "paired",
    *,
    p: float | None = None,
    cut: bool = True,
) -> Float[Tensor, "pos d_model"]:
    """Return the sinusoidal encoding at any positions, fractional ones included (for smooth curves).

    Equation: sin(position * w_i) for even i, cos(position * w_i) for odd i, w from `frequencies`.
    In float64.
    Errors: ValueError as in `frequencies`.

    >>> sinusoidal_at(torch.tensor([0.5]), 2)
    tensor([[0.4794, 0.8776]], dtype=torch.float64)
    """
    w = frequencies(d_model, base, variant, p=p, cut=cut)
    angle = positions.to(torch.float64)[:, None] * w.to(positions.device)
    even = torch.arange(w.numel(), device=positions.device) % 2 == 0
    return torch.where(even, angle.sin(), angle.cos())


def sinusoidal(
    n_positions: int,
    d_model: int,
    base: float = 10000.0,
    variant: Variant = "paired",
    *,
    p: float | None = None,
    cut: bool = True,
    dtype: torch.dtype = torch.float32,
) -> Float[Tensor, "pos d_model"]:
    """Return the table of sinusoidal position vectors for positions 0 .. n_positions - 1.

    Equation (Vaswani et al. 2017, section 3.5), the default ``paired``:
        PE(pos, 2j)     = sin(pos / base ** (2j / d))
        PE(pos, 2j + 1) = cos(pos / base ** (2j / d)),   j = 0 .. ceil(d / 2) - 1
    so a sine and a cosine share each frequency; an odd d ends on a sine. As printed elsewhere:
        ``over_p``    exponent 2j/p, Ghojogh and Ghodsi 2020, eq. (17); p is the size of a key (100 in their Fig. 10)
        ``unpaired``  exponent i/d for odd i as well, Beigy 2021 and 2024; sine and cosine no longer share a
                      frequency, so the distance between two positions depends on where they are
        ``cut=False`` j runs up to floor(d/2) inclusive, as both print: two entries more than d when d is even
                      (62 for d = 60), one more when d is odd. The default cuts them off.
    Computed in float64, returned in `dtype`.
    Errors: ValueError names the parameter and its value.

    >>> sinusoidal(2, 4)
    tensor([[0.0000, 1.0000, 0.0000, 1.0000],
            [0.8415, 0.5403, 0.0100, 0.9999]])
    """
    if n_positions < 0:
        raise ValueError(f"n_positions={n_positions} must not be negative")
    positions = torch.arange(n_positions)
    return sinusoidal_at(positions, d_model, base, variant, p=p, cut=cut).to(dtype)


class Sinusoidal(nn.Module):
    """The sinusoidal table as a part of a model: nothing to learn, nothing saved.

    Equation: see `sinusoidal` (Vaswani et al. 2017, section 3.5); with `halves` all sines come before all cosines, with `spread` too, and
    the j-th of n frequencies is base ** (-j / (n - 1)), so that the last is 1 / base (M2M100).
    Errors: IndexError from torch for a position outside 0 .. n_positions - 1: the table does not grow.

    >>> Sinusoidal(8, 4)(torch.tensor([1]))
    tensor([[0.8415, 0.5403, 0.0100, 0.9999]])
    """

    table: Tensor

    def __init__(
        self,
        n_positions: int,
        d_model: int,
        base: float = 10000.0,
        *,
        halves: bool = False,
        spread: bool = False,
    ) -> None:
        super().__init__()
        self._how = n_positions, d_model, base, halves, spread
        self.register_buffer(
            "table", torch.empty(n_positions, d_model) if shapes_only() else self.computed(), persistent=False
        )

    def computed(self) -> Float[Tensor, "pos d_model"]:
        """Return the table, also where the network was built without numbers (core.checkpoints.safety.load_plan)."""
        n_positions, d_model, base, halves, spread = self._how
        if spread:
            n = d_model // 2
            w = base ** (-torch.arange(n, dtype=torch.float64) / (n - 1))
            angle = torch.arange(n_positions, dtype=torch.float64)[:, None] * w
            return torch.cat((angle.sin(), angle.cos()), dim=1).float()
        table = sinusoidal(n_positions, d_model, base)
        return torch.cat((table[:, 0::2], table[:, 1::2]), dim=1) if halves else table

    def forward(self, positions: Int[Tensor, "*batch pos"]) -> Float[Tensor, "*batch pos d_model"]:
        return functional.embedding(positions, self.table)


class LearnedPositions(nn.Module):
    """One learned vector per position (GPT, BERT): ``weight`` (n_positions, d_model) is the table, it ends at its last row.

    Equation: p_i = weight[i].
    Errors: IndexError from torch for a position outside 0 .. n_positions - 1.

    >>> LearnedPositions(8, 4)(torch.tensor([0, 3])).shape
    torch.Size([2, 4])
    """

    def __init__(self, n_positions: int, d_model: int, std: float = 0.02) -> None:
        super().__init__()
        if n_positions < 1 or d_model < 1:
            raise ValueError(f"n_positions={n_positions} and d_model={d_model} must both be at least 1")
        self.weight = nn.Parameter(normal(n_positions, d_model, std=std))

    def forward(self, positions: Int[Tensor, "*batch pos"]) -> Float[Tensor, "*batch pos d_model"]:
        return functional.embedding(positions, self.weight)


def position_rows(
    ids: Int[Tensor, "batch pos"], real: Bool[Tensor, "batch pos"], first: int = 0
) -> Int[Tensor, "*#batch pos"]:
    """Return the row of the position table for each token: one row of numbers for all texts, or one per text where padding is among the real tokens.

    Position i reads row first + i. RoBERTa and MPNet give padding, whose id is first - 1, the row of that number, and count on without it:
    Hugging Face transformers, `create_position_ids_from_input_ids`.

    >>> ids = torch.tensor([[5, 1, 6]])
    >>> position_rows(ids, ids > 0, 2).tolist(), position_rows(ids, ids > 1, 2).tolist()
    ([[2, 1, 3]], [2, 3, 4])
    """
    known = ids != first - 1
    if not first or bool((known | ~real).all()):
        return first + torch.arange(ids.shape[1], device=ids.device)
    return first - 1 + known.cumsum(1) * known


def rotary(
    x: Float[Tensor, "batch head pos d_head"],
    positions: Real[Tensor, " pos"],
    base: float = 10000.0,
    *,
    interleaved: bool = False,
) -> Float[Tensor, "batch head pos d_head"]:
    """Rotate each pair of features of a query or key by an angle proportional to its position.

    Equation (Su et al. 2021, RoFormer, eq. 34): a pair (a, b) at position m becomes
    (a cos m w_j - b sin m w_j, b cos m w_j + a sin m w_j) with w_j = base ** (-2j / d_head).
    The dot product of a rotated query and a rotated key depends only on the difference of their positions.
    Which features form a pair: by default feature j and j + d_head/2 (the half-split of GPT-NeoX and
    Llama); with ``interleaved`` features 2j and 2j + 1, as RoFormer writes it.
    The dtype is that of x.
    Errors: ValueError for an odd d_head or when positions and x disagree in length.

    >>> rotary(torch.tensor([[[[1.0, 0.0]]]]), torch.tensor([1]))
    tensor([[[[0.5403, 0.8415]]]])
    """
    d_head = x.shape[-1]
    if d_head % 2:
        raise ValueError(f"d_head={d_head} must be even: rotary turns pairs of features")
    if positions.shape != x.shape[-2:-1]:
        raise ValueError(f"positions has shape {tuple(positions.shape)}, x has {x.shape[-2]} positions")
    w = frequencies(d_head, base)[::2].to(x.device)
    return rotate_pairs(x, positions.to(torch.float64)[:, None] * w, interleaved=interleaved)


class Waves(NamedTuple):
    """Cosine and sine of the angles, both (pos pair), computed once for all layers that rotate by them."""

    cos: Tensor
    sin: Tensor


def waves(angle: Float[Tensor, "pos pair"], dtype: torch.dtype = torch.float32) -> Waves:
    """Return cosine and sine of angles, computed in the precision of the angles and rounded to `dtype`.

    >>> waves(torch.zeros(1, 1))
    Waves(cos=tensor([[1.]]), sin=tensor([[0.]]))
    """
    return Waves(angle.cos().to(dtype), angle.sin().to(dtype))


def yarn(
    positions: Real[Tensor, " pos"],
    d_head: int,
    base: float,
    factor: float,
    original: int,
    rounds: tuple[float, float],
) -> Waves:
    """Return the waves of positions in a context that is `factor` times the `original` one (YaRN, Peng et al. 2023, sections 3.2 and 3.4).

    A pair of features that turns more than rounds[0] times within the original context keeps its angles, one that turns less than
    rounds[1] times has them divided by the factor, between them both are blended; all are larger by 0.1 ln(factor) + 1.

    >>> yarn(torch.zeros(1), 4, 100.0, 1.0, 8, (32.0, 1.0)).cos
    tensor([[1., 1.]])
    """
    w, pairs = frequencies(d_head, base)[::2].to(positions.device), d_head // 2
    low, high = (d_head * math.log(original / (n * 2 * math.pi)) / (2 * math.log(base)) for n in rounds)
    low, high = max(low, 0.0), min(high, d_head - 1.0)
    ramp = (torch.arange(pairs, device=w.device) - low) / (high - low if high != low else 0.001)
    blend = ramp.clamp(0, 1)
    cos, sin = waves(positions.to(torch.float64)[:, None] * w * (1 - blend + blend / factor))
    size = 0.1 * math.log(factor) + 1.0
    return Waves(size * cos, size * sin)


def rotate_pairs(
    x: Float[Tensor, "*batch pos d_head"],
    angle: Float[Tensor, "pos pair"] | Waves,
    *,
    interleaved: bool = False,
) -> Float[Tensor, "*batch pos d_head"]:
    """Rotate each pair of features by its angle, given as such or as its `waves`; see `rotary`. The dtype is that of x.

    Features beyond those of the pairs stay as they are: partly rotary positions (GPT-NeoX).
    """
    cos, sin = (side.to(x.dtype) for side in (angle if isinstance(angle, Waves) else waves(angle, x.dtype)))
    x, rest = x.tensor_split([2 * cos.shape[-1]], dim=-1)
    if interleaved:
        a, b = x[..., 0::2], x[..., 1::2]
        found = torch.stack((a * cos - b * sin, b * cos + a * sin), dim=-1).flatten(-2)
        return torch.cat((found, rest), dim=-1)
    a, b = x.chunk(2, dim=-1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin, rest), dim=-1)


def alibi_slopes(n_heads: int) -> Float[Tensor, " head"]:
    """Return how steeply each head of ALiBi lowers scores with distance.

    Equation (Press et al. 2022, section 3): for n heads, n a power of two, 2**(-8/n), 2**(-16/n), .., 2**-8.
    Other n, as in the paper's code: the slopes of the power of two below, then every second slope of the one above.
    In float32.
    Errors: ValueError for fewer than one head.

    >>> alibi_slopes(2)
    tensor([0.0625, 0.0039])
    """
    if n_heads < 1:
        raise ValueError(f"n_heads={n_heads} must be at least 1")
    below = 2 ** int(math.log2(n_heads))

    def geometric(n: int) -> Tensor:
        return 2.0 ** (-8.0 / n * torch.arange(1, n + 1, dtype=torch.float64))

    extra = geometric(2 * below)[0::2][: n_heads - below]
    return torch.cat((geometric(below), extra)).to(torch.float32)


class Alibi(nn.Module):
    """ALiBi with the interface of `RelativeBias`: nothing is learned, and its table has no end.

    `furthest` is the largest distance of its `weight`, `both`: keys after the query count too. `divisor` divides all of it; `halved`: slopes, and their products with the numbers of positions, were
    rounded to bfloat16, so that a score changes by nearly the same for each token of distance (Falcon).

    >>> Alibi(2).weight[:3]
    tensor([[ 0.0000,  0.0000],
            [-0.0625, -0.0039],
            [-0.1250, -0.0078]])
    """

    endless = False

    def __init__(
        self,
        n_heads: int,
        furthest: int = 24,
        *,
        both: bool = False,
        divisor: float = 1.0,
        halved: bool = False,
    ) -> None:
        super().__init__()
        self.n_heads, self.furthest, self.both = n_heads, furthest, both
        self.divisor, self.halved = divisor, halved

    def forward(self, n_query: int, n_key: int) -> Float[Tensor, "one head query key"]:
        """Return the bias of `n_query` queries, the last of `n_key` positions."""
        if not self.halved:
            return alibi_bias(self.n_heads, n_query, n_key)[None] / self.divisor
        along = (alibi_slopes(self.n_heads)[:, None].bfloat16() * torch.arange(n_key)).float()
        return (along[:, None, :] - along[:, n_key - n_query :, None])[None] / self.divisor

    def bucket(self, distance: Int[Tensor, "*shape"]) -> Int[Tensor, "*shape"]:
        """Return the row of the table for each distance (key minus query).

        >>> Alibi(2).bucket(torch.tensor([-3, 0])).tolist()
        [3, 0]
        """
        return distance.abs()

    @property
    def weight(self) -> Float[Tensor, "distance head"]:
        """Return the table of biases by distance."""
        return -torch.arange(self.furthest + 2)[:, None] * alibi_slopes(self.n_heads) / self.divisor


def alibi_bias(n_heads: int, n_query: int, n_key: int) -> Float[Tensor, "head query key"]:
    """Return the bias that ALiBi adds to the scores before the softmax: minus slope times distance.

    Equation (Press et al. 2022, section 3): score(i, j) + m_h * (j - i) for j <= i. Later keys, which
    the paper's causal mask hides, get minus slope times distance as well.
    The queries are the last n_query of the n_key positions, as in cached decoding.
    In float32.
    Errors: ValueError when there are more queries than keys.

    >>> alibi_bias(2, 2, 3)[0]
    tensor([[-0.0625,  0.0000, -0.0625],
            [-0.1250, -0.0625,  0.0000]])
    """
    if not 0 <= n_query <= n_key:
        raise ValueError(f"n_query={n_query} must lie between 0 and n_key={n_key}")
    query = torch.arange(n_key - n_query, n_key)[:, None]
    distance = (query - torch.arange(n_key)).abs()
    return alibi_slopes(n_heads)[:, None, None] * -distance
