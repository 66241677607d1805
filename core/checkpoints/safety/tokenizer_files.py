"""The files of tokenizers: a tokenizer.json in its parts, and others made into one: GPT-2's two, BERT's one, Marian's three.

Imports nothing of ours: the limited child that tries tokenizers loads this file, and this one the file beside it, by path.
"""

import json
import re
import runpy
from pathlib import Path
from typing import Any

mark = str
"""The name by which the catalogues find a message that is raised elsewhere."""
NO_JSON = mark("it is not readable JSON")
MARK: Any = re.compile(r"[ \t\r\n]*([{}:,]?)[ \t\r\n]*")


class Refused(Exception):
    """Problem of a tokenizer as a part of a sentence, with its values; `file` names the wrong file where there are several."""

    file = ""

    def __init__(self, message: str, **values: Any) -> None:
        super().__init__(message.format(**values) if values else message)
        self.message, self.values = message, values


SPECIAL_TOKENS = {
    False: ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"),
    True: ("<cls>", "<pad>", "<eos>", "<unk>", "<mask>"),
}
"""The marks of BERT's vocab.txt, and of ESM's."""


def once(pairs: list[tuple[str, Any]]) -> dict:
    """Return an object from its (key, value) pairs. Raises Refused for a key that occurs twice, of which the library might use the other value."""
    values = dict(pairs)
    if len(values) != len(pairs):
        raise Refused("a key occurs twice in it")
    return values


def members(text: str) -> dict[str, tuple[Any, str]]:
    """Return the members of a JSON object, each parsed and as text: most of a file is unchanged, and need not be written again."""
    read: Any = json.JSONDecoder(object_pairs_hook=once).raw_decode
    pairs, sign = [], MARK.match(text)
    if sign[1] != "{":
        json.loads(text)
        raise Refused("it is not a JSON object")
    while sign[1] != "}":
        key, end = read(text, sign.end())
        sign = MARK.match(text, end)
        value, end = read(text, begin := sign.end())
        pairs.append((key, (value, text[begin:end])))
        if sign[1] != ":" or type(key) is not str or (sign := MARK.match(text, end))[1] not in (",", "}"):
            raise Refused(NO_JSON)
    if sign.end() != len(text):
        raise Refused(NO_JSON)
    return once(pairs)


def check_ids(vocab: object) -> None:
    """Check ids as the file writes them: the library would silently renumber or merge odd ones."""
    ids = (
        list(vocab.values())
        if isinstance(vocab, dict)
        else list(range(len(vocab)))
        if isinstance(vocab, list)
        else None
    )
    if not ids:
        raise Refused("its model has no vocabulary")
    if not all(type(one) is int and one >= 0 for one in ids):
        raise Refused("its vocabulary has an id that is not a whole number")
    if len(set(ids)) != len(ids):
        raise Refused("two tokens of its vocabulary have the same id")


def from_pair(vocab: str, merges: str) -> str:
    """Return GPT-2's byte-level BPE, as a tokenizer.json, from its two old files."""
    import tokenizers
    from tokenizers import decoders, models, pre_tokenizers, processors

    vocabulary = _words(vocab)
    with open(merges, encoding="utf-8") as file:
        lines = [line.rstrip("\n") for line in file if not line.startswith("#version")]
    if any(line.count(" ") != 1 for line in lines if line):
        raise Refused("merges.txt has a line that is not two pieces")
    pairs = [(left, right) for left, _, right in (line.partition(" ") for line in lines if line)]
    backend = tokenizers.Tokenizer(models.BPE(vocab=vocabulary, merges=pairs))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    backend.post_processor = processors.ByteLevel(trim_offsets=True)
    backend.add_special_tokens([name for name in ("<|endoftext|>",) if name in vocabulary])
    return backend.to_str()


def from_words(vocab: str, rules: str) -> str:
    """Return BERT's WordPiece from its one old file, a piece a line; or ESM's, whose every letter is a token (`letters`)."""
    import tokenizers
    from tokenizers import decoders, models, normalizers, pre_tokenizers

    how = json.loads(rules)
    letters = how.pop("letters", False)
    unknown = "<unk>" if letters else "[UNK]"
    with open(vocab, encoding="utf-8") as file:
        vocabulary = {line.rstrip("\n"): index for index, line in enumerate(file)}
    if unknown not in vocabulary:
        raise Refused("it has no {name} for unknown words", name=unknown)
    vocabulary.pop("", None)
    if letters:
        backend = tokenizers.Tokenizer(models.WordLevel(vocabulary, unk_token=unknown))
        each = pre_tokenizers.Split(tokenizers.Regex("."), "isolated")
        backend.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), each])
        backend.decoder = decoders.Fuse()
    else:
        backend = tokenizers.Tokenizer(models.WordPiece(vocabulary, unk_token=unknown))
        backend.normalizer = normalizers.BertNormalizer(clean_text=True, **how)
        backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        backend.decoder = decoders.WordPiece(prefix="##")
    backend.add_special_tokens([name for name in SPECIAL_TOKENS[letters] if name in vocabulary])
    return backend.to_str()


def from_marian(source: str, target: str, vocab: str, longest: int) -> tuple[str, dict]:
    """Return the names of Marian's vocab.json, and the cutters of the texts of each side. Raises Refused naming the file."""
    file = "vocab.json"
    try:
        known, cutters = names(vocab), {}
        for side, path in (("source", source), ("target", target)):
            file = f"{side}.spm"
            cutters[side] = cutter(path, longest)
    except Refused as error:
        error.file = file
        raise
    return known, cutters


def names(vocab: str) -> str:
    """Return the names and numbers of Marian's vocab.json: the meaning of ids, and the decoder. It cuts nothing."""
    import tokenizers
    from tokenizers import decoders, models

    vocabulary = _words(vocab)
    if "<unk>" not in vocabulary:
        raise Refused("it has no <unk> for unknown pieces")
    backend = tokenizers.Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    backend.decoder = decoders.Metaspace()
    backend.add_special_tokens([name for name in ("</s>", "<unk>", "<pad>") if name in vocabulary])
    return backend.to_str()


def cutter(path: str, longest: int) -> dict:
    """Return the facts of a SentencePiece model of the kind Unigram, from which `core.text.Cutter.from_facts` makes a cutter of texts."""
    import tokenizers
    from tokenizers import models

    beside = Path(__file__)
    spm, unigram = (
        runpy.run_path(str(beside.with_name(f"{name}.py"))) for name in ("sentencepiece", "unigram")
    )
    try:
        facts = spm["read"](Path(path).read_bytes())
    except spm["Unreadable"] as error:
        raise Refused(error.message, **error.values) from None
    tables = [{"type": "Precompiled", "precompiled_charsmap": facts["table"]}] if facts["table"] else []
    if wrong := unigram["problem"](facts["vocab"], tables, longest):
        raise Refused(wrong.message, **wrong.values)
    vocab = [(piece, score) for piece, score in facts.pop("vocab")]
    return {**facts, "model": tokenizers.Tokenizer(models.Unigram(vocab, unk_id=0)).to_str()}


def _words(path: str) -> dict:
    try:
        vocabulary = json.loads(Path(path).read_bytes())
    except (ValueError, RecursionError):
        raise Refused(NO_JSON) from None
    if not isinstance(vocabulary, dict):
        raise Refused("it is not a JSON object")
    check_ids(vocabulary)
    return vocabulary
