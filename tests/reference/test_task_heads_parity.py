"""Heads of fine-tuned models of all kinds give the numbers of the transformers library, alone and in a padded batch."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from kinds import CASES, Case
from parity import redraw
from safetensors.torch import load_file, save_file
from test_kinds_parity import MADE, ending, side_of
from tokenizers import Tokenizer, processors

import core
from core.analysis.attribution import logit_attribution
from core.analysis.attribution.target_token import default_row, output_target
from core.analysis.residual.logit_lens import unembed
from core.analysis.task_outputs import answer_span
from core.checkpoints.inspect import report
from core.text.words import words_in
from core.tools.export import export_model

SAME = 1e-5
TEXTS = ("The animal didn't cross the street.", "She has a white car.")
KINDS = {
    "bert": "STA",
    "distilbert": "STA",
    "roberta": "STA",
    "xlm-roberta": "STA",
    "camembert": "STA",
    "deberta, own maps": "STA",
    "modernbert": "STA",
    "modernbert, mean": "S",
    "electra": "STA",
    "electra, narrow": "S",
    "mpnet": "STA",
    "albert": "STA",
    "big_bird": "ST",
    "gpt2": "STA",
    "gpt1": "S",
    "gpt_neo": "STA",
    "gpt_neox": "STA",
    "llama": "STA",
    "mistral": "STA",
    "qwen2": "STA",
    "qwen3": "STA",
    "gemma": "ST",
    "gemma2": "ST",
    "gemma3": "S",
    "bart": "SA",
    "t5": "STA",
    "mt5": "ST",
}
"""The tasks of each row of `kinds.py`: sequences, tokens, answers."""
CHANGES = {
    "deberta, own maps": {"pooler_hidden_size": 33},
    "modernbert, mean": {"classifier_pooling": "mean"},
}
TASKS = {"S": "SequenceClassification", "T": "TokenClassification", "A": "QuestionAnswering"}
HEADS = [(kind, TASKS[task]) for kind, tasks in KINDS.items() for task in tasks]


def row_of(kind: str) -> Case:
    return CASES.get(kind) or CASES[kind.partition(",")[0]]


def save_tuned(folder: Path, kind: str, task: str, **changes):
    """Return the library's model of a row with a head and random weights, and write its folder."""
    case = row_of(kind)
    rules = MADE[side_of(case)]
    sizes = {key: value for key, value in case.values.items() if (key, value) != ("head_dim", None)}
    sizes |= {"vocab_size": rules.get_vocab_size() + 3, **CHANGES.get(kind, {}), **changes}
    kind_of = getattr(transformers, f"{case.config.__name__.removesuffix('Config')}For{task}")
    made = redraw(kind_of._from_config(case.config(**sizes), attn_implementation="eager"))
    made.save_pretrained(folder)
    rules.save(str(folder / "tokenizer.json"))
    return made


def theirs(made, ids) -> np.ndarray:
    with torch.no_grad():
        out = made(torch.tensor([ids]))
    if "start_logits" in out:
        return torch.stack([out.start_logits[0], out.end_logits[0]], -1).numpy()
    return out.logits[0].numpy()


@pytest.mark.quick(8)
@pytest.mark.parametrize(("kind", "task"), HEADS)
def test_a_head_gives_the_numbers_of_the_library(kind, task, tmp_path):
    made = save_tuned(tmp_path / "model", kind, task, num_labels=2 if task == TASKS["A"] else 4)
    model = core.open_model(str(tmp_path / "model"))
    output = {"SequenceClassification": "classes", "TokenClassification": "tags"}.get(task, "answer")
    assert model.head is not None and model.head.output == output and "logits" not in model.outputs
    for run in (*model.run_many(TEXTS), model.run(TEXTS[0])):
        n = (run.source or run.side).n_real
        wanted = theirs(made, (run.source or run).ids[:n])
        found = getattr(run, output)
        found = found if output == "classes" else found[:n]
        assert found.shape == wanted.shape and np.abs(found - wanted).max() <= SAME
    whole = model.run(TEXTS[0], keep=logit_attribution.KEEP)
    stack = "decoder" if model.spec.has_source else None
    last = unembed(model, whole.hidden(stack)[-1])
    assert np.abs(last - whole.scores).max() <= SAME  # the lens ends with the scores of the head
    for asked in (
        output_target(whole, default_row(whole), 1),
        output_target(whole, default_row(whole), 0, 1),
    ):
        parts, row = logit_attribution.attribute(whole, asked), whole.scores[asked.row]
        logit = row[asked.token] - (0 if asked.against is None else row[asked.against])
        assert parts.logit == pytest.approx(logit) and parts.total == pytest.approx(logit, abs=1e-4)
    if output == "classes":
        assert model.class_names == ("LABEL_0", "LABEL_1", "LABEL_2", "LABEL_3")
    assert "not used" not in " ".join(report(tmp_path / "model")[0])


def changed(folder: Path, **values) -> str:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | values))
    return str(folder)


ONE = ("bert", "distilbert", "roberta", "modernbert", "qwen3", "bart")


@pytest.mark.quick(2)
@pytest.mark.parametrize("kind", ONE)
def test_one_label_is_a_score_of_a_text_or_of_a_pair(kind, tmp_path):
    made = save_tuned(tmp_path / "model", kind, TASKS["S"], num_labels=1)
    model = core.open_model(str(tmp_path / "model"))
    assert model.can("score_texts") and not model.can("score_classes") and model.main_output == "score"
    pair = TEXTS[1] if model.spec.framed and model.can("read_pairs") and kind != "roberta" else None
    run = model.run(TEXTS[0], pair=pair)
    with torch.no_grad():
        ids = torch.tensor([(run.source or run.side).ids])
        more = {} if pair is None else {"token_type_ids": torch.tensor([run.segments])}
        wanted = made(ids, **more).logits[0].numpy()
    assert run.score.shape == (1,) and np.abs(run.score - wanted).max() <= SAME


CHOOSING = (
    *("bert", "distilbert", "roberta", "deberta, own maps", "electra", "mpnet"),
    *("albert", "big_bird", "modernbert"),
)


@pytest.mark.quick(2)
@pytest.mark.parametrize("kind", CHOOSING)
def test_each_answer_that_may_be_chosen_gets_the_score_of_the_library(kind, tmp_path):
    """Compare the scores of a question with each answer, a pair of texts; the largest is the choice."""
    made = save_tuned(tmp_path / "model", kind, "MultipleChoice")
    model = core.open_model(str(tmp_path / "model"))
    assert model.main_output == "score" and model.can("read_pairs") and not model.can("score_words")
    runs = model.run_many([TEXTS[0]] * 2, pairs=[TEXTS[1], "Once upon a time"])
    for run in runs:
        n, parted = (
            run.side.n_real,
            getattr(made.config, "type_vocab_size", 0) > 1 and kind not in ("roberta", "mpnet"),
        )
        more = {"token_type_ids": torch.tensor([[run.segments[:n]]])} if parted else {}
        with torch.no_grad():
            wanted = made(torch.tensor([[run.ids[:n]]]), **more).logits[0].numpy()
        assert run.score.shape == (1,) and np.abs(run.score - wanted).max() <= SAME


PAIRED = {
    **dict.fromkeys(("bert", "camembert", "distilbert", "albert"), "A"),
    **dict.fromkeys(
        ("roberta", "xlm-roberta", "mpnet", "deberta, own maps", "modernbert, mean", "electra"), "S"
    ),
}


@pytest.mark.quick(3)
@pytest.mark.parametrize("template", [True, False], ids=["template", "bare"])
@pytest.mark.parametrize(("kind", "task"), PAIRED.items())
def test_two_texts_are_framed_and_scored_as_by_the_library(kind, task, template, tmp_path):
    """Compare with the template of tokenizer.json for two texts, and without one: then it is that of the kind."""
    rules = Tokenizer.from_str(MADE["encoder"].to_str())
    made = save_tuned(tmp_path / "model", kind, TASKS[task], num_labels=2 if task == "A" else 1)
    start, end = (rules.token_to_id(mark) for mark in ("[CLS]", "[SEP]"))
    twice = kind in ("roberta", "xlm-roberta", "camembert", "mpnet")
    kind_of = processors.RobertaProcessing if twice else processors.BertProcessing
    rules.post_processor = kind_of(("[SEP]", end), ("[CLS]", start))
    encoding = rules.encode(*TEXTS)
    bare = json.loads(rules.to_str()) | {"post_processor": None}
    written_rules = rules.to_str() if template else json.dumps(bare)
    (tmp_path / "model" / "tokenizer.json").write_text(written_rules)
    model = core.open_model(str(tmp_path / "model"))
    run, alone = (
        model.run(TEXTS[0], pair=TEXTS[1]),
        model.run_many([TEXTS[0], TEXTS[1]], pairs=[TEXTS[1], None]),
    )
    assert run.ids == alone[0].ids == tuple(encoding.ids) and alone[1].side.pair is None
    second = [
        word.text for word in run.side.words if run.segments[word.pieces[0]] and run.spans[word.pieces[0]]
    ]
    assert second == ["She", "has", "a", "white", "car", "."]
    segments = getattr(made.config, "type_vocab_size", 0) == 2 and not twice
    more = {"token_type_ids": torch.tensor([encoding.type_ids])} if segments else {}
    with torch.no_grad():
        out = made(torch.tensor([encoding.ids]), **more)
    wanted = torch.stack([out.start_logits[0], out.end_logits[0]], -1) if task == "A" else out.logits[0]
    for each in (run, alone[0]):
        assert np.abs((each.answer if task == "A" else each.score) - wanted.numpy()).max() <= SAME
    assert model.can("read_pairs")
    if task == "A":
        span = answer_span(run)
        assert span is not None and run.segments[span.tokens[0]] == 1


TEMPLATES = {
    "roberta": ("<s> $A </s>", "<s> $A </s> </s> $B </s>"),
    "one end": ("$A </s>", "$A </s> $B </s>"),
    "llama": ("<s> $A", "<s> $A <s> $B"),
    "end behind": ("$A </s>", "$A $B </s>"),
    "none": None,
}
TWO = [
    *(("bart", task, "roberta") for task in "SA"),
    *(("t5", task, "one end") for task in "SA"),
    ("mt5", "S", "one end"),
    ("gpt2", "S", "none"),
    ("llama", "S", "llama"),
    ("llama", "S", "none"),
    ("llama", "T", "llama"),
    ("qwen3", "S", "end behind"),
    ("gemma", "S", "llama"),
    ("gpt_neox", "A", "none"),
]


@pytest.mark.quick(4)
@pytest.mark.parametrize(("kind", "task", "template"), TWO)
def test_encoder_decoders_and_decoders_read_two_texts_as_the_library(kind, task, template, tmp_path):
    """Compare with the template for two texts; without one no mark stands between them."""
    rules, n_out = ending(), {"A": 2, "S": 3, "T": 4}[task]
    made = save_tuned(tmp_path / "model", kind, TASKS[task], num_labels=n_out)
    marks = TEMPLATES[template]
    special = [("<s>", 0), ("</s>", 1)]
    rules.post_processor = marks and processors.TemplateProcessing(
        single=marks[0], pair=marks[1], special_tokens=special
    )
    rules.save(str(tmp_path / "model" / "tokenizer.json"))
    library = transformers.PreTrainedTokenizerFast(tokenizer_object=rules)
    model = core.open_model(str(tmp_path / "model"))
    assert model.can("read_pairs")
    read = [(TEXTS[0], TEXTS[1]), (TEXTS[1], None), (TEXTS[1], "Once upon a time")]
    runs = model.run_many([first for first, _ in read], pairs=[second for _, second in read])
    for run, (first, second) in zip(runs, read, strict=True):
        side = (run.source or run.side).without_padding
        assert side.ids == tuple(library(first, second)["input_ids"]) and side.pair == second
        output = "answer" if task == "A" else "tags" if task == "T" else "classes"
        assert np.abs(getattr(run, output) - theirs(made, side.ids)).max() <= SAME
        if second is not None:
            places = [word.pieces[0] for word in side.words]
            parted = [side.segments[place] for place in places if side.spans[place]]
            assert sum(parted) == len(words_in(second)) and parted == sorted(parted)
            assert run.side.pair == second and len(run.side.segments) == len(run.side.ids)
    with pytest.raises(core.InputError, match="second text is empty"):
        model.run(TEXTS[0], pair=" ")


def test_names_and_the_sort_of_the_problem_are_read(tmp_path):
    folder = tmp_path / "model"
    save_tuned(folder, "bert", TASKS["S"], num_labels=3)
    said = {"0": "good", "1": "bad", "2": "good"}
    model = core.open_model(
        changed(folder, id2label=said, problem_type="multi_label_classification", label2id={})
    )
    assert model.class_names == ("good", "bad", "good (2)") and model.head is not None and model.head.several
    for odd in (
        {"0": "a", "1": "b"},
        {"0": "a", "1": 3, "2": "c"},
        [1, 2],
        None,
        {"0": "a", "1": " ", "2": "c"},
    ):
        model = core.open_model(changed(folder, id2label=odd, problem_type=None))
        assert model.class_names == ("class 0", "class 1", "class 2") and not model.head.several
    long = {"0": "x" * 10**4, "1": "[a](http://b.c)\n**d**", "2": "\x1b[31mred"}
    names = core.open_model(changed(folder, id2label=long)).class_names
    with pytest.raises(core.InputError, match="has a head for classes"):
        export_model(model, tmp_path / "out")
    assert names[0] == "x" * 39 + "…" and "\n" not in names[1] and "\x1b" not in names[2]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"classifier.bias": None}, "Weights missing: classifier.bias"),
        ({"classifier.weight": torch.zeros(3, 32)}, "classifier.weight"),
        ({"classifier.weight": torch.full((3, 33), torch.nan)}, "NaN"),
    ],
)
def test_a_head_that_does_not_fit_is_refused(change, words, tmp_path):
    folder = tmp_path / "model"
    save_tuned(folder, "bert", TASKS["S"], num_labels=3)
    state = load_file(folder / "model.safetensors") | change
    save_file(
        {k: v for k, v in state.items() if v is not None}, folder / "model.safetensors", {"format": "pt"}
    )
    with pytest.raises(core.InputError, match=words):
        core.open_model(str(folder))


def test_a_gradient_and_an_edit_reach_a_head(tmp_path):
    for kind in ("distilbert", "llama", "bart"):
        save_tuned(tmp_path / kind, kind, TASKS["S"], num_labels=3)
        model = core.open_model(str(tmp_path / kind))
        run = model.run(TEXTS[0], grad="class:LABEL_1")
        leaf = next(path for path in run.trace.names("*embed.token"))
        assert np.abs(run.trace.grad(leaf)).max() > 0
        kind_of = model.spec.kinds[-1]
        heads = kind_of.path(1, "heads")
        off = model.run(TEXTS[0], edits=[core.edits.ZeroHead(heads, head=0)])
        assert np.abs(off.classes - run.classes).max() > 1e-4
        assert run.scores.shape == (1, 3) and model.choice(1) == "LABEL_1"
