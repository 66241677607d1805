"""HAN: its parts against torch's own, the three sums of the syllabus, documents of one sentence, and one run of a text."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from small_models import small_network
from torch import nn

import core
from core.analysis.documents import document_weights, scores_without_sentences
from core.errors import InputError
from core.layers.recurrent import GRUCell, unroll
from core.layers.summary import Summary
from core.models import Batch, families
from core.text import Tokenizer
from core.text.learn import learn_word_list
from core.trace import OFF, Recorder

TEXT = 'The ship turned. "Hold on!" cried Mr. Hay. Nobody spoke, and the wind rose.'
IDS = torch.randint(1, 29, (3, 11), generator=torch.Generator().manual_seed(3))
NUMBERS = torch.tensor([[0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1], [0, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3], [0] * 11])
REAL = torch.arange(11) < torch.tensor([11, 11, 7])[:, None]
BATCH = Batch(ids=IDS, real=REAL, segments=NUMBERS)


def network(seed=0, **changes):
    return small_network("han", seed, 0.4, **changes)


def model(seed=0):
    tokenizer = Tokenizer(learn_word_list([TEXT], 29), pad=0)
    made = network(seed, n_vocab=len(tokenizer), n_ctx=61)
    return core.Model("tiny-han", families()["han"], made.cfg, made, tokenizer)


def traced(made, batch, **options):
    tap = Recorder(**options)
    with torch.no_grad():
        scores = made.classes(made(batch, tap), tap)
    return scores, tap.close()


def as_torch(cells, backs, d_model):
    """`nn.GRU` with the same weights."""
    found = nn.GRU(d_model, d_model // 2, len(cells), batch_first=True, bidirectional=True)
    for layer, both in enumerate(zip(cells, backs, strict=True)):
        for cell, end in zip(both, ("", "_reverse"), strict=True):
            for name, part in (("ih", cell.from_input), ("hh", cell.from_hidden)):
                getattr(found, f"weight_{name}_l{layer}{end}").data = part.weight.data
                getattr(found, f"bias_{name}_l{layer}{end}").data = part.bias.data
    return found.eval()


def of_torch(made, row):
    """The whole network by `nn.GRU` and the paper's equations, one sentence after the other: scores, word weights, sentence weights."""
    d = made.cfg.d_model
    below, above = (as_torch(e.forward_cells, e.backward_cells, d) for e in (made.words, made.sentences))

    def summed(summary, h):
        u = torch.tanh(h @ summary.to_k.weight.T + summary.to_k.bias)
        a = torch.softmax(u @ summary.query, dim=0)
        return a, a @ h

    numbers, ids = NUMBERS[row][REAL[row]], IDS[row][REAL[row]]
    found = [
        summed(made.summaries["words"], below(made.embed["token"](ids[numbers == i])[None])[0][0])
        for i in range(int(numbers.max()) + 1)
    ]
    outer, v = summed(made.summaries["sentences"], above(torch.stack([s for _, s in found])[None])[0][0])
    return made.to_classes.weight @ v + made.to_classes.bias, [a for a, _ in found], outer


def test_the_network_is_the_papers_with_torchs_gru():
    made = network()
    scores, trace = traced(made, BATCH)
    for row in range(3):
        with torch.no_grad():
            wanted, words, sentences = of_torch(made, row)
        torch.testing.assert_close(scores[row], wanted, rtol=1e-5, atol=1e-5)
        pattern, numbers = trace["words.attn.pattern"][row, 0], NUMBERS[row][REAL[row]]
        for i, own in enumerate(words):
            torch.testing.assert_close(pattern[i, : len(numbers)][numbers == i], own, rtol=1e-5, atol=1e-6)
        outer = trace["sentences.attn.pattern"][row, 0, 0]
        torch.testing.assert_close(outer[: len(sentences)], sentences, rtol=1e-5, atol=1e-6)
        assert not outer[len(sentences) :].any()


def test_what_is_learnt_with_torchs_kernels_is_what_is_traced():
    made = network()
    learning = made.classes(made(BATCH))  # gradients on, nobody looks: torch's kernels, sentence by sentence
    assert learning.requires_grad
    torch.testing.assert_close(learning.detach(), traced(made, BATCH)[0], rtol=1e-5, atol=1e-5)
    learning.square().sum().backward()
    fast = {name: weight.grad.clone() for name, weight in made.named_parameters()}
    made.zero_grad()
    tap = Recorder(keep=())
    made.classes(made(BATCH, tap), tap).square().sum().backward()
    for name, weight in made.named_parameters():
        torch.testing.assert_close(fast[name], weight.grad, rtol=1e-4, atol=1e-5, msg=name)


@pytest.mark.parametrize("backward", [False, True])
def test_each_part_is_read_for_itself(backward):
    torch.manual_seed(0)
    cell, x = GRUCell(5, 7), torch.randn(3, 11, 5)
    for tap in (OFF, Recorder(keep=())):
        whole = unroll(cell, x, REAL, tap, backward=backward, parts=NUMBERS)
        for row in range(3):
            for number in NUMBERS[row][REAL[row]].unique():
                own = (NUMBERS[row] == number) & REAL[row]
                some = torch.ones(1, int(own.sum()), dtype=torch.bool)
                alone = unroll(cell, x[row, own][None], some, backward=backward)
                torch.testing.assert_close(whole[row, own][None], alone, rtol=1e-5, atol=1e-6)
        assert not whole[~REAL].any()


def test_the_sums_of_the_syllabus():
    """Word weights sum to 1 inside each sentence, sentence weights over the document, and so do the products."""
    found = document_weights(model().run(TEXT))
    assert len(found.sentences) == 3 and found.numbers == (0, 0, 0, 0, *(1,) * 10, *(2,) * 8)
    for number in range(3):
        own = np.array(found.numbers) == number
        assert found.words[own].sum() == pytest.approx(1, abs=1e-6)
    assert found.sentences.sum() == pytest.approx(1, abs=1e-6)
    np.testing.assert_allclose(found.products, found.words * found.sentences[list(found.numbers)])
    assert found.products.sum() == pytest.approx(1, abs=1e-6)


def test_one_sentence_has_the_whole_weight_and_one_word_too():
    found = document_weights(model().run("The ship turned"))
    assert found.sentences.tolist() == [1.0] and found.products.tolist() == found.words.tolist()
    assert document_weights(model().run("ship")).products.tolist() == [1.0]


def test_a_summary_of_nothing_is_zeros():
    summary = Summary(6)
    allowed = torch.tensor([[[True, False], [False, False]]])
    found = summary(torch.randn(1, 2, 6), allowed)
    assert not found[0, 1].any() and found[0, 0].any()


def test_a_run_names_sentences_words_and_classes():
    run = model().run(TEXT)
    assert run.kinds == ("words", "sentences") and run.classes.shape == (3,)
    words, sentences = run.attention("words", by="word"), run.attention("sentences")
    assert sentences.keys == words.queries
    assert sentences.keys == (
        "The ship turned.",
        '"Hold on!" cried Mr. Hay.',
        "Nobody spoke, and the wind rose.",
    )
    assert sentences.queries == ("document",) and sentences.weights.shape == (1, 1, 1, 3)
    assert words.weights.shape == (1, 1, 3, len(words.keys)) and "Hay" in words.keys
    assert run.hidden("sentences").shape == (3, 3, 34) and run.hidden("words").shape == (3, len(run.ids), 34)
    with pytest.raises(InputError, match="no output 'logits'"):
        _ = run.logits


def test_texts_of_one_batch_keep_their_own_sentences():
    made = model()
    both = made.run_many(["The ship turned.", TEXT])
    for run, alone in zip(both, (made.run("The ship turned."), made.run(TEXT)), strict=True):
        np.testing.assert_allclose(run.classes, alone.classes, rtol=1e-5, atol=1e-5)
        assert run.attention("sentences").keys == alone.attention("sentences").keys


@pytest.mark.parametrize("text", ["", "   ", "\n\n"])
def test_a_text_without_a_word_is_refused(text):
    with pytest.raises(InputError, match="holds no word"):
        model().run(text)


def test_a_text_that_is_too_long_is_refused_with_its_number():
    with pytest.raises(InputError, match=r"has 62 tokens.*at most 61"):
        model().run("ship " * 62)


def test_the_gradient_is_of_a_class():
    made = model()
    run = made.run(TEXT, grad="class:green")
    index = made.config.classes.index("green")
    np.testing.assert_allclose(
        run.trace.grad("document"), made.network.to_classes.weight[index].numpy(), rtol=1e-6
    )
    assert run.trace.grad("embed.token").shape == (len(run.ids), 34)
    for wrong in ("class:purple", "logit:ship"):
        with pytest.raises(InputError, match="Name one of red, green, blue"):
            made.run(TEXT, grad=wrong)


def test_scores_without_a_sentence_are_those_of_the_text_without_it():
    made, sentences = model(), ("The ship turned.", "Nobody spoke.", "The wind rose, and the ship turned.")
    found = scores_without_sentences(made.run(" ".join(sentences)))
    for left_out, scores in enumerate(found):
        text = " ".join(each for at, each in enumerate(sentences) if at != left_out)
        np.testing.assert_allclose(scores, made.run(text).trace["classes"], atol=1e-5)
    assert found.shape == (3, 3) and scores_without_sentences(made.run(sentences[0])).shape == (0, 3)
