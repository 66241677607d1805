"""Documents with a class: where sentences end, how a file is read and laid out, accuracy, and the two baselines beside it."""

from __future__ import annotations

import json
import lzma
import math
from collections import Counter
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch
from small_models import small_network

import core
from core.checkpoints.scores import read_scores
from core.data.documents import Document, encode_sentences, pad_documents, read_documents
from core.errors import InputError
from core.layers.config_checks import LONGEST_NAME, check_classes
from core.maths import softmax
from core.models import families
from core.scoring import bags, classes
from core.text import Tokenizer
from core.text.learn import learn_word_list
from core.text.sentences import sentence_numbers, sentences_of
from core.tools import evaluate, folds
from core.training.recipes import han_genres

TEXTS = {
    "sea": ("The ship sank.", "A wave took the mast.", "All men swam."),
    "wood": ("The wolf ran.", "A tree fell on the path.", "All birds flew."),
}


def model(seed=0):
    tokenizer = Tokenizer(learn_word_list([text for some in TEXTS.values() for text in some], 60), pad=0)
    network = small_network("han", seed, 0.4, n_vocab=len(tokenizer), n_ctx=41, classes=("sea", "wood"))
    return core.Model("tiny-han", families()["han"], network.cfg, network, tokenizer)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "some.jsonl.xz"
    rows = [{"label": label, "sentences": list(some[:n])} for n in (1, 2, 3) for label, some in TEXTS.items()]
    with lzma.open(path, "wt", encoding="utf-8") as out:
        out.writelines(json.dumps(row) + "\n" for row in rows)
    return path


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ("Mr. J. Brown met Dr. Hay.", ["Mr. J. Brown met Dr. Hay."]),
        ("It was I. He knew.", ["It was I.", "He knew."]),
        ('"Run!" she cried. "Now."', ['"Run!" she cried.', '"Now."']),
        ("At 5 p.m. it rained. 3 men came.", ["At 5 p.m. it rained.", "3 men came."]),
        ("A line\nthat goes on. And on.", ["A line\nthat goes on.", "And on."]),
        ("A heading\n\nA sentence.", ["A heading", "A sentence."]),
        ("你好。再见！", ["你好。", "再见！"]),
        ("مرحبا؟ نعم.", ["مرحبا؟", "نعم."]),
        ("...", ["..."]),
        ("  \n\n ", []),
        ("", []),
    ],
)
def test_where_sentences_end(text, wanted):
    assert [text[start:end] for start, end in sentences_of(text)] == wanted


def test_every_letter_of_a_text_is_in_one_sentence():
    text = 'He said: "No. 5 is out." (Why?) Nobody knew...  Then\n\nthe end. e. E.'
    places = sentences_of(text)
    assert all(a < b <= c for (a, b), (c, _) in pairwise(places))
    inside = {place for start, end in places for place in range(start, end)}
    assert all(place in inside or char.isspace() for place, char in enumerate(text))


def test_numbers_have_no_gap_where_a_sentence_has_no_token():
    assert sentence_numbers("One. Two. Three.", [(0, 3), (10, 15)]) == (0, 1)
    assert sentence_numbers("One. Two.", [None, (0, 3), (5, 8)]) == (0, 0, 1)


def test_documents_are_read_and_laid_out(file):
    found = list(read_documents(file))
    assert found[3] == Document("wood", TEXTS["wood"][:2]) and len(found) == 6
    ids, numbers, real = pad_documents(encode_sentences(found[2:4], model().tokenizer), pad=0, n_ctx=8)
    assert ids.shape == (2, 8) and numbers[0].tolist() == [0, 0, 0, 0, 1, 1, 1, 1] and real.all()


@pytest.mark.parametrize(
    "line", ["{", "[]", '{"label": 3, "sentences": ["a"]}', '{"label": "a", "sentences": []}']
)
def test_a_line_that_is_no_document_is_named(tmp_path, line):
    path = tmp_path / "bad.jsonl"
    path.write_text(json.dumps({"label": "sea", "sentences": ["A."]}) + "\n" + line + "\n")
    with pytest.raises(InputError, match="Line 2 of bad.jsonl is not a document"):
        list(read_documents(path))


def test_accuracy_is_that_of_running_each_document_alone(file):
    made = model()
    found = classes.measure(made, file)
    right, lost = Counter(), 0.0
    for document in read_documents(file):
        scores = torch.from_numpy(made.run(" ".join(document.sentences)).classes.astype(np.float64))
        wanted = made.config.classes.index(document.label)
        right[document.label] += int(scores.argmax()) == wanted
        lost -= float(scores.log_softmax(0)[wanted])
    assert found["accuracy"] == sum(right.values()) / 6 and found["items"] == 6
    assert found["accuracy_by_class"] == {label: right[label] / 3 for label in ("sea", "wood")}
    assert found["nats"] == pytest.approx(lost / 6, abs=1e-5) and found["commonest"] == 0.5


def test_another_class_or_no_document_is_refused(tmp_path, file):
    path = tmp_path / "other.jsonl"
    path.write_text('{"label": "sky", "sentences": ["A cloud."]}\n')
    with pytest.raises(InputError, match="other.jsonl has the classes sky"):
        classes.measure(model(), path)
    path.write_text("\n")
    with pytest.raises(InputError, match="no document"):
        classes.measure(model(), path)


def test_naive_bayes_by_hand():
    """p(c) (n_w + 1) / (N_c + V): sea has 3 words, wood 2, 4 are known."""
    train, wanted = [Counter("aab"), Counter("cd")], np.array([0, 1])
    for test, odds in ((Counter("a"), (3 / 7) / (1 / 6)), (Counter("bc"), (2 / 7 * 1 / 7) / (1 / 6 * 2 / 6))):
        assert bags.naive_bayes(train, wanted, [test], 2).tolist() == [0 if odds > 1 else 1]
    assert bags.naive_bayes(train, wanted, [Counter("zz")], 2).tolist() == [
        0
    ]  # nothing known: the first of equal priors


@pytest.mark.parametrize("name", ["", "x" * (LONGEST_NAME + 1), 3])
def test_a_name_of_a_class_is_a_text_that_can_be_shown(name):
    with pytest.raises(ValueError, match="two or more different names"):
        check_classes(["sea", name])


def test_tf_idf_by_hand():
    words, weight = bags._weighed(Counter("aab"), {"a": 0, "b": 1}, np.array([1.0, 2.0]))
    assert words.tolist() == [0, 1] and weight[0] / weight[1] == pytest.approx((1 + math.log(2)) / 2)
    assert np.linalg.norm(weight) == pytest.approx(1)


def test_a_rare_word_counts_more_in_the_scores_of_the_linear_classifier():
    """The score of two words is that of each, weighed by 1 + log(documents / those with the word), over the length."""
    train = [Counter(words) for words in ("ab", "ab", "ac", "ac")]
    asked = [Counter(words) for words in ("a", "b", "ab")]
    common, rare, both = bags.linear_scores(train, np.array([0, 0, 1, 1]), asked, 2)
    idf = 1 + math.log(2)
    np.testing.assert_allclose(both, (common + idf * rare) / math.hypot(1, idf), atol=1e-5)
    assert rare[0] - rare[1] > 1


def test_the_weights_of_the_linear_classifier_are_where_its_loss_is_least():
    """Two texts of a class are one unit vector x each: W x = FIT (2 - 2 p), with p its softmax."""
    texts = [Counter(words) for words in ("ab", "ab", "cd", "cd")]
    scores = bags.linear_scores(texts, np.array([0, 0, 1, 1]), texts, 2)
    right = np.eye(2)[[0, 0, 1, 1]]
    np.testing.assert_allclose(scores, 2 * bags.FIT * (right - softmax(scores)), atol=1e-2)


def test_the_linear_classifier_learns_pairs_that_single_words_do_not_tell():
    """Order alone: "a b" against "b a", every word as often in both."""
    rows = [Document(label, (text,)) for label, text in (("x", "a b"), ("y", "b a")) for _ in range(8)]
    found = bags.baseline_classes(rows, [Document("", ("a b",)), Document("", ("b a",))], ("x", "y"))
    assert [each.tolist() for each in found.values()][1] == [0, 1]


def test_the_command_measures_and_sets_beside(tmp_path, file, monkeypatch, capsys):
    made = model()
    folder = tmp_path / "models" / made.name
    folder.mkdir(parents=True)
    monkeypatch.setattr(evaluate, "open_model", lambda name: made)
    monkeypatch.setattr(evaluate.store, "shipped_folder", lambda: folder.parent)
    monkeypatch.setattr(evaluate.store, "write_manifest", lambda folder: None)
    asked = ["tiny-han", "--data", str(file), "--beside", str(file), "--record", "test", "--device", "cpu"]
    assert evaluate.main(asked) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["accuracy"] == classes.measure(made, file)["accuracy"] >= 0
    assert told["beside"]["naive Bayes over words"]["accuracy"] == 1.0
    rows = read_scores(folder)
    assert rows[0].subject == "tiny-han" and {row.subject for row in rows} == {"tiny-han", *told["beside"]}
    assert any(row.measure == "accuracy_by_class, wood" for row in rows)
    assert evaluate.main(["tiny-han", "--beside", str(file)]) == 2
    assert "Give --data FILE" in capsys.readouterr().err


def pages(n=4):
    """n pages of each class: what is said in it names the class."""
    return [
        Document(label, (f"The {label.split('_')[0]} came.", f"A word{page} was said."))
        for label in han_genres.LABELS
        for page in range(n)
    ]


def test_the_recipe_hides_words_and_goes_on_as_it_would_have(tmp_path):
    some = pages(24)
    tokenizer = Tokenizer(learn_word_list([each for one in some for each in one.sentences], 60), pad=0)
    task = han_genres.Documents(some, some[:9], tokenizer, 3, torch.device("cpu"))
    (batch, wanted), n = task.batch(5)
    (again, same), _ = task.batch(5)
    assert torch.equal(batch.ids, again.ids) and torch.equal(wanted, same) and n == int(batch.real.sum())
    assert len(wanted) == han_genres.ROWS
    hidden = (batch.ids[batch.real] == han_genres.UNKNOWN).float().mean()
    assert abs(float(hidden) - han_genres.HIDDEN) < 0.08
    network = families()["han"].network(replace(han_genres.RECIPE.config, n_vocab=len(tokenizer), d_model=34))
    before = task.loss(network, (batch, wanted)).item()
    optim = torch.optim.AdamW(network.parameters(), lr=0.02)
    for step in range(12):
        optim.zero_grad()
        task.loss(network, task.batch(step)[0]).backward()
        optim.step()
    assert task.loss(network, (batch, wanted)).item() < before - 0.3
    with torch.inference_mode():
        assert task.check(network.eval())["accuracy"] > 0.5


def test_words_begin_with_the_vectors_that_vectors_mini_has():
    network = families()["han"].network(han_genres.RECIPE.config)
    han_genres.begin(network)
    known = core.open_model("vectors-mini").network.embed["token"].weight
    here = network.embed["token"](torch.arange(1, len(known))).detach()
    assert abs(float(here.std()) - 1) < 0.05 and float(here.mean(0).abs().max()) < 1e-4
    a, b = here[100] - here[200], known[101] - known[201]
    assert float(torch.cosine_similarity(a, b, dim=0)) > 0.9999


# ---------------- Folds of whole books: no book is on both sides, every document is held out once, and a fold is measured on its own books.


@pytest.fixture
def data(tmp_path):
    """Three splits of 12 books of each class, two pages each; a page names its class."""
    for place, split in enumerate(folds.SPLITS):
        rows = [
            {
                "label": label,
                "book": f"{label} {4 * place + book}",
                "sentences": [f"The {label.split('_')[0]} came.", f"Page {page}."],
            }
            for label in han_genres.LABELS
            for book in range(4)
            for page in range(2)
        ]
        path = tmp_path / "genres" / f"{split}.jsonl"
        path.parent.mkdir(exist_ok=True)
        path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return tmp_path


def test_each_book_is_left_out_once_and_whole(data, tmp_path):
    seen = []
    for folder in folds.split_by_book(data, tmp_path / "work", 3, seed=0):
        train, valid = ([*read_documents(folder / "genres" / f"{name}.jsonl")] for name in ("train", "valid"))
        assert len(train) + len(valid) == 144
        assert {each.book for each in train}.isdisjoint(each.book for each in valid)
        assert np.unique([each.label for each in valid], return_counts=True)[1].tolist() == [8] * 6
        seen += [each.book for each in valid]
    assert len(seen) == 144 and len(set(seen)) == 72


@pytest.mark.parametrize("n", [1, 13])
def test_too_few_books_for_the_folds_are_refused(data, tmp_path, n):
    with pytest.raises(InputError, match=f"{n} folds"):
        folds.split_by_book(data, tmp_path / "work", n, seed=0)


@pytest.mark.slow
def test_a_fold_is_trained_on_the_other_books_and_measured_on_its_own(data, tmp_path):
    folder = folds.split_by_book(data, tmp_path / "work", 2, seed=0)[0]

    def prepare(where, work, seed, device):
        sets = [[*read_documents(where / "genres" / f"{name}.jsonl")] for name in ("train", "valid")]
        backend = learn_word_list((each for one in sets[0] for each in one.sentences), 60)
        return han_genres.Documents(*sets, Tokenizer(backend, pad=0), seed, device)

    config = replace(han_genres.RECIPE.config, n_vocab=60, d_model=32, dropout=0.0)
    recipe = replace(han_genres.RECIPE, prepare=prepare, begin=lambda network: None, config=config)
    recipe = replace(recipe, steps=60, warm_up=5, lr=0.03)
    found = folds.measure_fold(recipe, folder, seed=0, baselines=True)
    assert found["items"] == 72 and set(found["accuracy_by_class"]) == set(han_genres.LABELS)
    again = folds.measure_fold(recipe, folder, seed=0, resume=True)
    assert {**again, "beside": found["beside"]} == found, "nothing is left to train"
    assert found["accuracy"] > 0.9 and found["beside"]["naive Bayes over words"]["accuracy"] == 1.0


def test_the_summary_is_of_the_folds():
    rows = [{"items": 3, "accuracy": a, "accuracy_by_class": {"x": a, "y": 1.0}} for a in (0.5, 0.7, 0.9)]
    found = folds.summarise(rows)
    assert (found["items"], found["accuracy_by_class"]) == (9, {"x": pytest.approx(0.7), "y": 1.0})
    assert found["accuracy"] == pytest.approx(0.7) and found["accuracy_spread"] == pytest.approx(0.2)
    assert found["accuracy_by_fold"]["fold 3"] == 0.9


def test_the_words_of_the_most_books_come_first():
    pages = [("one", ("rare rare rare rare common",)), ("two", ("common",)), ("three", ("common other",))]
    documents = [han_genres.Document("x", sentences, book) for book, sentences in pages]
    lines = [*han_genres._by_book(documents)]
    assert sorted(lines) == ["common", "common other", "common rare"]
    assert learn_word_list(lines, 2).encode("common rare").tokens == ["common", "[UNK]"]
