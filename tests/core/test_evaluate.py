"""Each token scored once with enough context, beam search against a slow reference, BLEU, the command."""

from __future__ import annotations

import json
import lzma
import math
import sys
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch
from deep import deep
from hypothesis import given
from hypothesis import strategies as st
from small_models import small_network

from core.checkpoints.scores import FILE, Score, read_scores, record
from core.checkpoints.store import shipped_folder
from core.errors import InputError
from core.layers.cache import Cache
from core.model import Model
from core.models import Batch, families
from core.models.transformer import Transformer
from core.run.batched import beam, greedy
from core.scoring import files, language, scoring_of, scorings, translation
from core.text import Tokenizer
from core.text.learn import learn_byte_level_bpe
from core.tools import evaluate
from core.trace import OFF, Tap

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
    text = tokenizer(start)
    network = small_network(family, seed, 0.4, n_vocab=len(text), n_ctx=n_ctx)
    return Model(f"tiny-{family}", families()[family], network.cfg, network, text)


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
    scored = []
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


# ---------------- The searches that a translator is measured with, against slow ones that are plainly right.


def log_p(model: Model, source: list[int], written: list[int]) -> torch.Tensor:
    """One sentence, no cache, no padding: log-probabilities of what comes after START + written."""
    ids, seen = torch.tensor([[START, *written]]), torch.tensor([source])
    batch = Batch(ids=ids, real=torch.ones_like(ids, dtype=torch.bool), source=seen)
    with torch.inference_mode():
        return model.network.logits(model.network(batch))[0, -1].log_softmax(-1)


def slow_beam(model: Model, source: list[int], width: int, limit: int, alpha: float) -> list[int]:
    """Beam search as one writes it on paper: one sentence, every prefix read anew."""
    opened, finished = [(0.0, ())], []
    while len(finished) < width and len(opened[0][1]) < limit:
        grown = []
        for score, written in opened:
            for token, gain in enumerate(log_p(model, source, list(written)).tolist()):
                grown.append((score + gain, (*written, token)))
        grown.sort(key=lambda item: -item[0])
        finished += [(score / len(w) ** alpha, w[:-1]) for score, w in grown[:width] if w[-1] == END]
        opened = [(score, w) for score, w in grown if w[-1] != END][:width]
    return list(max(finished or opened, key=lambda item: item[0])[1])


class Restless(Transformer):
    """Scores that jump from step to step: searches part and end at many lengths. A plain one repeats a token."""

    def logits(self, hidden: torch.Tensor, tap: Tap = OFF) -> torch.Tensor:
        return 2 * (200 * super().logits(hidden, tap)).sin()


def restless(seed: int, n_vocab: int = 13, n_ctx: int = 17) -> Model:
    plain = model("transformer", seed=seed)
    network = Restless(replace(plain.config, n_vocab=n_vocab, n_ctx=n_ctx))
    for weight in network.parameters():
        torch.nn.init.normal_(weight, std=0.4)
    return replace(
        plain, config=network.cfg, network=network.double()
    )  # what rounding does is not the question here


@pytest.mark.parametrize(
    ("seed", "alpha", "width"), deep(product(range(2, 8), (0.0, 1.0), (1, 2, 4)), [(2, 0.0, 4), (2, 1.0, 2)])
)
def test_beam_equals_a_slow_search(width, alpha, seed):
    tiny = restless(seed)
    lengths, limits = [3, 7, 5], [4, 9, 12]
    batch = sources(tiny, lengths, seed)
    with torch.inference_mode():
        found = beam(tiny.network, batch, width=width, start=START, end=END, limit=limits, alpha=alpha)
    expected = [
        slow_beam(tiny, batch.source[row, :n].tolist(), width, limit, alpha)
        for row, (n, limit) in enumerate(zip(lengths, limits, strict=True))
    ]
    assert found == expected


@pytest.mark.quick(2)
@pytest.mark.parametrize("seed", range(6))
def test_width_one_is_greedy_and_greedy_is_argmax(seed):
    tiny = restless(seed)
    lengths = [2, 5, 7]
    batch = sources(tiny, lengths, seed)
    with torch.inference_mode():
        found = greedy(tiny.network, batch, start=START, end=END, limit=[6, 0, 11])
        assert beam(tiny.network, batch, width=1, start=START, end=END, limit=[6, 0, 11]) == found
    for row, (n, limit) in enumerate(zip(lengths, [6, 0, 11], strict=True)):
        assert found[row] == slow_beam(tiny, batch.source[row, :n].tolist(), 1, limit, 1.0)


@pytest.mark.parametrize("decode", [greedy, translation.beam_search])
def test_a_batch_gives_what_each_sentence_gives_alone(decode):
    tiny = restless(0, len(tokenizer()), n_ctx=99)
    texts = ["the cat", "a dog, a cat and the sea", "it", "the sun sat on the mat.", ""]
    alone = [translation.translate(tiny, [text], decode)[0] for text in texts]
    assert translation.translate(tiny, texts, decode) == alone
    assert len(set(alone)) > 2


def test_translate_agrees_with_a_run_without_target():
    tiny = model("transformer", n_ctx=150)
    assert translation.translate(tiny, ["the cat sat"])[0] == tiny.run("the cat sat", keep=()).target_text


@pytest.mark.parametrize("width", [0, 300])
def test_an_impossible_width_is_named(width):
    tiny = model("transformer")
    with pytest.raises(ValueError, match=f"width={width}"):
        beam(tiny.network, sources(tiny, [3]), width=width, start=START, end=END, limit=3)


def test_a_reordered_cache_goes_on_with_the_chosen_rows():
    tiny = model("transformer")
    batch, rows = sources(tiny, [5, 5, 5]), torch.tensor([2, 0, 0])
    ids = torch.tensor([[START, 5, 9], [START, 7, 4], [START, 8, 6]])
    real = torch.ones_like(ids, dtype=torch.bool)
    cache = Cache(tiny.config.n_layers)
    with torch.inference_mode():
        memory = tiny.network.encode(batch)
        tiny.network(replace(batch, ids=ids[:, :2], real=real[:, :2]), cache=cache, memory=memory)
        cache.reorder(rows)
        chosen = replace(batch, ids=ids[rows], real=real, source=batch.source[rows])
        found = tiny.network(
            replace(chosen, ids=ids[rows, 2:], real=real[:, 2:]), cache=cache, memory=memory[rows]
        )
        expected = tiny.network(chosen)[:, 2:]
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


# ---------------- scores.json: written by evaluate, read for the Models page, refused when it is not understood.


OWN = {
    "items": 3,
    "seconds": 1.5,
    "bits_per_byte": 1.5,
    "best_head": "L1.H0",
    "bleu_by_length": {"2-5 words": 3.0},
}


def test_a_record_replaces_its_own_rows_and_keeps_the_baselines(tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    assert read_scores(folder) == ()
    baseline = Score("bits_per_byte", "valid", "trigram", 1.6)
    rows = [
        {"measure": "bits_per_byte", "split": "valid", "of": of, "value": value}
        for of, value in (("trigram", 1.6), ("model", 9.0))
    ]
    (folder / FILE).write_text(json.dumps(rows))
    record(folder, "valid", OWN)
    record(folder, "test", OWN | {"bits_per_byte": 1.7})
    assert read_scores(folder) == (
        Score("bits_per_byte", "test", "model", 1.7),
        Score("bleu_by_length, 2-5 words", "test", "model", 3.0),
        Score("bits_per_byte", "valid", "model", 1.5),
        Score("bleu_by_length, 2-5 words", "valid", "model", 3.0),
        baseline,
    )


def test_weights_of_an_earlier_step_have_rows_of_their_own(tmp_path):
    record(tmp_path, "valid", OWN)
    record(tmp_path, "valid", {"bits_per_byte": 8.5}, subject=f"{tmp_path.name} at step 0")
    assert {
        (score.subject, score.value) for score in read_scores(tmp_path) if score.measure == "bits_per_byte"
    } == {(tmp_path.name, 1.5), (f"{tmp_path.name} at step 0", 8.5)}


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "[1]",
        '[{"measure": "m", "split": "s", "of": "o"}]',
        '[{"measure": "m", "split": "s", "of": "o", "value": "high"}]',
        '[{"measure": "m", "split": "s", "of": 3, "value": 1}]',
        '[{"measure": "m", "split": "s", "of": "o", "value": NaN}]',
        "[",
    ],
)
def test_a_file_that_is_not_understood_is_refused_by_name(tmp_path, text):
    (tmp_path / FILE).write_text(text)
    with pytest.raises(InputError, match=r"scores\.json"):
        read_scores(tmp_path)


def test_a_part_of_a_split_is_not_recorded(capsys):
    with pytest.raises(SystemExit):
        evaluate.main(["gpt-mini", "--data", "x.txt", "--limit", "3", "--record", "valid"])
    assert "whole split" in capsys.readouterr().err


def test_shipped_models_have_a_score_of_their_own_and_a_baseline():
    for folder in filter(lambda path: (path / "config.json").is_file(), shipped_folder().iterdir()):
        scores = read_scores(folder)
        own = {(score.measure, score.split) for score in scores if score.subject == folder.name}
        others = {(score.measure, score.split) for score in scores if score.subject != folder.name}
        assert own & others, folder.name
