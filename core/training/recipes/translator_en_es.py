"""translator-en-es: the Transformer on short English and Spanish sentences, then also on bare words and short phrases.

The shipped weights are those of the first stage.
"""

from __future__ import annotations

from dataclasses import replace

from core.data.corpora import PAIRS
from core.models.transformer import TransformerConfig
from core.training import word_pairs
from core.training.pairs import IDS, N_VOCAB, prepare
from core.training.recipe import Recipe

SENTENCES = Recipe(
    name="translator-en-es",
    family="transformer",
    config=TransformerConfig(
        n_layers=3, n_heads=8, d_model=256, d_ff=1024, n_vocab=N_VOCAB, n_ctx=256, order="pre", dropout=0.2
    ),
    steps=16028,
    prepare=prepare,
    ids=IDS,
    reads=PAIRS,
    lr=3e-3,
    matrix_lr=0.02,
)
RECIPE = replace(
    SENTENCES, then=replace(SENTENCES, steps=2000, prepare=word_pairs.prepare, lr=1.5e-4, matrix_lr=1e-3)
)
