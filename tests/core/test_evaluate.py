"""Each token scored once with enough context, beam search against a slow reference, BLEU, the command."""

import json
import lzma
import math
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from core.errors import InputError
from core.model import Model
from core.models import Batch, families
from core.run.batched import greedy
from core.scoring import files, language, scoring_of, scorings, translation
from core.text import Tokenizer
from core.text.learn import learn_byte_level_bpe
from core.tools import evaluate

START, END, PAD = 1, 2, 0

WORDS = [
    "the cat sat on the mat.",
    "a dog, a cat and the sea",
    "it was the end of the day; the sun sat on the sea.",
]


def tokenizer(start: int | None = START) -> Tokenizer:
    backend = learn_byte_level_bpe(WORDS, 300, ("<pad>", "<start>", "<end>"), prefix_space=False)
    return Tokenizer(backend, start=start, end=END, pad=PAD)


def model(family: str, *, n_ctx: int = 17, seed: int = 0, start: int | None = START) -> Model:
    """A random model whose weights are large enough that its guesses differ from token to token."""
    torch.manual_seed(seed)
    made, text = families()[family], tokenizer(start)
    config = replace(made.config.tiny(), n_vocab=len(text), n_ctx=n_ctx)
    network = made.network(config)
    for weight in network.parameters():
        torch.nn.init.normal_(weight, std=0.4)
    return Model(f"tiny-{family}", made, config, network, text)


def sources(model: Model, lengths: list[int], seed: int = 5) -> Batch:
    rng = torch.Generator().manual_seed(seed)
    real = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    ids = torch.randint(3, model.config.n_vocab, real.shape, generator=rng) * real
    return Batch(ids=ids, real=real, source=ids, source_real=real)


def naive(model: Model, text: list[int]) -> tuple[list[float], list[int]]:
    """-log p of each token but the first, one forward each, and how much stood before it: n_ctx // 2 by n_ctx // 2."""
    n_ctx, lost, before = model.config.n_ctx, [], []
    half, end = max(1, n_ctx // 2), n_ctx
    for place in range(1, len(text)):
        if place > end:
            end += half
        first = max(0, min(end, len(text) - 1) - n_ctx)
        ids = torch.tensor([text[first:place]])
        with torch.inference_mode():
            logits = model.network.logits(
                model.network(Batch(ids=ids, real=torch.ones_like(ids, dtype=torch.bool)))
            )
        lost.append(-float(logits[0, -1].log_softmax(-1)[text[place]]))
        before.append(place - first)
    return lost, before


@pytest.mark.quick(2)
@pytest.mark.parametrize("n_ctx", [1, 2, 7, 8, 17])
def test_windows_give_the_losses_of_a_token_by_token_computation(n_ctx, monkeypatch):
    monkeypatch.setattr(language, "BATCH_TOKENS", 3 * n_ctx)  # several batches, the last one short
    tiny = model("gpt", n_ctx=n_ctx)
    rng = np.random.default_rng(3)
    sizes = [size for size in (1, n_ctx - 1, n_ctx, n_ctx + 1, 61) if size]
    texts = [np.array([START, *rng.integers(3, tiny.config.n_vocab, size)]) for size in sizes]
    for text, found in zip(texts, language.token_losses(tiny.network, texts, n_ctx), strict=True):
        expected, before = naive(tiny, text.tolist())
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
        assert all(seen >= min(place, n_ctx / 2) for place, seen in enumerate(before, 1))


def test_losses_in_pieces_are_the_same(monkeypatch):
    tiny, text = model("gpt"), np.array([START, *range(3, 90)])
    whole = language.token_losses(tiny.network, [text], 17)[0]
    monkeypatch.setattr(language, "LOGITS_AT_ONCE", 5 * tiny.config.n_vocab)
    np.testing.assert_allclose(language.token_losses(tiny.network, [text], 17)[0], whole, rtol=1e-5)


@given(n=st.integers(1, 400), n_ctx=st.integers(1, 64))
def test_each_token_is_scored_once_with_half_the_context(n, n_ctx):
    scored: list[int] = []
    for span in language.spans(n, n_ctx):
        assert 0 <= span.first <= span.scored < span.last <= n - 1
        assert span.last - span.first <= n_ctx
        for target in range(span.scored + 1, span.last + 1):
            assert target - span.first >= min(target, n_ctx / 2)
            scored.append(target)
    assert scored == list(range(1, n))


def test_streams_read_as_the_recipe_does(tmp_path):
    from core.training.recipes.gpt_mini import encode_file

    text = tokenizer(start=0)
    path = tmp_path / "a.txt"
    path.write_text("=== one\nthe cat\n\n=== two\nsat on é 🎉\nthe mat", encoding="utf-8")
    rows = path.read_text(encoding="utf-8").split("\n")
    streams, n_lines, n_bytes = language.token_streams(rows, text)
    assert (
        np.concatenate(streams).tolist() == encode_file(path, text).tolist()[1:]
    )  # one start each, not two at the top
    assert (n_lines, n_bytes) == (4, len("the cat\n\nsat on é 🎉\nthe mat\n".encode()))
    newline = list(text.encode("\n").ids)
    assert streams[0].tolist() == [0, *text.encode("the cat").ids, *newline, *newline]


def test_metrics_of_a_language_model_by_hand(tmp_path):
    tiny = model("gpt", n_ctx=8)
    path = tmp_path / "a.txt.xz"
    with lzma.open(path, "wt", encoding="utf-8") as out:
        out.write("=== one\nthe cat é sat\n\n=== two\non the mat\n")
    found = evaluate.evaluate(tiny, path)
    one, two, newline = (tiny.tokenizer.encode(text).ids for text in ("the cat é sat", "on the mat", "\n"))
    texts = [[START, *one, *newline, *newline], [START, *two, *newline]]
    lost = [loss for text in texts for loss in naive(tiny, text)[0]]
    n_bytes = len("the cat é sat".encode()) + 1 + 1 + len("on the mat") + 1
    assert (found["items"], found["tokens"], found["bytes"]) == (3, len(lost), n_bytes)
    assert found["nats_per_token"] == pytest.approx(sum(lost) / len(lost), abs=2e-5)
    assert found["bits_per_byte"] == pytest.approx(sum(lost) / math.log(2) / n_bytes, abs=2e-5)
    assert found["perplexity"] == pytest.approx(math.exp(sum(lost) / len(lost)), rel=1e-4)
    assert {**evaluate.evaluate(tiny, path), "seconds": 0} == {**found, "seconds": 0}


def test_a_model_without_start_token_begins_after_a_line_end():
    text = tokenizer(start=None)
    streams, _, _ = language.token_streams(["the cat"], text)
    assert streams[0].tolist() == [
        text.encode("\n").ids[-1],
        *text.encode("the cat").ids,
        *text.encode("\n").ids,
    ]


def test_limit_counts_scored_lines():
    rows = ["=== one", "a", "=== two", "b", "=== three", "c"]
    assert list(language.take_scored(rows, 2)) == ["=== one", "a", "=== two", "b", "=== three"]
    assert list(language.take_scored(rows, None)) == rows


def test_bleu_groups_references_by_source():
    from sacrebleu.metrics import BLEU

    rows = [("a b", "x y z w v"), ("c", "p q r s t"), ("a b", "k l m n o")]
    found = translation.group_references(rows)
    refs = translation.references(list(found.values()))
    assert BLEU().corpus_score(["k l m n o", "p q r s t"], refs).score == pytest.approx(100)
    assert BLEU().corpus_score(["k l m n o", "p q r s t"], [[refs[0][0], refs[0][1]]]).score < 80


@given(st.lists(st.integers(1, 30), min_size=1, max_size=60))
def test_thirds_hold_every_source_once_and_equal_lengths_together(lengths):
    texts = [" ".join(["w"] * n) + f"#{i}" for i, n in enumerate(lengths)]
    found = translation.length_thirds(texts)
    assert sorted(text for some in found.values() for text in some) == sorted(texts)
    assert 1 <= len(found) <= 3
    for name, some in found.items():
        ends = [int(n) for n in name.split()[0].split("-")]
        assert {len(text.split()) for text in some} <= set(range(ends[0], ends[-1] + 1))


def test_metrics_of_a_translator(tmp_path, monkeypatch):
    tiny = model("transformer", n_ctx=40)
    path = tmp_path / "pairs.tsv"
    rows = [
        "the cat\tel gato se sienta aquí",
        "a dog\tun perro",
        "the cat\tla gata está aquí hoy",
        "the long sea\tel mar es muy largo",
    ]
    path.write_text("\n".join(rows), encoding="utf-8")
    answers = {"the cat": "la gata está aquí hoy", "a dog": "un perro", "the long sea": "el mar es corto"}
    monkeypatch.setattr(
        translation, "translate", lambda _model, sources, _decode=greedy: [answers[s] for s in sources]
    )
    found = evaluate.evaluate(tiny, path)
    assert (found["items"], found["pairs"]) == (3, 4)
    assert 0 < found["bleu_greedy"] == found["bleu_beam4"] < 100
    assert 0 < found["chrf_beam4"] < 100
    assert list(found["bleu_by_length"]) == ["2 words", "3 words"]
    assert found["bleu_by_length"]["2 words"] == pytest.approx(100)
    answers["the long sea"] = "El mar es muy largo"
    cased = evaluate.evaluate(tiny, path)["bleu_greedy"]
    answers["the long sea"] = "el mar es muy largo"
    assert cased < evaluate.evaluate(tiny, path)["bleu_greedy"] == pytest.approx(100)
    assert evaluate.evaluate(tiny, path, limit=1)["items"] == 1


def test_a_source_too_long_is_named():
    with pytest.raises(InputError, match="reads at most 17"):
        translation.translate(model("transformer"), ["the cat " * 40])


def test_every_family_that_writes_is_measured_on_a_known_format():
    assert {"gpt", "transformer"} <= set(scorings()) <= set(families())
    assert {scoring.suffix for scoring in scorings().values()} <= set(files.FORMATS)
    with pytest.raises(InputError, match="lstm"):
        scoring_of("lstm")


def run(monkeypatch, capsys, family: str, *argv: str) -> tuple[int, str, str]:
    monkeypatch.setattr(evaluate, "open_model", lambda _name: model(family, n_ctx=40))
    code = evaluate.main(["tiny", *argv, "--device", "cpu"])
    out = capsys.readouterr()
    return code, out.out, out.err


@pytest.mark.parametrize(
    ("family", "name", "content", "metrics"),
    [
        ("gpt", "a.txt", "=== one\nthe cat\nsat\n", {"nats_per_token", "bits_per_byte", "perplexity"}),
        (
            "transformer",
            "a.tsv",
            "the cat\tel gato\n",
            {"bleu_greedy", "bleu_beam4", "chrf_beam4", "bleu_by_length"},
        ),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_the_command_prints_one_json_object(
    monkeypatch, capsys, tmp_path, family, name, content, metrics, packed
):
    path = tmp_path / (name + ".xz" * packed)
    path.write_bytes(lzma.compress(content.encode()) if packed else content.encode())
    code, out, _ = run(monkeypatch, capsys, family, "--data", str(path))
    assert code == 0
    assert out.count("\n") == 1
    assert {"items", "seconds", *metrics} <= set(json.loads(out))


@pytest.mark.parametrize(
    ("family", "name", "content", "said"),
    [
        ("gpt", "missing.txt", None, "There is no file"),
        ("gpt", "a.csv", b"a", ".txt, .tsv, .jsonl, .npz"),
        ("gpt", "a.xz", b"a", "no known format"),
        ("gpt", "a.tsv", b"a\tb\n", "is measured on .txt"),
        ("gpt", "a.jsonl", b"{}\n", "is measured on .txt"),
        ("transformer", "a.txt.xz", b"a", "is measured on .tsv"),
        ("gpt", "a.txt", b"caf\xe9\n", "not UTF-8"),
        ("gpt", "a.txt.xz", b"not packed", "cannot be unpacked"),
        ("gpt", "a.txt", b"=== one\n", "no line to score"),
        ("gpt", "a.txt", b"", "no line to score"),
        ("transformer", "a.tsv", b"", "holds no pair"),
        ("transformer", "a.tsv", b"one cell\n", "Line 1"),
    ],
)
def test_what_cannot_be_measured_ends_with_status_2(
    monkeypatch, capsys, tmp_path, family, name, content, said
):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    code, out, err = run(monkeypatch, capsys, family, "--data", str(path))
    assert (code, out) == (2, "")
    assert said in err


def test_without_the_extra_language_models_are_measured_and_translators_say_what_is_missing(
    monkeypatch, capsys, tmp_path
):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setitem(sys.modules, "sacrebleu.metrics", None)
    (tmp_path / "a.txt").write_text("the cat\n")
    (tmp_path / "a.tsv").write_text("the cat\tel gato\n")
    assert run(monkeypatch, capsys, "gpt", "--data", str(tmp_path / "a.txt"))[0] == 0
    code, _, err = run(monkeypatch, capsys, "transformer", "--data", str(tmp_path / "a.tsv"))
    assert code == 2
    assert 'pip install "attention-atlas[train]"' in err


def test_a_truncated_archive_and_a_limit_of_zero_end_with_status_2(monkeypatch, capsys, tmp_path):
    path = tmp_path / "a.txt.xz"
    path.write_bytes(lzma.compress(b"the cat\n" * 100)[:-20])
    assert run(monkeypatch, capsys, "gpt", "--data", str(path))[0] == 2
    path.write_bytes(lzma.compress(b"the cat\n"))
    code, _, err = run(monkeypatch, capsys, "gpt", "--data", str(path), "--limit", "0")
    assert code == 2
    assert "--limit is 0" in err
