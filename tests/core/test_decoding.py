"""Writing token by token: the cache, the choice, the filters, the beam, unfinished characters, stopping."""

from __future__ import annotations

import itertools
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
import torch

from core import edits
from core.decoding import Beam, Greedy, Replay, Sample, counterexample, decode, fit
from core.decoding.batched import beam as batched_beam
from core.decoding.filters import TopK, TopP, softmax
from core.decoding.prompt import Prompt, unfinished
from core.decoding.steps import choose
from core.errors import InputError
from core.model import Model
from core.models import Batch, families
from core.text import Tokenizer
from core.text.learn import byte_level_bpe

LINES = ["the old cat sat on the mat", "a white car", "el gato blanco está en la casa", "año 😀 niño"] * 3
N_CTX = 41


def tokenizer(prefix_space):
    backend = byte_level_bpe(LINES, 300, ["<pad>", "<start>", "<end>"], prefix_space=prefix_space)
    return Tokenizer(backend, pad=0, start=1, end=2)


def build(name, order="pre", seed=0):
    torch.manual_seed(seed)
    names = tokenizer(prefix_space=name == "transformer")
    family = families()[name]
    config = replace(family.config.tiny(), order=order, n_vocab=len(names), n_ctx=N_CTX)
    network = family.network(config)
    for weight in network.parameters():
        torch.nn.init.normal_(weight, std=0.3)
    return Model(name, family, config, network, names)


@pytest.fixture(params=["gpt", "transformer"])
def m(request):
    return build(request.param)


@pytest.fixture
def gpt():
    return build("gpt")


def ids_of(m, text, strategy, **options):
    return list(decode(m, text, strategy, **options))[-1].ids


def whole_pass(m, text, ids):
    """Logits and attention of one teacher-forced pass over everything that was written."""
    source = m.tokenizer.encode(text).ids
    given = (m.tokenizer.start,) if m.spec.has_source else source
    row = torch.tensor([[*given, *ids]])
    batch = Batch(ids=row, real=row >= 0)
    if m.spec.has_source:
        words = torch.tensor([source])
        batch = replace(batch, source=words, source_real=words >= 0)
    from core.trace import record

    with torch.inference_mode():
        hidden, trace = record(m.network, batch, keep=["*.pattern"])
        return m.network.logits(hidden)[0].numpy(), trace, len(given)


@pytest.mark.parametrize("order", ["pre", "post"])
@pytest.mark.parametrize("name", ["gpt", "transformer"])
def test_each_step_equals_one_teacher_forced_pass(name, order):
    m = build(name, order)
    steps = list(decode(m, "the old cat", Sample(seed=5), max_new_tokens=9))
    logits, trace, n_given = whole_pass(m, "the old cat", steps[-1].ids)
    assert len(steps) > 3
    for step in steps:
        row = n_given - 1 + step.index
        for candidate in step.candidates:
            assert candidate.logit == pytest.approx(logits[row, candidate.id], abs=1e-5)
        for kind in m.spec.kinds:
            if kind.queries != "target":
                assert kind.name not in step.attention
                continue
            for layer in range(m.config.n_layers):
                pattern = trace.numpy(kind.path(layer, "pattern"))[0, :, row]
                n_keys = len(step.keys[kind.name])
                np.testing.assert_allclose(step.attention[kind.name][layer], pattern[:, :n_keys], atol=1e-5)
                assert not pattern[:, n_keys:].any()


def test_attention_of_a_step_has_one_row_a_head_that_sums_to_one(m):
    for step in decode(m, "the old cat", Greedy(), max_new_tokens=4):
        for kind, rows in step.attention.items():
            assert rows.shape == (2, 3, len(step.keys[kind]))
            assert rows.dtype == np.float32
            np.testing.assert_allclose(rows.sum(-1), 1, atol=1e-5)


def test_labels_are_what_was_read_before_the_token(m):
    first, second = itertools.islice(decode(m, "the old cat", Sample(seed=1)), 2)
    assert second.keys["causal"] == (*first.keys["causal"], first.token)
    if m.spec.has_source:
        assert first.keys["causal"] == ("START",)
        assert first.keys["cross"] == m.tokenizer.encode("the old cat").tokens
    else:
        assert first.keys["causal"] == m.tokenizer.encode("the old cat").tokens


def test_greedy_takes_the_largest_and_agrees_with_the_models_own_translation():
    m = build("transformer")
    steps = list(decode(m, "the old cat", Greedy(), max_new_tokens=20))
    assert all(step.chosen_by == "argmax" and step.id == step.candidates[0].id for step in steps)
    assert m.run("the old cat").target_text.startswith(steps[-1].text)


def test_temperature_zero_is_greedy(m):
    assert ids_of(m, "the old cat", Sample(temperature=0, seed=7)) == ids_of(m, "the old cat", Greedy())


def test_top_p_zero_and_top_k_one_keep_only_the_best(gpt):
    greedy = ids_of(gpt, "the old cat", Greedy())
    assert ids_of(gpt, "the old cat", Sample(top_p=0.0, seed=3)) == greedy
    assert ids_of(gpt, "the old cat", Sample(top_k=1, seed=3)) == greedy


def test_equal_seeds_write_equal_tokens_and_others_do_not(m):
    runs = [ids_of(m, "the old cat", Sample(seed=seed)) for seed in (4, 4, 5)]
    assert runs[0] == runs[1] != runs[2]


def test_a_shorter_decoding_is_the_beginning_of_a_longer_one(m):
    long, short = (list(decode(m, "a white car", Sample(seed=2), max_new_tokens=n)) for n in (8, 3))
    assert [step.id for step in long[:3]] == [step.id for step in short]
    assert long[2].draw == short[2].draw


def test_the_lot_falls_into_the_part_of_the_chosen_token():
    logits = np.log(np.array([0.2, 0.5, 0.3]))
    for seed in range(40):
        choice = choose(logits, str, seed=(seed, 0), filters=())
        low, high = {1: (0, 0.5), 2: (0.5, 0.8), 0: (0.8, 1.0)}[choice.id]
        assert (choice.draw.low, choice.draw.high) == pytest.approx((low, high))
        assert low <= choice.draw.u < high


def test_draws_follow_the_probabilities():
    p = np.array([0.55, 0.3, 0.1, 0.05])
    drawn = np.bincount([choose(np.log(p), str, seed=(0, n)).id for n in range(4000)], minlength=4) / 4000
    np.testing.assert_allclose(drawn, p, atol=4 * np.sqrt(p * (1 - p) / 4000).max())


def test_what_a_filter_cuts_is_told():
    p = np.array([0.4, 0.3, 0.2, 0.06, 0.04])
    choice = choose(np.log(p), str, seed=(0, 0), filters=(TopK(4), TopP(0.8)))
    assert [c.cut_by for c in choice.candidates] == [None, None, None, "top_p", "top_k"]
    assert [(c.by, c.tokens) for c in choice.cuts] == [("top_k", 1), ("top_p", 1)]
    assert [c.probability for c in choice.cuts] == pytest.approx([0.04, 0.06])
    np.testing.assert_allclose([c.after for c in choice.candidates], [4 / 9, 3 / 9, 2 / 9, 0, 0])
    np.testing.assert_allclose([c.before for c in choice.candidates], p)
    assert choice.kept == 3


def test_numbers_of_a_choice_by_hand():
    choice = choose(np.log(np.array([0.5, 0.25, 0.25])) + 3, str, forced=1)
    assert choice.chosen_by == "forced"
    assert choice.logprob == pytest.approx(np.log(0.25))
    assert choice.surprise == pytest.approx(2)
    assert choice.entropy == pytest.approx(1.5 * np.log(2))
    assert choice.log_total == pytest.approx(3)


def test_an_unlisted_token_that_is_chosen_is_listed():
    logits = -np.arange(50.0)
    choice = choose(logits, str, forced=49)
    assert [c.id for c in choice.candidates] == [*range(20), 49]


@pytest.mark.parametrize("name", ["gpt", "transformer"])
def test_forced_tokens_are_written_and_the_rest_follows_from_them(name):
    m = build(name)
    wanted = m.tokenizer.encode("m", special=True).ids[-1]
    steps = list(decode(m, "the old cat", Greedy(), force=[(1, wanted)], max_new_tokens=4))
    assert [step.chosen_by for step in steps] == ["argmax", "forced", "argmax", "argmax"]
    assert steps[1].id == wanted
    logits, _, n_given = whole_pass(m, "the old cat", steps[-1].ids)
    assert steps[2].id == logits[n_given + 1].argmax()


def test_a_prefix_is_the_beginning_of_the_translation():
    m = build("transformer")
    begun = m.tokenizer.encode("el gato").ids
    steps = list(decode(m, "the cat", Greedy(), prefix="el gato", max_new_tokens=5))
    logits, _, _ = whole_pass(m, "the cat", (*begun, *steps[-1].ids))
    assert [step.id for step in steps] == [int(logits[len(begun) + n].argmax()) for n in range(len(steps))]
    assert steps[-1].text.startswith("el gato")


def test_edits_act_at_every_step_and_change_nothing_else(m):
    where = f"{m.spec.kind('causal').stack}.1.self_attn.heads"
    edit = edits.ZeroHead(where, head=2)
    steps = list(decode(m, "the old cat", Greedy(), edits=[edit], max_new_tokens=5))
    plain = list(decode(m, "the old cat", Greedy(), max_new_tokens=5))
    assert steps[0].candidates[0].logit != pytest.approx(plain[0].candidates[0].logit, abs=1e-4)
    source = {"target": steps[-1].text} if m.spec.has_source else {}
    text = "the old cat" if m.spec.has_source else steps[-1].text
    run = m.run(text, edits=[edit], keep=["*.pattern"], **source)
    written = list(run.ids)[1:] if m.spec.has_source else list(run.ids)[-5:]
    if written == list(steps[-1].ids):  # the text reads back as the same tokens
        row = steps[0].keys["causal"].__len__() - 1
        assert steps[0].candidates[0].logit == pytest.approx(run.logits[row].max(), abs=1e-5)
    neutral = list(decode(m, "the old cat", Greedy(), edits=[edits.ScaleHead(where, 2, 1.0)], max_new_tokens=5))
    assert [s.id for s in neutral] == [s.id for s in plain]
    for a, b in zip(neutral, plain, strict=True):
        np.testing.assert_allclose([c.logit for c in a.candidates], [c.logit for c in b.candidates], atol=1e-5)


def test_an_edit_that_meets_nothing_is_named(gpt):
    with pytest.raises(ValueError, match=r"layer\.9"):
        next(decode(gpt, "the old cat", edits=[edits.ZeroHead("layer.9.self_attn.heads", head=0)]))


@pytest.fixture
def forwards(m):
    count = [0]
    m.network.register_forward_hook(lambda *_: count.__setitem__(0, count[0] + 1))
    return m, count


def test_nothing_is_computed_before_it_is_asked_for_and_closing_stops(forwards):
    m, count = forwards
    steps = decode(m, "a", Sample(seed=1), max_new_tokens=20)
    assert count[0] == 0
    next(steps), next(steps)
    before = count[0]
    steps.close()
    assert list(steps) == []
    assert count[0] == before <= 3


def test_a_consumer_is_not_left_in_inference_mode(gpt):
    steps = decode(gpt, "the")
    next(steps)
    assert not torch.is_inference_mode_enabled()


def test_replay_forward_costs_one_step_each_and_back_is_exact(forwards):
    m, count = forwards
    replay = Replay(lambda: decode(m, "the old cat", Sample(seed=1), max_new_tokens=6))
    seen, costs = [], []
    for index in range(5):
        before = count[0]
        seen.append(replay.step(index))
        costs.append(count[0] - before)
    assert costs[1:] == [1, 1, 1, 1]
    again = replay.step(2)
    assert (again.id, again.draw, again.text) == (seen[2].id, seen[2].draw, seen[2].text)
    np.testing.assert_array_equal(again.attention["causal"], seen[2].attention["causal"])
    assert replay.step(3).id == seen[3].id


def test_the_cache_grows_by_one_position_a_step(gpt):
    steps = list(decode(gpt, "the old cat", Sample(seed=1), max_new_tokens=4))
    position = 2 * gpt.config.n_layers * gpt.config.d_model * 4
    assert steps[0].cache_bytes == len(steps[0].keys["causal"]) * position
    assert [b.cache_bytes - a.cache_bytes for a, b in itertools.pairwise(steps)] == [position] * 3


# where it ends


def test_it_ends_at_end_at_the_limit_and_when_the_context_is_full(m):
    end = list(decode(m, "the old cat", force=[(2, m.tokenizer.end)]))
    assert (len(end), end[-1].reason, end[-1].token, end[-1].done) == (3, "end", "END", True)
    assert end[-1].text == end[1].text
    assert [step.done for step in end[:-1]] == [False, False]
    force = [(n, 50) for n in range(99)]
    limit = list(decode(m, "the old cat", force=force, max_new_tokens=3))
    assert (len(limit), limit[-1].reason) == (3, "limit")
    full = list(decode(m, "the old cat", force=force, max_new_tokens=99))
    assert full[-1].reason == "context"
    assert len(full[-1].keys["causal"]) + 1 == N_CTX
    assert list(decode(m, "the old cat", max_new_tokens=0)) == []


def test_an_empty_prompt_begins_behind_the_start_token_and_says_so(gpt):
    first, second = itertools.islice(decode(gpt, "", Sample(seed=2)), 2)
    assert "start token" in first.note
    assert first.keys["causal"] == ("START",)
    assert second.note == ""
    assert first.text == gpt.tokenizer.decode([first.id])


def test_a_prompt_of_context_minus_one_is_the_longest(gpt):
    letters = [i for i in range(3, 60) if gpt.tokenizer.encode(gpt.tokenizer.token(i)).ids == (i,)]
    text = "m " * 200
    n = next(n for n in range(1, 200) if len(gpt.tokenizer.encode(text[:n]).ids) == N_CTX - 1)
    assert letters
    assert [step.reason for step in decode(gpt, text[:n])] == ["context"]
    with pytest.raises(InputError) as error:
        decode(gpt, text[: n + 4])
    assert error.value.rule == "gpt reads at most 40 here, so that there is room to write."
    assert all((error.value.wrong, error.value.remedy))


@pytest.mark.parametrize(
    ("text", "options"),
    [("", {}), ("   ", {}), ("", {"prefix": "el"}), ("\ud800", {}), ("cat " * 90, {}), ("a", {"prefix": "cat " * 90})],
)
def test_a_translator_refuses_what_it_cannot_read(text, options):
    with pytest.raises(InputError):
        decode(build("transformer"), text, **options)


def test_a_model_without_a_source_has_no_prefix(gpt):
    with pytest.raises(InputError, match="prefix"):
        decode(gpt, "the", prefix="old")


@pytest.mark.parametrize("force", [[(0, 10**6)], [(0, -1)], [(0, "the old cat sat")], [(0, True)]])
def test_a_forced_token_must_be_in_the_vocabulary(gpt, force):
    with pytest.raises(InputError):
        decode(gpt, "the", force=force)


@pytest.mark.parametrize("n", [-1, 2.5, True, None])
def test_the_number_of_tokens_is_a_whole_number(gpt, n):
    with pytest.raises(InputError):
        decode(gpt, "the", max_new_tokens=n)


@pytest.mark.parametrize(
    "wrong",
    [
        {"temperature": -0.1}, {"temperature": float("nan")}, {"temperature": float("inf")}, {"temperature": "1"},
        {"top_k": -1}, {"top_k": 2.5}, {"top_k": True}, {"top_p": -0.1}, {"top_p": 1.1}, {"top_p": float("nan")},
        {"seed": -1}, {"seed": 0.5}, {"seed": 2**63},
    ],
)  # fmt: skip
def test_a_sampling_that_makes_no_sense_is_refused_in_three_parts(wrong):
    with pytest.raises(InputError) as error:
        Sample(**wrong)
    assert all((error.value.wrong, error.value.rule, error.value.remedy))


@pytest.mark.parametrize("wrong", [{"width": 0}, {"width": 65}, {"width": 2.0}, {"length_penalty": float("nan")}])
def test_a_beam_that_makes_no_sense_is_refused(wrong):
    with pytest.raises(InputError):
        Beam(**wrong)


def test_strategies_are_data():
    assert len({Greedy(), Greedy(), Sample(), Sample(seed=0), Beam(), Beam(width=5)}) == 4
    with pytest.raises(FrozenInstanceError):
        Sample().seed = 2
    assert Sample(top_k=None).filters == Sample(top_k=0, top_p=1).filters == ()


@pytest.mark.parametrize("temperature", [1e-300, 1e-5, 1e5, 1e300])
def test_extreme_temperatures_give_probabilities(gpt, temperature):
    step = next(decode(gpt, "the", Sample(temperature=temperature, seed=1)))
    after = np.array([c.after for c in step.candidates])
    assert np.isfinite(after).all()
    assert after.sum() <= 1 + 1e-9
    if temperature < 1:
        assert after[0] == pytest.approx(1)


def test_scores_that_are_no_numbers_are_told():
    with pytest.raises(InputError, match="not finite"):
        choose(np.array([0.0, np.nan]), str)


# text


def test_unfinished_characters_wait_and_never_change_what_is_shown():
    names = tokenizer(prefix_space=False)
    ids = [i for letter in "x😀ñ" for i in ([names.encode(letter).ids] if letter == "x" else [bytes_of(names, letter)])[0]]
    prompt = Prompt((), names, room=99, end=2)
    shown = [prompt.text(ids[:n]) for n in range(len(ids) + 1)]
    assert [text for text, _ in shown] == ["", "x", "x", "x", "x", "x😀", "x😀", "x😀ñ"]
    assert [len(pending) for _, pending in shown] == [0, 0, 1, 2, 3, 0, 1, 0]
    assert b"".join([shown[4][1], b"\x80"]) == "😀".encode()
    for (before, _), (after, _) in itertools.pairwise(shown):
        assert after.startswith(before)


def bytes_of(names, letter):
    """The ids of the single bytes of a letter."""
    alphabet = {names.token(i): i for i in range(3, 259)}
    return [next(i for t, i in alphabet.items() if t in (f"‹{byte:02X}›", chr(byte) if byte < 128 else "")) for byte in letter.encode()]


def test_bytes_that_can_never_be_a_character_are_shown_at_once():
    names = tokenizer(prefix_space=False)
    lone = next(i for i in range(3, 259) if names.token(i) == "‹80›")
    lead = next(i for i in range(3, 259) if names.token(i) == "‹C3›")
    prompt = Prompt((), names, room=99)
    assert prompt.text([lone]) == ("�", b"")
    assert prompt.text([lead]) == ("", b"\xc3")
    assert prompt.text([lead, *names.encode("x").ids]) == ("�x", b"")
    assert prompt.text(names.encode("�").ids) == ("�", b"")


def test_unfinished_agrees_with_the_decoder_of_python():
    import codecs

    values = (0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC1, 0xC2, 0xE0, 0xE1, 0xED, 0xEF, 0xF0, 0xF1, 0xF4, 0xF5)
    for data in itertools.chain.from_iterable(itertools.product(values, repeat=n) for n in (1, 2, 3)):
        if any(a == 0xED and b >= 0xA0 for a, b in itertools.pairwise(data)):
            continue  # half of a surrogate pair: Python waits for more, the standard does not
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        decoder.decode(bytes(data))
        assert unfinished(bytes(data)) == decoder.getstate()[0], data


def test_fit_keeps_the_end_of_a_long_prompt(gpt):
    text = "the old cat sat on the mat " * 40
    window = fit(gpt, text, 20)
    assert text.endswith(window.text)
    assert 15 <= window.tokens == len(gpt.tokenizer.encode(window.text).ids) <= 20
    assert window.of == len(gpt.tokenizer.encode(text).ids)
    assert fit(gpt, "the cat", 20).text == "the cat"
    assert fit(gpt, "", 20).tokens == 0
    faces = fit(gpt, "😀" * 50, 7)
    assert faces.text in ("😀", "😀😀", "😀😀😀")
    assert 0 < faces.tokens <= 7
    list(decode(gpt, fit(gpt, text, N_CTX - 1).text, max_new_tokens=1))


# the beam


def random_tree(seed, n_vocab, n_words):
    draw = np.random.default_rng(seed)
    rows = itertools.chain.from_iterable(itertools.product(range(n_vocab), repeat=n) for n in range(n_words))
    return {row: softmax(draw.normal(size=n_vocab) * 2) for row in rows}


def test_greedy_can_be_worse_than_the_best():
    assert counterexample.written(Greedy()) == ("aa", 0.2)
    assert counterexample.written(Beam(width=2)) == counterexample.best() == ("bb", 0.36)


@pytest.mark.parametrize("seed", range(12))
def test_a_full_width_beam_finds_the_best_sentence(seed):
    tree = random_tree(seed, 3, 4)
    assert counterexample.written(Beam(width=27), 4, tree) == counterexample.best(4, tree)


@pytest.mark.parametrize("seed", range(12))
def test_a_beam_of_one_is_greedy(seed):
    tree = random_tree(seed, 4, 4)
    assert counterexample.written(Beam(width=1), 4, tree) == counterexample.written(Greedy(), 4, tree)


def test_the_tree_of_the_counterexample():
    from core.decoding.decode import write

    steps = list(write(counterexample.OnPaper(), Prompt((), counterexample.Letters(), room=3), Beam(width=2), 2, {}))
    first, last = steps[0].tree, steps[1].tree
    assert [(n.token, n.parent, round(float(np.exp(n.logprob)), 3)) for n in last.nodes] == [
        ("a", -1, 0.5), ("b", -1, 0.4), ("c", -1, 0.1), ("b", 1, 0.36), ("a", 0, 0.2), ("b", 0, 0.15), ("c", 0, 0.15)
    ]  # fmt: skip
    assert (first.open, first.finished, first.pruned()) == ((0, 1), (), frozenset({2}))
    assert last.open == ()
    assert [place for place, _ in last.finished] == [3, 4]
    assert last.finished[0][1] == pytest.approx(np.log(0.36) / 2)
    assert last.pruned() == {2, 5, 6}
    assert last.path(last.best) == (1, 3)


@pytest.mark.parametrize("width", [1, 3])
def test_one_sentence_at_a_time_and_many_at_once_find_the_same(width):
    ended = 0
    for seed in range(6):
        m = build("transformer", seed=seed)
        row = m.network.embed["token"].weight[2]
        m.network.decoder_norm.bias += 8 * row / row.square().sum()  # 8 more for the logit of END
        source = torch.tensor([m.tokenizer.encode("the old cat").ids])
        batch = Batch(ids=source, real=source >= 0, source=source, source_real=source >= 0)
        with torch.inference_mode():
            many = batched_beam(m.network, batch, width=width, start=1, end=2, limit=30)[0]
        found = list(decode(m, "the old cat", Beam(width=width), max_new_tokens=30))[-1]
        if found.reason == "end":
            ended += 1
            assert [i for i in found.ids if i != 2] == many
    assert ended >= 2


def test_a_beam_with_edits_equals_the_cached_one_when_the_edit_is_neutral(m):
    where = f"{m.spec.kind('causal').stack}.0.self_attn.heads"
    plain, edited = (
        list(decode(m, "the old cat", Beam(width=3), max_new_tokens=6, edits=changes))
        for changes in ((), [edits.ScaleHead(where, 0, 1.0)])
    )
    assert plain[-1].ids == edited[-1].ids
    assert plain[-1].tree.nodes[-1].logprob == pytest.approx(edited[-1].tree.nodes[-1].logprob, abs=1e-4)


def test_forcing_a_token_forces_every_branch(m):
    steps = list(decode(m, "the old cat", Beam(width=3), max_new_tokens=4, force=[(1, 60)]))
    assert {node.id for node in steps[-1].tree.nodes if node.step == 1} == {60}


def test_a_beam_can_be_stopped(forwards):
    m, count = forwards
    steps = decode(m, "the old cat", Beam(width=2), max_new_tokens=20)
    next(steps), next(steps)
    before = count[0]
    steps.close()
    assert count[0] == before
