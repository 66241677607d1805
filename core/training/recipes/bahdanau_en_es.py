"""bahdanau-en-es: an LSTM that reads in both directions, and a decoder that attends to every word."""

from __future__ import annotations

from core.data.corpora import PAIRS
from core.models.seq2seq import Seq2SeqConfig
from core.training.pairs import IDS, N_VOCAB, prepare
from core.training.recipe import Recipe

RECIPE = Recipe(
    name="bahdanau-en-es",
    family="seq2seq",
    config=Seq2SeqConfig(d_model=272, d_ff=272, n_vocab=N_VOCAB, n_ctx=256, dropout=0.2),
    steps=4000,
    prepare=prepare,
    ids=IDS,
    reads=PAIRS,
    lr=3e-3,
    matrix_lr=0.02,
)
