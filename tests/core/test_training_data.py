"""The batches that recipes learn from: what is in them, in which order, and that a step can be asked for again."""

import numpy as np
import pytest
import torch
from test_training import CPU, tiny_tokenizer

from core.data import corpora
from core.errors import InputError
from core.training import pairs
from core.training.recipes import gpt_mini


def translator_pairs(n: int, seed: int = 1) -> list[tuple[list[int], list[int]]]:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 40, (n, 2))
    return [
        ([int(i) for i in rng.integers(3, 90, a)], [int(i) for i in rng.integers(3, 90, b)]) for a, b in sizes
    ]


def test_batches_by_length_hold_every_pair_once_an_epoch_within_the_budget(monkeypatch):
    monkeypatch.setattr(pairs, "POOL", 2)
    rows = [
        ([3 + i, *source], target) for i, (source, target) in enumerate(translator_pairs(1000))
    ]  # each can be told
    task = pairs.SentencePairs(rows, rows[:3], tiny_tokenizer(), 7, CPU)
    orders, step = [], 0
    for _ in range(2):
        seen: list[int] = []
        tokens = 0
        while len(seen) < len(rows):
            (batch, wanted), n_tokens = task.batch(step)
            longest = max(batch.source.shape[1], wanted.shape[1] - 1)
            assert 2 * len(wanted) * longest <= pairs.BATCH_TOKENS
            assert torch.equal(batch.source_real, batch.source != 0)
            seen += (batch.source[:, 0] - 3).tolist()
            tokens += n_tokens
            step += 1
        assert sorted(seen) == list(range(len(rows)))
        assert tokens == sum(len(source) + len(target) for source, target in rows)
        orders.append(seen)
    assert orders[0] != orders[1]


def test_batches_of_pairs_are_of_about_equal_length():
    task = pairs.SentencePairs(rows := translator_pairs(3000), rows[:3], tiny_tokenizer(), 7, CPU)
    padded = real = 0
    for step in range(10):
        (batch, wanted), _ = task.batch(step)
        longest = torch.maximum(batch.source_real.sum(1), (wanted != 0).sum(1) - 1)
        padded += len(wanted) * int(longest.max())
        real += int(longest.sum())
    assert real / padded > 0.9


def test_the_same_step_gives_the_same_batch_also_backwards():
    rows = translator_pairs(300)
    task = pairs.SentencePairs(rows, rows[:3], tiny_tokenizer(), 7, CPU)
    early = task.batch(1)[0][1]
    late = task.batch(40)[0][1]
    assert torch.equal(task.batch(1)[0][1], early)
    again = pairs.SentencePairs(rows, rows[:3], tiny_tokenizer(), 7, CPU)
    assert torch.equal(again.batch(40)[0][1], late)


def test_what_the_translator_writes_is_shifted_by_one():
    rows = [([5, 6], [7, 8, 9]), ([4], [10])]
    inputs, wanted = pairs.SentencePairs(rows, rows, tiny_tokenizer(), 0, CPU).valid[0]
    assert inputs.ids.tolist() == [[1, 7, 8, 9], [1, 10, 0, 0]]
    assert wanted.tolist() == [[7, 8, 9, 2], [10, 2, 0, 0]]
    assert inputs.source.tolist() == [[5, 6], [4, 0]]


def stream_task(n_blocks: int, seed: int = 2) -> gpt_mini.Windows:
    stream = np.arange(n_blocks * 512 + 513, dtype=np.uint32)  # each token is its own place
    return gpt_mini.Windows(stream, np.zeros(600, dtype=np.uint16), tiny_tokenizer(), seed, CPU)


def test_windows_cover_the_stream_once_an_epoch():
    per_batch = gpt_mini.BATCH_TOKENS // 512
    n_blocks = 5 * per_batch + 3  # five batches an epoch leave three blocks out, others in the next
    task = stream_task(n_blocks)
    left_out, firsts = [], []
    for epoch in range(3):
        seen: list[int] = []
        for step in range(5 * epoch, 5 * epoch + 5):
            rows, n_tokens = task.batch(step)
            assert rows.shape == ((per_batch, 513) if step % 4 == 3 else (2 * per_batch, 257))
            assert n_tokens == gpt_mini.BATCH_TOKENS
            assert torch.equal(
                rows[:, 1:], rows[:, 1:2] + torch.arange(rows.shape[1] - 1)
            )  # neighbours in the stream
            fresh = rows[:, 0] != rows[:, 1] - 1
            assert not rows[fresh, 0].any()  # the start token, or what stood there
            seen += rows[:, 1:].flatten().tolist()
        assert len(seen) == len(set(seen)) == 5 * per_batch * 512
        firsts.append(seen[0])
        left_out.append(set(range(513, n_blocks * 512)) - set(seen))
    assert len(set(firsts)) == 3
    assert not left_out[0] & left_out[1] & left_out[2]


def test_some_windows_begin_as_a_text_does():
    task = stream_task(200)
    rows = torch.cat([task.batch(step)[0][:, :2] for step in range(25)])
    share = float((rows[:, 0] == 0).float().mean())
    assert 0.03 < share < 0.2
    assert torch.equal(task.batch(3)[0], stream_task(200).batch(3)[0])


def test_a_stream_has_a_boundary_where_a_book_begins(tmp_path):
    text = tiny_tokenizer()
    (tmp_path / "a.txt").write_text("=== one\nthe cat\n=== two\nsat\n", encoding="utf-8")
    newline = list(text.encode("\n").ids)
    expected = [0, 0, *text.encode("the cat").ids, *newline, 0, *text.encode("sat").ids, *newline]
    assert gpt_mini.encode_file(tmp_path / "a.txt", text).tolist() == expected


def test_data_files(tmp_path):
    import lzma

    (tmp_path / "a.tsv").write_text("Go.\tVe.\n\nHi.\tHola.\tmore\n", encoding="utf-8")
    assert corpora.read_pairs(corpora.find_file(tmp_path, "a.tsv")) == [("Go.", "Ve."), ("Hi.", "Hola.")]
    with lzma.open(tmp_path / "b.txt.xz", "wt", encoding="utf-8") as out:
        out.write("uno\ndos")
    assert list(corpora.read_lines(corpora.find_file(tmp_path, "b.txt"))) == ["uno", "dos"]
    with pytest.raises(InputError, match=r"no c.txt\(.xz\)"):
        corpora.find_file(tmp_path, "c.txt")
    (tmp_path / "d.tsv").write_text("Go.\tVe.\nHi.\t \n", encoding="utf-8")
    with pytest.raises(InputError, match="Line 2"):
        corpora.read_pairs(tmp_path / "d.tsv")
