"""A captioner: a convolution makes a vector of each cell of a picture, a recurrent decoder attends to them word by word.

Xu et al. 2015, "Show, attend and tell: neural image caption generation with visual attention". What Bahdanau's decoder
does over the words of a source this one does over the cells of a grid (Ghojogh and Ghodsi 2020, Eqs. (4)-(6) with h_j
the features of cell j).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import torch.nn.functional as F
from torch import Tensor, nn

from core.data.scenes.pixels import MARGIN, PATCH, SceneReader
from core.layers.cache import States
from core.layers.config_checks import check_sizes
from core.layers.dropout import dropout
from core.layers.embedding import TokenEmbedding
from core.layers.init import normal
from core.layers.linear import Linear
from core.layers.recurrent.alignment import Gated, Global
from core.layers.scores import Additive
from core.models import Batch, Family, Kind
from core.models.seq2seq import Decoder
from core.trace import OFF, Tap

if TYPE_CHECKING:
    from jaxtyping import Float


SIDE = PATCH + 2 * MARGIN
"""Pixels on each side of what is seen of a cell."""
STRIDE, KERNEL = 2, 4
"""Of the first convolution; the kernel of the second is all that the first leaves of a cell, so that it is one product."""
LARGEST = 16


@dataclass(frozen=True, kw_only=True)
class CaptionerConfig:
    """The shape; the defaults are those of the shipped captioner, the paper's are ten times as wide.

    A picture has `grid` x `grid` cells, of which the first convolution makes `n_filters` maps; `d_model` is the width of a
    cell's vector, of word vectors and of the state, `d_ff` that of the alignment network. `gate`: with beta.

    >>> CaptionerConfig(grid=6)
    Traceback (most recent call last):
    ValueError: grid=6 makes 36 cells, more than n_ctx=32
    """

    n_heads: ClassVar[int] = 1
    attends: ClassVar[bool] = True
    cell: ClassVar[str] = "lstm"
    attention: ClassVar[str] = "bahdanau"
    input_feeding: ClassVar[bool] = False
    n_layers: int = 1
    grid: int = 5
    n_filters: int = 24
    d_model: int = 96
    d_ff: int = 64
    n_vocab: int = 40
    n_ctx: int = 32
    gate: bool = True
    dropout: float = 0.0

    def __post_init__(self) -> None:
        check_sizes(self)
        for name, most in (("grid", LARGEST), ("n_filters", 1024)):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
                raise ValueError(f"{name}={value!r} must be a whole number from 1 to {most}")
        if self.grid**2 > self.n_ctx:
            raise ValueError(f"grid={self.grid} makes {self.grid**2} cells, more than n_ctx={self.n_ctx}")
        if not isinstance(self.gate, bool):
            raise ValueError(f"gate={self.gate!r} is neither true nor false")

    @property
    def d_head(self) -> int:
        return self.d_model

    @classmethod
    def tiny(cls) -> CaptionerConfig:
        return cls(n_layers=2, grid=3, n_filters=5, d_model=34, d_ff=13, n_vocab=29, n_ctx=19)


class Grid(nn.Module):
    """a_i = W relu(K * picture)_i + p_i: the vector of each cell (Xu et al. 2015, 3.1.1), by two convolutions.

    `windows` are the pixels of each cell with its margin, as `core.data.scenes.pixels.windows` cuts them. Reading cell by cell gives what `F.conv2d` gives over the whole picture, padded by
    the margin. p_i is a learned vector of the place: the same thing in another cell is another vector.

    >>> import torch
    >>> Grid(CaptionerConfig.tiny())(torch.zeros(1, 9, 588)).shape
    torch.Size([1, 9, 34])
    """

    def __init__(self, cfg: CaptionerConfig) -> None:
        super().__init__()
        left = (SIDE - KERNEL) // STRIDE + 1
        self.first = nn.Conv2d(3, cfg.n_filters, KERNEL, STRIDE)
        self.second = Linear(cfg.n_filters * left**2, cfg.d_model)
        self.to_out = Linear(cfg.d_model, cfg.d_model)
        self.position = nn.Parameter(normal(cfg.n_ctx, cfg.d_model, std=1.0))

    def forward(
        self, windows: Float[Tensor, "batch pos number"], tap: Tap = OFF
    ) -> Float[Tensor, "batch pos d_model"]:
        return self.placed(self.features(windows, tap), tap)

    def features(
        self, windows: Float[Tensor, "batch pos number"], tap: Tap = OFF
    ) -> Float[Tensor, "batch pos d_model"]:
        """Return the features that the convolutions compute of each window, independent of its place."""
        windows = tap("pixels", windows, "batch pos number")
        maps = F.relu(self.first(windows.reshape(-1, 3, SIDE, SIDE)))
        maps = tap("maps", maps.unflatten(0, windows.shape[:2]), "batch pos filter row column")
        return tap("features", self.to_out(F.relu(self.second(maps.flatten(2)))), "batch pos d_model")

    def placed(
        self, features: Float[Tensor, "batch pos d_model"], tap: Tap = OFF
    ) -> Float[Tensor, "batch pos d_model"]:
        """Return the features of the cells of a picture, each with the vector of its place."""
        place = tap("embed.position", self.position[: features.shape[1]], "pos d_model")
        return tap("annotations", features + place, "batch pos d_model")


class Captioner(nn.Module):
    """Convolutions over a picture (`Batch.values`, one row a cell of `Batch.source`), and a decoder that attends to them.

    `encode` returns the vectors of the cells; `forward` and `logits` are as those of `Seq2Seq`, whose
    decoder this is: c_t by h_{t-1}, then h_t = LSTM(h_{t-1}, [y_{t-1}; c_t]); it begins with the mean of all cells.

    >>> import torch
    >>> net, ids = Captioner(CaptionerConfig.tiny()), torch.tensor([[1, 2, 3]])
    >>> batch = Batch(ids=ids, real=ids > 0, source=torch.zeros(1, 9).long(), values=torch.zeros(1, 9, 588))
    >>> net.logits(net(batch)).shape
    torch.Size([1, 3, 29])
    """

    def __init__(self, cfg: CaptionerConfig) -> None:
        super().__init__()
        self.cfg = cfg
        self.embed: Any = nn.ModuleDict({"token": TokenEmbedding(cfg.n_vocab, cfg.d_model, scaled=True)})
        self.drop = dropout(cfg.dropout)
        score = Additive(cfg.d_model, cfg.d_model, d_ff=cfg.d_ff)
        self.encoder = Grid(cfg)
        self.decoder = Decoder(cfg, Gated(score, cfg.d_model, cfg.dropout) if cfg.gate else Global(score))

    def new_cache(self) -> States:
        return States()

    def encode(self, batch: Batch, tap: Tap = OFF) -> Float[Tensor, "batch key d_model"]:
        return self.encoder(batch.read_values(), tap / "encoder")

    def forward(
        self,
        batch: Batch,
        tap: Tap = OFF,
        cache: States | None = None,
        memory: Float[Tensor, "batch key d_model"] | None = None,
    ) -> Float[Tensor, "batch pos d_model"]:
        cells = self.encode(batch, tap) if memory is None else memory
        tap, real, last = tap / "decoder", batch.read_real(), cache is None
        cache = States() if cache is None else cache
        token = tap("embed.token", self.embed["token"](batch.ids), "batch pos d_model")
        x = tap("embed.out", self.drop(token), "batch pos d_model")
        if not cache.n_read:
            n = len(batch.ids)  # one picture may be read for several captions
            mean = (cells * real[..., None]).sum(1) / real.sum(1, keepdim=True)
            cache.values = self.decoder.start(mean.expand(n, -1), cells.expand(n, -1, -1), tap)
        return self.decoder(x, real, cache, tap, last=last)

    def logits(
        self, hidden: Float[Tensor, "*batch d_model"], tap: Tap = OFF
    ) -> Float[Tensor, "*batch vocab"]:
        return tap("logits", self.embed["token"].scores(hidden), "batch pos vocab")


FAMILY = Family(
    name="captioner",
    config=CaptionerConfig,
    network=Captioner,
    kinds=(Kind(name="alignment", stack="decoder", leaf="attn", keys="source", layered=False),),
    stacks={"decoder": "decoder.layer"},
    stream=("inputs", "hidden"),
    has_source=True,
    reads=lambda cfg: SceneReader(cfg.grid),
)
