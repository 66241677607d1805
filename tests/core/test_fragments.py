"""What is cut out of sentence pairs for a translator's second stage, and how both sets of pairs are read side by side."""

import json
import math
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
import torch

from core.checkpoints import store
from core.data import fragments
from core.models import families
from core.text import Tokenizer
from core.text.learn import learn_byte_level_bpe
from core.tools import train
from core.training import pairs, word_pairs
from core.training.recipe import Recipe, recipes

CPU = torch.device("cpu")
NOUNS = {"cat": "gato", "dog": "perro", "horse": "caballo", "boy": "niño", "king": "rey"}
COLOURS = {"black": "negro", "white": "blanco", "red": "rojo"}
DEEDS = {"sleeps": "duerme", "eats": "come", "sings": "canta", "runs": "corre"}
ROWS = [
    (f"The {a} {n} {v} .", f"El {NOUNS[n]} {COLOURS[a]} {DEEDS[v]} .")
    for a, n, v in product(COLOURS, NOUNS, DEEDS)
] * 3


def test_words_and_phrases_are_found_through_another_order():
    found = dict(fragments.fragments(ROWS))
    assert {word: found[word] for word in (*NOUNS, *COLOURS, *DEEDS)} == NOUNS | COLOURS | DEEDS
    assert (found["red horse"], found["the red king"]) == ("caballo rojo", "el rey rojo")
    assert not any("." in side for pair in found.items() for side in pair)


def test_every_word_is_linked_once():
    sources, targets = ([text.lower().split() for text in side] for side in zip(*ROWS, strict=True))
    for source, target, links in zip(sources, targets, fragments.align_words(sources, targets), strict=True):
        assert len(set(links.values())) == len(links) == len(source)
        assert target[links[source.index(".")]] == "."


def test_a_word_that_comes_too_seldom_is_left_out():
    rows = [*ROWS, *[("The grey fox hides .", "El zorro gris duerme .")] * 3]
    assert not {"grey", "fox", "hides"} & {word for word, _ in fragments.fragments(rows)}


def test_one_word_may_be_two(monkeypatch):
    monkeypatch.setattr(fragments, "WEAK", 0)  # so few words are all common
    rows = [(f"maybe the {n} {v}", f"tal vez el {NOUNS[n]} {DEEDS[v]}") for n, v in product(NOUNS, DEEDS)]
    assert dict(fragments.fragments(ROWS + rows))["maybe"] == "tal vez"


def test_names_and_days_keep_their_capitals():
    rows = [(f"On Monday Tom {v} .", f"El lunes Tom {DEEDS[v]} .") for v in DEEDS] * 3
    found = fragments.fragments(ROWS + rows)
    assert ("Tom", "Tom") in found and ("Monday", "lunes") in {(s, t.removeprefix("el ")) for s, t in found}


def learnt():
    return learn_byte_level_bpe(
        [side for pair in ROWS for side in pair], 400, pairs.SPECIAL, prefix_space=True
    )


def task(seed: int = 0) -> word_pairs.MixedPairs:
    text = Tokenizer(learnt(), **pairs.IDS)
    long, short = (pairs.encode_pairs(text, rows) for rows in (ROWS, list(NOUNS.items())))
    return word_pairs.MixedPairs(
        pairs.SentencePairs(long, long[:7], text, seed, CPU, 512),
        pairs.SentencePairs(short, short, text, seed, CPU, 64),
    )


def test_both_sets_are_read_at_every_step_and_the_loss_is_their_mean():
    made, config = task(), replace(families()["transformer"].config.tiny(), n_vocab=400, n_ctx=32)
    torch.manual_seed(0)
    network = families()["transformer"].network(config).eval()
    (long, short), n = made.batch(3)
    assert torch.equal(long[1], made.sentences.batch(3)[0][1]) and torch.equal(
        short[1], made.bare.batch(3)[0][1]
    )
    assert n == made.sentences.batch(3)[1] + made.bare.batch(3)[1]
    assert 2 * long[1].numel() <= 512 + 2 * len(long[1]) and 2 * short[1].numel() <= 64 + 2 * len(short[1])
    with torch.no_grad():
        checked = made.check(network)
        whole = float(made.loss(network, (long, short)))
        parts = [
            float(each.loss(network, part)) for each, part in ((made.sentences, long), (made.bare, short))
        ]
    assert whole == pytest.approx((1 - word_pairs.SHARE) * parts[0] + word_pairs.SHARE * parts[1])
    assert set(checked) == {"valid_nats", "bare_nats"} and all(map(math.isfinite, checked.values()))


def test_sentences_follow_the_network_that_it_began_with():
    made, config = task(), replace(families()["transformer"].config.tiny(), n_vocab=400, n_ctx=32)
    torch.manual_seed(0)
    network = families()["transformer"].network(config).eval()
    made.follow(network)
    batch, _ = made.batch(0)
    with torch.no_grad():
        assert float(word_pairs.distance(network, made.teacher, *batch[0])) == pytest.approx(0, abs=1e-6)
        assert float(made.loss(network, batch)) == pytest.approx(
            word_pairs.SHARE * float(made.bare.loss(network, batch[1])), abs=1e-6
        )
        network.embed["token"].weight.mul_(1.5)  # the teacher is a copy
        inputs, wanted = batch[0]
        p, q = (each.logits(each(inputs)[wanted != 0]).softmax(-1) for each in (made.teacher, network))
        assert float(word_pairs.distance(network, made.teacher, *batch[0])) == pytest.approx(
            float((p * (p / q).log()).sum(-1).mean()), rel=1e-4
        )
    assert all(not weight.requires_grad for weight in made.teacher.parameters())


def test_the_translators_second_stage_is_the_first_on_more():
    first = recipes()["translator-en-es"]
    then = first.then
    assert then is not None and then.then is None
    assert (then.name, then.family, then.config, then.ids) == (
        first.name,
        first.family,
        first.config,
        first.ids,
    )
    assert then.prepare is word_pairs.prepare and first.prepare is pairs.prepare
    assert then.lr < first.lr / 10 and then.matrix_lr < first.matrix_lr / 10


@pytest.mark.slow
def test_the_command_goes_through_both_stages(monkeypatch, tmp_path):
    config = replace(families()["transformer"].config.tiny(), n_vocab=400, n_ctx=32)

    def prepare(_data: Path, work: Path, seed: int, _device: torch.device) -> word_pairs.MixedPairs:
        learnt().save(str(work / "tokenizer.json"))
        return task(seed)

    first = Recipe(name="both", family="transformer", config=config, steps=4, prepare=prepare, ids=pairs.IDS)
    monkeypatch.setattr(
        train,
        "recipes",
        lambda: {
            "both": replace(first, then=replace(first, steps=6, lr=0.0, matrix_lr=0.0, weight_decay=0.0)),
            "one": first,
        },
    )
    monkeypatch.chdir(tmp_path)
    common = ["--data", "d", "--out", "models", "--device", "cpu"]
    assert train.main(["both", *common]) == 0
    begun = store.load_weights(tmp_path / "models/both")
    assert train.main(["both", *common, "--then"]) == 0
    ended = store.load_weights(tmp_path / "models/both")
    assert all(
        torch.equal(begun[name], ended[name]) for name in begun
    )  # its rates are zero: it began where the first ended
    record = json.loads((tmp_path / "models/both/training.json").read_text())
    assert (
        record["steps"] == 10 and record["command"].count("&&") == 1 and record["command"].endswith("--then")
    )
    with pytest.raises(SystemExit):
        train.main(["one", *common, "--then"])
    with pytest.raises(SystemExit):
        train.main(["both", *common, "--then", "--from", "both"])
