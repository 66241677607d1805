"""luong-local-en-es: as luong-global-en-es, but inside a window around a predicted position."""

from __future__ import annotations

from core.data.corpora import PAIRS
from core.models.seq2seq import Seq2SeqConfig
from core.training.pairs import IDS, N_VOCAB, prepare
from core.training.recipe import Recipe

RECIPE = Recipe(
    name="luong-local-en-es",
    family="seq2seq",
    config=Seq2SeqConfig(
        attention="luong-local-p",
        score="general",
        input_feeding=True,
        window=3,
        d_model=272,
        d_ff=272,
        n_vocab=N_VOCAB,
        n_ctx=256,
        dropout=0.2,
    ),
    steps=6000,
    prepare=prepare,
    ids=IDS,
    reads=PAIRS,
    lr=3e-3,
    matrix_lr=0.02,
    outside=("encoder.", "decoder."),
)
