"""rnn-en-es: an LSTM that reads and one that writes; one vector has to carry the whole sentence between them."""

from __future__ import annotations

from core.data.corpora import PAIRS
from core.models.seq2seq import Seq2SeqConfig
from core.training.pairs import IDS, N_VOCAB, prepare
from core.training.recipe import Recipe

RECIPE = Recipe(
    name="rnn-en-es",
    family="seq2seq",
    config=Seq2SeqConfig(
        attention="none", bidirectional=False, d_model=304, n_vocab=N_VOCAB, n_ctx=256, dropout=0.2
    ),
    steps=4000,
    prepare=prepare,
    ids=IDS,
    reads=PAIRS,
    lr=3e-3,
    matrix_lr=0.02,
)
