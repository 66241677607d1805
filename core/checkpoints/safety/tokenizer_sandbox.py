"""The limited child process that tries a foreign tokenizer. Run by path, never imported by the parent's work.

    python -I tokenizer_sandbox.py PLACE MEMORY CPU OUT tokenizer.json FILE
    python -I tokenizer_sandbox.py PLACE MEMORY CPU OUT vocab.json VOCAB MERGES    GPT-2's two old files
    python -I tokenizer_sandbox.py PLACE MEMORY CPU OUT vocab.txt VOCAB RULES      BERT's old file, and how it normalizes, as JSON
    python -I tokenizer_sandbox.py PLACE MEMORY CPU OUT source.spm SOURCE TARGET VOCAB   Marian's two SentencePiece models and names

PLACE is where the tokenizers library is installed; MEMORY and OUT are in bytes, CPU in seconds. The name says what a
file is: its path may be that of a blob.

A tokenizer.json can hang a process, fill its memory or abort it, which no exception handling in that process can
stop. So it is read, checked against a list of known parts, loaded and made to encode difficult texts here. What goes
wrong with yet another text must not be in it: regular expressions are those of known models and no others, a word is
looked up in pieces only up to a length, and texts grow by little. Prints two lines: the cleaned file as soon as it is
loaded, so that who waits can load it while texts are tried, else nothing; and one object:
{"n_ids": .., "largest_id": ..}, of Marian's with "cutters" (see `tokenizer_files.cutter`),
or {"problem": "a part of a sentence", "values": those in it, "file": its name}. Imports nothing of ours but the files beside it.
"""

import gc
import json
import os
import re
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

MAX_ADDED = 10_000
MAX_STEPS = 16
NORMALIZERS = {
    "NFC",
    "NFD",
    "NFKC",
    "NFKD",
    "Lowercase",
    "Strip",
    "StripAccents",
    "BertNormalizer",
    "Prepend",
    "Replace",
    "Nmt",
    "Precompiled",
}
PRE_TOKENIZERS = {
    "ByteLevel",
    "BertPreTokenizer",
    "Whitespace",
    "WhitespaceSplit",
    "Punctuation",
    "Digits",
    "Metaspace",
    "Split",
    "CharDelimiterSplit",
    "UnicodeScripts",
}
DECODERS = {
    "ByteLevel",
    "WordPiece",
    "BPEDecoder",
    "Metaspace",
    "ByteFallback",
    "Fuse",
    "Strip",
    "Replace",
    "CTC",
}
PROCESSORS = {"ByteLevel", "TemplateProcessing", "BertProcessing", "RobertaProcessing"}
MODELS = {"BPE", "WordPiece", "WordLevel", "Unigram"}
TEXTS = (
    "Hello, world! It's 12 o'clock in the café - naïve, isn't it?",
    "a" * 3000,
    " " * 3000,
    "1" * 3000,
    "ab " * 1500,
    "'" * 1000 + "\n\t\r" * 300,
    "日本語 العربية हिन्दी 👩‍👩‍👧‍👦🇪🇸\u0301\u200b\u0000" * 20,
    "".join(chr(code) for code in range(32, 0x250)),
    "<|endoftext|><s></s>[CLS][SEP][MASK]<pad><unk>",
)
GROWTH, TOKENS = 8, 64
"""How many times longer a normalizer may make a text; the most tokens of a letter."""
MAX_WORD = 1000
"""Letters up to which WordPiece looks a word up in pieces, and of the longest piece of a Unigram: work grows with the square."""
WORDS = r"'s|'t|'re|'ve|'m|'ll|'d"
REGEXES = {
    WORDS + r"| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",  # GPT-2
    rf"(?i:{WORDS})"
    + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",  # GPT-4, Llama 3
    rf"(?i:{WORDS})"
    + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",  # Qwen 2
    r"\s",
    r"\s+",
    r"\d",
    r"\d+",
    r"\p{N}",
    r"\p{N}{1,3}",
    r"[0-9]",
    r"[0-9]+",
    " {2,}",
    r"\w+|[^\w\s]+",
    r"[\r\n]",
    r"\s{2,}|[\n\r\t]",  # DeBERTa, as version 5 of the transformers library writes it
}
"""The regular expressions that are read, none of which tries a text in more ways than it has letters."""
SIGNS = re.compile(r"(?:\w+\(\?=:\)\|)*(?:\\S|\.)")
"""Those of the house's toy models (`core.text.learn.character_tokenizer`): words where a colon follows, else sign by sign, spaces too where they are signs."""


NOT_READ = ("padding", "truncation")
FILES = runpy.run_path(str(Path(__file__).with_name("tokenizer_files.py")))
Refused: Any = FILES["Refused"]
NO_JSON = FILES["NO_JSON"]


class Out:
    """Writer of the two output lines, each of at most so many bytes."""

    def __init__(self, most: int) -> None:
        self.most, self.has_written = most, False

    def say(self, line: str) -> None:
        data = line.encode("utf-8", "surrogatepass") + b"\n"
        if len(data) > self.most:
            raise Refused("it is too large")
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        self.has_written = True


def limit(memory: int, cpu: int) -> None:
    try:
        import resource
    except ImportError:  # not on this system: the parent's clock is the limit that is left
        return
    for what, value in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_CPU, cpu),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        try:
            resource.setrlimit(what, (value, value))
        except (ValueError, OSError):
            continue


def steps(part: object, key: str, depth: int = 0) -> list[dict]:
    """Return a part and the parts of its sequence, flat."""
    if part is None:
        return []
    if not isinstance(part, dict) or depth > 3:
        raise Refused("its {key} is not understood", key=key)
    if part.get("type") != "Sequence":
        return [part]
    inner = part.get(key + "s", part.get("processors"))
    if not isinstance(inner, list):
        raise Refused("its {key} is not understood", key=key)
    return [step for one in inner[: MAX_STEPS + 1] for step in steps(one, key, depth + 1)]


def check_parts(tokenizer: dict) -> None:
    """Check that all parts are known, few, and no normalizer makes a text many times longer."""
    for key, inner, known in (
        ("normalizer", "normalizer", NORMALIZERS),
        ("pre_tokenizer", "pretokenizer", PRE_TOKENIZERS),
        ("decoder", "decoder", DECODERS),
        ("post_processor", "processor", PROCESSORS),
    ):
        parts = steps(tokenizer.get(key), inner)
        if len(parts) > MAX_STEPS:
            raise Refused("its {key} has more than {n} steps", key=key, n=MAX_STEPS)
        for step in parts:
            if str(step.get("type")) not in known:
                name = str(step.get("type"))[:40]
                raise Refused("its {key} '{name}' is not among the known ones", key=key, name=name)
            check_regex(step, key)
        if key in ("normalizer", "decoder"):
            check_growth(parts, key)
    model = tokenizer.get("model")
    if not isinstance(model, dict) or str(model.get("type", "BPE")) not in MODELS:
        raise Refused("its model is not among the known ones ({names})", names=", ".join(sorted(MODELS)))
    longest = model.get("max_input_chars_per_word") or 100
    if type(longest) is not int or longest > MAX_WORD:
        raise Refused("its model looks up words of more than {n:,} letters in pieces", n=MAX_WORD)
    affixes = ("continuing_subword_prefix", "end_of_word_suffix")
    if any(len(str(model.get(name) or "")) > 16 for name in affixes):
        raise Refused("its model writes a long text at every piece")
    if model.get("dropout"):
        raise Refused("its model has dropout, so that every run cuts the text differently")
    check_unigram(model.get("vocab"), steps(tokenizer.get("normalizer"), "normalizer"))


def check_unigram(vocab: object, normalizers: list[dict]) -> None:
    """Check the parts that only SentencePiece's tokenizers have, with unigram.py of this folder."""
    if not isinstance(vocab, list) and all(step["type"] != "Precompiled" for step in normalizers):
        return
    problem = runpy.run_path(str(Path(__file__).with_name("unigram.py")))["problem"]
    if wrong := problem(vocab, normalizers, MAX_WORD):
        raise Refused(wrong.message, **wrong.values)


def check_regex(step: dict, key: str) -> None:
    """Check that the regular expression at `key` is one of a known model; an unknown one might hang on some text later."""
    pattern = step.get("pattern")
    regex = str(pattern["Regex"]) if isinstance(pattern, dict) and "Regex" in pattern else r"\s"
    if regex not in REGEXES and not SIGNS.fullmatch(regex):
        raise Refused(
            "its {key} has the regular expression '{regex}', which is not among the known ones",
            key=key,
            regex=regex[:60],
        )


def trim_spans(tokenizer: dict) -> None:
    """Change a byte-level tokenizer so that spans leave out the space before a word, whatever its file says; tokens stay the same."""
    before = next(
        (
            step
            for step in steps(tokenizer.get("pre_tokenizer"), "pretokenizer")
            if step["type"] == "ByteLevel"
        ),
        None,
    )
    after = steps(tokenizer.get("post_processor"), "processor")
    if before and all(step["type"] != "RobertaProcessing" for step in after):
        trim = {"type": "ByteLevel", "trim_offsets": True, "use_regex": True}
        trim["add_prefix_space"] = before.get("add_prefix_space", True)
        marks = [step for step in after if step["type"] != "ByteLevel"]
        tokenizer["post_processor"] = {"type": "Sequence", "processors": [trim, *marks]} if marks else trim


def check_growth(parts: list[dict], key: str) -> None:
    growth = 1
    for step in parts:
        if step["type"] == "Replace":
            pattern = step.get("pattern")
            text = pattern.get("String", "x") if isinstance(pattern, dict) else "x"
            content = step.get("content")
            if not isinstance(text, str) or not isinstance(content, str):
                raise Refused("its {key} has a Replace that is not understood", key=key)
            growth *= max(1, -(-len(content) // max(1, len(text))))
        elif step["type"] == "Prepend" and len(str(step.get("prepend", ""))) > 16:
            raise Refused("its {key} writes a long text before every text", key=key)
    if growth > GROWTH:
        raise Refused("its {key} makes a text up to {n:,} times longer", key=key, n=growth)


def check_added(tokenizer: dict) -> None:
    added = tokenizer.get("added_tokens") or []
    if not isinstance(added, list) or len(added) > MAX_ADDED:
        raise Refused("it adds more than {n:,} tokens", n=MAX_ADDED)
    for token in added:
        if not isinstance(token, dict) or not isinstance(token.get("content"), str) or not token["content"]:
            raise Refused("it adds a token without a name")


def cleaned(path: str) -> tuple[str, list[dict]]:
    """Return the tokenizer.json in a line, without padding and truncation, its parts checked, and the tokens that it adds."""
    with open(path, encoding="utf-8") as file:
        written = FILES["members"](file.read())
    tokenizer: Any = {key: value for key, (value, _) in written.items()} | dict.fromkeys(NOT_READ)
    check_parts(tokenizer)
    trim_spans(tokenizer)
    check_added(tokenizer)
    FILES["check_ids"](tokenizer["model"].get("vocab"))
    said = {key: text for key, (_, text) in written.items()}
    said |= {key: json.dumps(tokenizer[key]) for key in (*NOT_READ, "post_processor") if key in tokenizer}
    whole = ",".join(f"{json.dumps(key)}:{text}" for key, text in said.items())
    return f"{{{whole}}}".replace("\n", " "), tokenizer.get("added_tokens") or []


def tried(out: Out, text: str, added: Sequence[dict] = ()) -> dict:
    """Load the tokenizer, encode and decode a text with it, and return the facts about it; `added` are the tokens that the file adds, with their ids."""
    import tokenizers

    backend = tokenizers.Tokenizer.from_str(text)
    out.say(text)
    ids = set(backend.get_vocab(with_added_tokens=True).values())
    written = {token["id"] for token in added}
    for literal in (False, True):
        backend.encode_special_tokens = literal
        try_texts(backend)
    for framed in (backend.encode(TEXTS[0]), backend.encode(TEXTS[0], TEXTS[0])):
        if len(framed.ids) > TOKENS * len(TEXTS[0]):
            raise Refused("it puts far more marks around a text than the text has characters")
        ids |= set(framed.ids)  # what its post-processor adds has an id of its own, that of a word or not
    return {"n_ids": len(ids | written), "largest_id": max(ids | written)}


def try_texts(backend: Any) -> None:
    for sample in TEXTS:
        encoding = backend.encode(sample, add_special_tokens=False)
        if len(encoding.ids) > TOKENS * len(sample):
            raise Refused("it makes far more tokens than a text has characters")
        backend.decode(encoding.ids)


def try_kind(out: Out, name: str, files: list[str]) -> dict:
    """Return the facts about the files of a kind of tokenizer."""
    import tokenizers

    if name == "tokenizer.json":
        return tried(out, *cleaned(*files))
    if name != "source.spm":
        return tried(out, FILES["from_pair" if name == "vocab.json" else "from_words"](*files))
    names, cutters = FILES["from_marian"](*files, MAX_WORD)
    for cutter in cutters.values():
        try_texts(tokenizers.Tokenizer.from_str(cutter["model"]))
    return {**tried(out, names), "cutters": cutters}


def description(error: Any, file: str = "") -> dict:
    """Return the message of a problem with its values, and the name of the file."""
    return {"problem": error.message, "values": error.values} | ({"file": file} if file else {})


def main(argv: list[str]) -> None:
    sys.path.append(argv[0])
    memory, cpu, out_bytes = (int(value) for value in argv[1:4])
    limit(memory, cpu)
    gc.disable()  # it ends in a moment
    out = Out(out_bytes)
    try:
        facts = try_kind(out, argv[4], argv[5:])
    except Refused as error:
        facts = description(error, error.file or argv[4])
    except UnicodeDecodeError:
        facts = description(
            Refused(NO_JSON) if argv[4].endswith(".json") else Refused("it is not UTF-8 text")
        )
    except (json.JSONDecodeError, RecursionError):
        facts = description(Refused(NO_JSON))
    except MemoryError:
        facts = description(Refused("it needs too much memory"))
    except BaseException as error:  # noqa: BLE001 - a panic of the library is no Exception
        words = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        facts = description(Refused("the tokenizers library refuses it ({error})", error=words))
    if not out.has_written:
        out.say("")
    try:
        out.say(json.dumps(facts, ensure_ascii=False))
    except Refused as error:
        out.say(json.dumps(description(error)))
    os._exit(0)  # what was made need not be taken apart


if __name__ == "__main__":
    main(sys.argv[1:])
