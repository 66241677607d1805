"""ViT: a picture cut into patches is read as a row of words by a Transformer encoder (Dosovitskiy et al. 2021); DeiT with it.

Eq. (1) to (4): z_0 = [x_class; x_1 E; ..; x_N E] + E_pos; blocks x + sublayer(norm(x)); the class is predicted from the norm of
the class token's last state. Nothing but the learned positions says which patches are neighbours. DeiT (Touvron et al.
2021) reads a second token after the class token, from whose last state it learned to predict its teacher's output; the scores
of both are averaged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor, nn

from core import masks
from core.data.patches import GROUND, PatchReader
from core.errors import Phrase
from core.layers.config_checks import NOT_DIVIDING, check_classes, check_flags, check_shape
from core.layers.dropout import dropout
from core.layers.init import normal
from core.layers.linear import Linear
from core.layers.norm import LayerNorm
from core.layers.positions import LearnedPositions
from core.models import Batch, Family, Kind, Output
from core.models.transformer import RESID, PreNormEncoderBlock
from core.trace import OFF, Tap

if TYPE_CHECKING:
    from jaxtyping import Float, Int


@dataclass(frozen=True, kw_only=True)
class PictureConfig:
    """The shape of what reads pictures; the defaults are ViT-B/16.

    `image` is the side of the square picture, `patch` that of a patch, both in pixels. Places: 0 is the class token's,
    then the patches row by row, from `first` on. Ids below `n_ctx` are places that are seen, those from there on the same places hidden.

    >>> PictureConfig().n_ctx
    197
    >>> PictureConfig(patch=15)
    Traceback (most recent call last):
    ValueError: patch=15 does not divide image=224
    """

    order: ClassVar[str] = "pre"
    n_layers: int = 12
    n_heads: int = 12
    d_model: int = 768
    d_ff: int = 3072
    image: int = 224
    patch: int = 16
    channels: int = 3
    activation: str = "gelu"
    eps: float = 1e-12
    dropout: float = 0.0

    def __post_init__(self) -> None:
        check_shape(self)
        if self.image % self.patch:
            raise ValueError(Phrase(NOT_DIVIDING, given=f"patch={self.patch}", other=f"image={self.image}"))

    @property
    def d_head(self) -> int:
        return self.d_model // self.n_heads

    @property
    def side(self) -> int:
        """Return the number of patches in a row of the picture."""
        return self.image // self.patch

    @property
    def first(self) -> int:
        """Return the place of the first patch."""
        return 1

    @property
    def n_ctx(self) -> int:
        """Return the number of positions: those before the patches (the class token's first), and one for each patch."""
        return self.first + self.side**2

    @property
    def n_vocab(self) -> int:
        return 2 * self.n_ctx

    @property
    def n_numbers(self) -> int:
        """Return how many numbers a patch has."""
        return self.channels * self.patch**2


@dataclass(frozen=True, kw_only=True)
class ViTConfig(PictureConfig):
    """A ViT, with the names of what it tells apart in the order of the scores.

    `distilled`: there is a distillation token behind the class token; `two_heads`: it tells classes, too.

    >>> ViTConfig(distilled=True).n_ctx
    198
    >>> ViTConfig(classes=("cat",))
    Traceback (most recent call last):
    ValueError: classes=('cat',) must be two or more different names of at most 40 letters
    """

    classes: Sequence[str] = tuple(f"class {i}" for i in range(1000))
    distilled: bool = False
    two_heads: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_flags(self, "distilled", "two_heads")
        if self.two_heads and not self.distilled:
            raise ValueError("two_heads=True needs a distillation token: distilled=True")
        object.__setattr__(self, "classes", check_classes(self.classes))

    @property
    def first(self) -> int:
        return 1 + self.distilled

    @classmethod
    def tiny(cls) -> ViTConfig:
        return cls(
            n_layers=2,
            n_heads=3,
            d_model=33,
            d_ff=13,
            image=28,
            patch=7,
            classes=("red", "green", "blue", "white", "grey"),
        )


class PatchEmbedding(nn.Module):
    """The vector of each place: E x_p of a patch, the learned class vector at place 0 (Dosovitskiy et al. 2021, Eq. (1)).

    With `distilled` place 1 has another learned vector.

    >>> PatchEmbedding(16, 4)(torch.tensor([[0, 1, 2]]), torch.ones(1, 3, 16)).shape
    torch.Size([1, 3, 4])
    """

    def __init__(self, n_numbers: int, d_model: int, *, distilled: bool = False) -> None:
        super().__init__()
        self.project = Linear(n_numbers, d_model)
        self.class_token = nn.Parameter(normal(d_model, std=0.02))
        self.distillation_token = nn.Parameter(normal(d_model, std=0.02)) if distilled else None

    def forward(
        self, places: Int[Tensor, "batch pos"], values: Float[Tensor, "batch pos number"]
    ) -> Float[Tensor, "batch pos d_model"]:
        x = torch.where((places == 0)[..., None], self.class_token, self.project(values))
        if self.distillation_token is None:
            return x
        return torch.where((places == 1)[..., None], self.distillation_token, x)


class PictureEncoder(nn.Module):
    """Patches and class token, learned positions, pre-norm blocks, a norm: what ViT and MAE have in common.

    No position attends to a hidden patch, as if it were not there.
    """

    def __init__(self, cfg: Any) -> None:
        super().__init__()
        self.cfg = cfg
        self.embed: Any = nn.ModuleDict(
            {
                "token": PatchEmbedding(cfg.n_numbers, cfg.d_model, distilled=cfg.first > 1),
                "position": LearnedPositions(cfg.n_ctx, cfg.d_model),
            }
        )
        self.drop = dropout(cfg.dropout)
        self.encoder = nn.ModuleList(PreNormEncoderBlock(cfg) for _ in range(cfg.n_layers))
        self.encoder_norm = LayerNorm(cfg.d_model, eps=cfg.eps)

    def blank(self) -> Float[Tensor, " d_model"]:
        """Return the vector of a patch without a line on it: E x + b of black pixels, its position not yet added."""
        weight = self.embed["token"].class_token
        return self.embed["token"].project(weight.new_full((self.cfg.n_numbers,), GROUND))

    def encode(self, batch: Batch, tap: Tap = OFF) -> Float[Tensor, "batch pos d_model"]:
        places = batch.ids % self.cfg.n_ctx
        seen = batch.real & (batch.ids < self.cfg.n_ctx)
        token = tap("embed.token", self.embed["token"](places, batch.read_values()), RESID)
        position = tap("embed.position", self.embed["position"](places), RESID)
        x = tap("embed.out", self.drop(token + position), RESID)
        allowed, tap = masks.not_padding(seen), tap / "encoder"
        for i, block in enumerate(self.encoder):
            x = block(x, allowed, tap / f"layer.{i}")
        return tap("final_norm.out", self.encoder_norm(x), RESID)


class ViT(PictureEncoder):
    """A Vision Transformer: `forward` returns the encoder's last states, `classes` W x_class + b, with two heads the mean of
    that and of W' x_distillation + b'.

    >>> net = ViT(ViTConfig.tiny())
    >>> ids = torch.arange(17)[None]
    >>> net.classes(net(Batch(ids=ids, real=ids >= 0, values=torch.ones(1, 17, 147)))).shape
    torch.Size([1, 5])
    """

    def __init__(self, cfg: ViTConfig) -> None:
        super().__init__(cfg)
        self.to_classes = Linear(cfg.d_model, len(cfg.classes))
        self.to_distilled = Linear(cfg.d_model, len(cfg.classes)) if cfg.two_heads else None

    def forward(self, batch: Batch, tap: Tap = OFF) -> Float[Tensor, "batch pos d_model"]:
        return self.encode(batch, tap)

    def classes(
        self, hidden: Float[Tensor, "batch pos d_model"], tap: Tap = OFF
    ) -> Float[Tensor, "batch class"]:
        logits = self.to_classes(hidden[:, 0])
        if self.to_distilled is not None:
            own = tap("classes.class_token", logits, "batch class")
            teachers = self.to_distilled(hidden[:, 1])
            logits = (own + tap("classes.distillation_token", teachers, "batch class")) / 2
        return tap("classes", logits, "batch class")


def _outputs(cfg: ViTConfig) -> Mapping[str, Output]:
    both = ("classes.class_token", "classes.distillation_token") if cfg.two_heads else ()
    return {"classes": Output((*both, "classes"))}


FAMILY = Family(
    name="vit",
    config=ViTConfig,
    network=ViT,
    kinds=(Kind(name="self", stack="encoder.layer"),),
    stacks={"encoder": "encoder.layer"},
    outputs=_outputs,
    reads=lambda cfg: PatchReader(cfg.image, cfg.patch, cfg.channels, n_special=cfg.first),
)
