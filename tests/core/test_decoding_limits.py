"""Where writing begins and ends, what is refused, and characters that are not complete yet."""

from __future__ import annotations

import codecs
import itertools
import json
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from decoding_helpers import N_CTX, build, counted, tokenizer

import core
from core.analysis.loops import Loop, find_loop, unfinished_note
from core.decoding import Beam, Greedy, Sample, decode, fit_prompt
from core.decoding.choose import choose
from core.decoding.prompt import Prompt, unfinished
from core.decoding.record import Decoding, decode_force, encode_force
from core.errors import InputError
from core.serving.engine import default


@pytest.fixture(params=["gpt", "transformer"])
def m(request):
    return build(request.param)


@pytest.fixture
def gpt():
    return build("gpt")


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


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("", {}),
        ("   ", {}),
        ("", {"prefix": "el"}),
        ("\ud800", {}),
        ("cat " * 90, {}),
        ("a", {"prefix": "cat " * 90}),
    ],
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


NAN = float("nan")
SENSELESS = {
    "temperature": (-0.1, NAN, float("inf"), "1"),
    "top_k": (-1, 2.5, True),
    "top_p": (-0.1, 1.1, NAN),
    "seed": (-1, 0.5, 2**63),
    "min_p": (-0.1, 1.1, NAN, True),
    "repetition_penalty": (0, -1, 101, NAN, "1"),
}


@pytest.mark.parametrize(
    ("field", "value"), [(field, value) for field, values in SENSELESS.items() for value in values]
)
def test_a_sampling_that_makes_no_sense_is_refused_in_three_parts(field, value):
    with pytest.raises(InputError):
        Sample(**{field: value})


def test_strategies_are_data():
    assert len({Greedy(), Greedy(), Sample(), Sample(seed=0), Beam(), Beam(width=5)}) == 4
    with pytest.raises(FrozenInstanceError):
        Sample().seed = 2
    assert Sample(top_k=None).filters == Sample(top_k=0, top_p=1, min_p=0, repetition_penalty=1).filters == ()


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


def test_unfinished_characters_wait_and_never_change_what_is_shown():
    names = tokenizer(prefix_space=False)
    ids = [
        i
        for letter in "x😀ñ"
        for i in ([names.encode(letter).ids] if letter == "x" else [bytes_of(names, letter)])[0]
    ]
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
    return [
        next(i for t, i in alphabet.items() if t in (f"‹{byte:02X}›", chr(byte) if byte < 128 else ""))
        for byte in letter.encode()
    ]


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
    values = bytes.fromhex("00 41 7F 80 8F 90 9F A0 BF C1 C2 E0 E1 ED EF F0 F1 F4 F5")
    for data in itertools.chain.from_iterable(itertools.product(values, repeat=n) for n in (1, 2, 3)):
        if any(a == 0xED and b >= 0xA0 for a, b in itertools.pairwise(data)):
            continue  # half of a surrogate pair: Python waits for more, the standard does not
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        decoder.decode(bytes(data))
        assert unfinished(bytes(data)) == decoder.getstate()[0], data


def test_fit_keeps_the_end_of_a_long_prompt(gpt):
    text = "the old cat sat on the mat " * 40
    window = fit_prompt(gpt, text, 20)
    assert text.endswith(window.text)
    assert 15 <= window.tokens == len(gpt.tokenizer.encode(window.text).ids) <= 20
    assert window.total == len(gpt.tokenizer.encode(text).ids)
    assert fit_prompt(gpt, "the cat", 20).text == "the cat"
    assert fit_prompt(gpt, "", 20).tokens == 0
    faces = fit_prompt(gpt, "😀" * 50, 7)
    assert faces.text in ("😀", "😀😀", "😀😀😀")
    assert 0 < faces.tokens <= 7
    list(decode(gpt, fit_prompt(gpt, text, N_CTX - 1).text, max_new_tokens=1))


# ---------------- A decoding as data: there and back, run twice with equal steps, and everything that is refused.


STRATEGIES = [
    Greedy(),
    Sample(temperature=0, repetition_penalty=1.3),
    Sample(0.8, 9, 0.9, 7, 0.05, 1.2),
    Beam(3),
    Beam(4, 0.5, False, groups=2, diversity=0.7),
]
GOOD = {"decoding": 1, "model": "gpt", "text": "the old cat", "strategy": {"name": "sample", "seed": 3}}


@pytest.mark.quick(7)
@pytest.mark.parametrize("force", [(), ((1, 60), (3, 70))])
@pytest.mark.parametrize("strategy", STRATEGIES, ids=str)
def test_a_decoding_that_was_sent_writes_the_same(m, strategy, force):
    decoding = Decoding(m.name, "the old cat", strategy, max_new_tokens=6, force=force)
    sent = Decoding.from_json(decoding.to_json())
    assert sent == decoding
    assert hash(sent) == hash(decoding)
    one, two = (list(d.run(lambda name: {m.name: m}[name])) for d in (decoding, sent))
    assert len(one) > 1
    assert [(s.id, s.logprob, s.draw, s.candidates, s.text, s.ids, s.tree) for s in one] == [
        (s.id, s.logprob, s.draw, s.candidates, s.text, s.ids, s.tree) for s in two
    ]
    if force and not isinstance(strategy, Beam):
        assert one[1].id == 60 and one[1].chosen_by == "forced"


def test_every_field_comes_back():
    decoding = Decoding("bahdanau", 'año 😀\n"\ud800', Beam(2), "el gato", 17, [[4, 2], (0, 9)])
    again = Decoding.from_json(decoding.to_json())
    assert again == decoding
    assert again.force == ((0, 9), (4, 2))
    assert "\n" not in decoding.to_json()


def test_what_is_missing_and_has_a_default_takes_it():
    assert Decoding.from_json(json.dumps(GOOD)) == Decoding("gpt", "the old cat", Sample(seed=3))
    assert Decoding.from_json('{"decoding": 1, "model": "gpt", "text": ""}') == Decoding("gpt", "")


def without(name):
    return json.dumps({key: value for key, value in GOOD.items() if key != name})


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        ("", "cannot be read"),
        ("{", "cannot be read"),
        ("[" * 100_000, "nested too deeply"),
        ("[]", "no decoding"),
        ("null", "no decoding"),
        ('{"decoding": 1, "decoding": 1}', "occurs twice"),
        ('{"decoding": NaN}', "NaN is not a number"),
        ("\ud800", "not UTF-8"),
        ('{"width": 3}', "no decoding"),
        ({"decoding": 2}, "no decoding"),
        (without("model"), "no field 'model'"),
        (without("text"), "no field 'text'"),
        ({"edits": []}, "unknown field 'edits'"),
        ({"strategy": {"name": "sample", "top_q": 1}}, "strategy 'sample' has an unknown field 'top_q'"),
        ({"strategy": {"name": "magic"}}, "no strategy"),
        ({"strategy": {"name": ["beam"]}}, "no strategy"),
        ({"strategy": "beam"}, "no strategy"),
        ({"strategy": {"seed": 1}}, "no strategy"),
        ({"strategy": {"name": "sample", "temperature": "hot"}}, "temperature is hot"),
        ({"strategy": {"name": "beam", "early_stopping": "yes"}}, "Early stopping is yes"),
        ({"model": 3}, "model of the decoding is no text"),
        ({"text": None}, "text of the decoding is no text"),
        ({"max_new_tokens": -1}, "max_new_tokens is -1"),
        ({"max_new_tokens": True}, "max_new_tokens is True"),
        ({"force": {"1": 2}}, "no (step, id) pairs"),
        ({"force": [[1]]}, "no (step, id) pairs"),
        ({"force": [[1, "m"]]}, "no (step, id) pairs"),
        ({"force": [[1, -2]]}, "no (step, id) pairs"),
        ({"force": [[1, 2], [1, 3]]}, "two forced tokens"),
        ({"text": "a" * 10**6}, "letters"),
    ],
)
def test_a_broken_or_foreign_one_is_refused_in_three_parts(raw, says):
    with pytest.raises(InputError) as error:
        Decoding.from_json(raw if isinstance(raw, str) else json.dumps(GOOD | raw))
    assert says in error.value.wrong


def test_a_model_is_opened_by_a_listed_name_and_never_by_a_path(tmp_path):
    for name in ("no such model", str(tmp_path), "../models", "hf:gpt2"):
        with pytest.raises(InputError):
            Decoding(name, "the").run(default().open)


def test_closing_stops_the_work_and_nothing_is_done_before_the_first_step(m):
    count = counted(m)
    for strategy in STRATEGIES:
        before = count[0]
        steps = Decoding(m.name, "the old cat", strategy, max_new_tokens=20).run(lambda _: m)
        assert count[0] == before
        next(steps), next(steps)
        used = count[0]
        steps.close()
        assert list(steps) == []
        assert count[0] == used <= before + 3


@pytest.mark.parametrize("force", [(), ((0, 0),), ((3, 512), (7, 18)), ((0, 1), (1, 2), (40, 50_256))])
def test_forced_tokens_in_a_link_come_back(force):
    assert decode_force(encode_force(force)) == force


@pytest.mark.parametrize(
    "raw",
    [
        "3",
        "3:",
        ":3",
        "3:5:7",
        "a:1",
        "3:512,7:18",
        "3:512.",
        ".3:512",
        "3:-1",
        "-3:1",
        " 3:1",
        "3:1\n",
        "03:1",
        "3:01",
        "3:1.3:2",
        "7:1.3:2",
        "٣:1",
        "1_0:2",
        "1:9999999999",
        "3:1..4:2",
        "3:1.5",
        ".",
    ],
)
def test_a_broken_link_is_refused(raw):
    with pytest.raises(ValueError, match="step:id"):
        decode_force(raw)


def test_a_forced_token_outside_the_vocabulary_shows_when_it_is_run(m):
    with pytest.raises(InputError, match="no token"):
        Decoding(m.name, "the", force=decode_force("0:99999")).run(lambda _: m)


# ---------------- Texts that go round in circles, and translations without an end.


@pytest.mark.parametrize(
    ("text", "unit", "times"),
    [
        ("a a a", "a", 3),
        ("x a b a b a b", "a b", 3),
        ("x a b a b a b a", "a b", 3),
        ("a a a b c b c b c", "b c", 3),
    ],
)
def test_a_loop_is_the_shortest_unit_from_its_beginning(text, unit, times):
    assert find_loop(text.split()) == Loop(tuple(unit.split()), times)


@pytest.mark.parametrize("text", ["", "a", "a a", "a b a b", "a a a b", "a b c a b d a b c"])
def test_what_comes_twice_or_has_ended_is_no_loop(text):
    assert find_loop(text.split()) is None


def test_a_translation_without_an_end_is_told_with_its_loop_and_its_length():
    model = core.open_model("translator-en-es")
    run = model.run("ha ha ha ha", keep=[])
    n = len(run.tokens) - 1
    told = unfinished_note(run)
    assert (
        n == 3 * 4 + 10
        and told
        == f"translator-en-es does not find an end: it repeats “gran” {n} times in a row and is stopped after {n} tokens."
    )
    assert unfinished_note(model.run("The cat.", keep=[])) == "", "it ended by itself"
    assert unfinished_note(core.open_model("gpt-mini").run("a a a a", keep=[])) == "", (
        "nothing was translated"
    )


def test_a_text_without_end_need_not_be_a_loop():
    run = core.open_model("bahdanau-en-es").run("tick tock tick tock", keep=[])
    assert (
        unfinished_note(run)
        == f"bahdanau-en-es does not find an end: it is stopped after {len(run.tokens) - 1} tokens."
    )
