"""Tokenizers: text to tokens and back, with the span of each token in the text as typed."""

from core.text.reader import Reader
from core.text.sentencepiece import Cutter, PieceTokenizer
from core.text.tokenizer import Encoded, Tokenizer
from core.text.words import Word, words_of

__all__ = ["Cutter", "Encoded", "PieceTokenizer", "Reader", "Tokenizer", "Word", "words_of"]
