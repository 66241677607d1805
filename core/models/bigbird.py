"""BigBird: BERT whose layers do not look at everything, but at a window, at global blocks and at random ones.

Zaheer et al. 2020. The network, its values and its heads are BERT's; only who may attend whom is another. A text is
cut into blocks of tokens; see `core.layers.block_sparse.layout` for the three parts of the mask. A row of n tokens then
has about (window + n_global + n_random) * block weights in place of n, and time and memory grow with n.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch import Tensor

from core import masks
from core.layers.block_sparse import DRAWS, BlockMask, BlockSparseAttention, Layout, everything, layout
from core.layers.config_checks import check_whole
from core.models import Family, Kind, bert

if TYPE_CHECKING:
    from jaxtyping import Bool


@dataclass(frozen=True, kw_only=True)
class BigBirdConfig(bert.BERTConfig):
    """BERT's shape, and who may attend whom; the defaults are BigBird base with the heads of pre-training.

    `layout` is "sparse", or "full": all pairs, as in BERT. Sizes of the mask are counted in blocks of `block` tokens.
    A text of up to `full_up_to` tokens is read in full even so. `draw`: see `core.layers.block_sparse.layout`.

    >>> BigBirdConfig(window=2)
    Traceback (most recent call last):
    ValueError: window=2 must be odd: a block and as many on either side
    """

    n_vocab: int = 50358
    n_ctx: int = 4096
    activation: str = "gelu_tanh"
    layout: str = "sparse"
    block: int = 64
    window: int = 3
    n_global: int = 2
    n_random: int = 3
    seed: int = 0
    draw: str = "each"
    full_up_to: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.layout not in ("sparse", "full"):
            raise ValueError(f"layout={self.layout!r} is neither 'sparse' nor 'full'")
        if type(self.block) is not int or not 1 <= self.block <= self.n_ctx:
            raise ValueError(f"block={self.block!r} must be a whole number from 1 to n_ctx={self.n_ctx}")
        if self.window % 2 == 0:
            raise ValueError(f"window={self.window} must be odd: a block and as many on either side")
        check_whole(self, n_global=0, n_random=0, seed=0, full_up_to=0)
        if self.draw not in DRAWS:
            raise ValueError(f"draw={self.draw!r} is not one of {', '.join(DRAWS)}")

    @classmethod
    def tiny(cls) -> BigBirdConfig:
        return cls(
            n_layers=2,
            n_heads=3,
            d_model=33,
            d_ff=13,
            n_vocab=29,
            n_ctx=17,
            block=1,
            window=1,
            n_global=1,
            n_random=1,
        )


class BigBird(bert.BERT):
    """BERT with another mask: its values, outputs and heads are the same.

    >>> import torch
    >>> from core.models import Batch
    >>> net = BigBird(BigBirdConfig.tiny())
    >>> ids = torch.tensor([[1, 2, 3, 4, 5]])
    >>> net(Batch(ids=ids, real=ids >= 0)).shape, int(net.layout_of(5, 0).times.sum())
    (torch.Size([1, 5, 33]), 51)
    """

    cfg: BigBirdConfig

    attention = BlockSparseAttention

    def layer_masks(
        self, real: Bool[Tensor, "batch pos"]
    ) -> Sequence[Bool[Tensor, "batch one one key"] | BlockMask]:
        """Return the mask of each layer in blocks; that of padding alone where everything is read."""
        lengths = [max(1, n) for n in real.sum(1).tolist()]
        if self.cfg.layout == "full" or max(lengths) <= self.cfg.full_up_to:
            return [masks.not_padding(real)] * self.cfg.n_layers
        return [
            BlockMask(tuple(self.layout_of(n, layer) for n in lengths), self.cfg.block, real)
            for layer in range(self.cfg.n_layers)
        ]

    def layout_of(self, n: int, layer: int) -> Layout:
        """Return the layout of blocks that a layer uses for a text of n tokens."""
        cfg = self.cfg
        n_blocks = -(-n // cfg.block)
        if cfg.layout == "full" or n <= cfg.full_up_to:
            return everything(n_blocks, cfg.n_heads)
        return layout(
            n_blocks,
            cfg.n_heads,
            window=cfg.window,
            n_global=cfg.n_global,
            n_random=cfg.n_random,
            seed=cfg.seed * cfg.n_layers + layer,
            draw=cfg.draw,
        )


FAMILY = Family(
    name="bigbird",
    config=BigBirdConfig,
    network=BigBird,
    kinds=(Kind(name="self", stack="layer"),),
    stacks={"encoder": "layer"},
    outputs=bert.FAMILY.outputs,
    framed=True,
)
