"""translator-en-es: the Transformer on short English and Spanish sentences."""

from __future__ import annotations

from core.models.transformer import TransformerConfig
from core.training.data import PAIRS
from core.training.pairs import IDS, N_VOCAB, prepare
from core.training.recipe import Recipe

RECIPE = Recipe(
    name="translator-en-es",
    family="transformer",
    config=TransformerConfig(n_layers=3, n_heads=8, d_model=256, d_ff=1024, n_vocab=N_VOCAB, n_ctx=256, order="pre", dropout=0.2),
    steps=16028,
    prepare=prepare,
    ids=IDS,
    reads=PAIRS,
    lr=3e-3,
    matrix_lr=0.02,
)
