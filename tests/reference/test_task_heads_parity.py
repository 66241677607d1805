"""Heads of fine-tuned models of all kinds give the numbers of the transformers library, alone and in a padded batch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from parity import redraw
from safetensors.torch import load_file, save_file
from tokenizers import processors

import core
from core.analysis.attribution import logit_attribution
from core.analysis.attribution.target_token import about, telling
from core.analysis.residual.logit_lens import read_out
from core.analysis.task_outputs import answer_span
from core.checkpoints.inspect import report
from core.text.learn import byte_level_bpe, wordpiece
from core.text.words import words_in
from core.tools.export import export_model

SAME = 1e-5
TEXTS = ("The animal didn't cross the street.", "She has a white car.")
KIN: dict[str, Any] = {
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "hidden_size": 16,
    "intermediate_size": 20,
    "max_position_embeddings": 48,
    "initializer_range": 0.3,
}
TURNED = {**KIN, "num_key_value_heads": 1, "head_dim": 8, "pad_token_id": 0}
SMALL = {"n_layer": 2, "n_head": 2, "n_embd": 16, "n_positions": 48, "n_inner": 20, "pad_token_id": 0}
STACKS = {
    "d_model": 16,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 20,
    "decoder_ffn_dim": 20,
    "max_position_embeddings": 48,
    "bos_token_id": 2,
    "eos_token_id": 3,
    "pad_token_id": 0,
    "decoder_start_token_id": 3,
}
T5 = {
    "d_model": 16,
    "d_kv": 8,
    "d_ff": 20,
    "num_layers": 2,
    "num_heads": 2,
    "eos_token_id": 3,
    "decoder_start_token_id": 0,
}
KINDS: dict[str, tuple[str, dict[str, Any], str]] = {
    "bert": ("Bert", KIN, "STA"),
    "distilbert": (
        "DistilBert",
        {"n_layers": 2, "n_heads": 2, "dim": 16, "hidden_dim": 20, "max_position_embeddings": 48},
        "STA",
    ),
    "roberta": ("Roberta", KIN, "STA"),
    "xlm-roberta": ("XLMRoberta", KIN, "STA"),
    "camembert": ("Camembert", KIN, "STA"),
    "deberta": (
        "DebertaV2",
        {**KIN, "relative_attention": True, "pos_att_type": ["c2p", "p2c"], "pooler_hidden_size": 16},
        "STA",
    ),
    "modernbert": ("ModernBert", {**KIN, "pad_token_id": 0}, "STA"),
    "modernbert-mean": ("ModernBert", {**KIN, "pad_token_id": 0, "classifier_pooling": "mean"}, "S"),
    "electra": ("Electra", {**KIN, "embedding_size": 16}, "STA"),
    "electra-narrow": ("Electra", {**KIN, "embedding_size": 8}, "S"),
    "mpnet": ("MPNet", KIN, "STA"),
    "albert": ("Albert", {**KIN, "embedding_size": 8}, "STA"),
    "bigbird": ("BigBird", {**KIN, "attention_type": "original_full", "block_size": 8}, "ST"),
    "gpt2": ("GPT2", SMALL, "STA"),
    "gpt1": ("OpenAIGPT", {name: value for name, value in SMALL.items() if name != "n_inner"}, "S"),
    "gpt-neo": (
        "GPTNeo",
        {
            "num_layers": 2,
            "num_heads": 2,
            "hidden_size": 16,
            "attention_types": [[["global", "local"], 1]],
            "pad_token_id": 0,
            "max_position_embeddings": 48,
        },
        "STA",
    ),
    "gpt-neox": ("GPTNeoX", {**KIN, "pad_token_id": 0}, "STA"),
    "llama": ("Llama", TURNED, "STA"),
    "mistral": ("Mistral", TURNED, "STA"),
    "qwen2": ("Qwen2", TURNED, "STA"),
    "qwen3": ("Qwen3", TURNED, "STA"),
    "gemma": ("Gemma", TURNED, "ST"),
    "gemma2": ("Gemma2", {**TURNED, "query_pre_attn_scalar": 8}, "ST"),
    "gemma3": ("Gemma3Text", {**TURNED, "query_pre_attn_scalar": 8}, "S"),
    "bart": ("Bart", STACKS, "SA"),
    "t5": ("T5", T5, "STA"),
    "mt5": ("MT5", {**T5, "tie_word_embeddings": True}, "ST"),
}
TASKS = {"S": "SequenceClassification", "T": "TokenClassification", "A": "QuestionAnswering"}
CASES = [f"{kind} {TASKS[task]}" for kind, (_, _, tasks) in KINDS.items() for task in tasks]
FRAMED = {"Bert", "DistilBert", "Roberta", "XLMRoberta", "Camembert", "DebertaV2", "ModernBert"} | {
    *("Electra", "MPNet", "Albert", "BigBird")
}
LINES = [*TEXTS, "Once upon a time"] * 3


def backend(begins: str):
    if begins in FRAMED:
        return wordpiece(LINES, 97)
    made = byte_level_bpe(LINES, 290, ["<pad>", "<start>", "<s>", "</s>"], prefix_space=False)
    if begins in ("Bart", "T5", "MT5"):
        from tokenizers.processors import TemplateProcessing

        single = "<s> $A </s>" if begins == "Bart" else "$A </s>"
        made.post_processor = TemplateProcessing(single=single, special_tokens=[("<s>", 2), ("</s>", 3)])
    return made


def written(folder: Path, case: str, **changes: Any) -> Any:
    """The library's model of a case with random weights, and its folder."""
    kind, task = case.split()
    begins, sizes, _ = KINDS[kind]
    rules = backend(begins)
    config = getattr(transformers, f"{begins}Config")(
        **{**sizes, "vocab_size": rules.get_vocab_size() + 3, **changes}
    )
    class_name = f"{begins}For{task}"
    made = redraw(getattr(transformers, class_name)._from_config(config, attn_implementation="eager"))
    made.save_pretrained(folder)
    rules.save(str(folder / "tokenizer.json"))
    return made


def theirs(made: Any, ids: Any) -> np.ndarray:
    with torch.no_grad():
        out = made(torch.tensor([ids]))
    if "start_logits" in out:
        return torch.stack([out.start_logits[0], out.end_logits[0]], -1).numpy()
    return out.logits[0].numpy()


@pytest.mark.quick(24)
@pytest.mark.parametrize("case", CASES)
def test_a_head_gives_the_numbers_of_the_library(case: str, tmp_path: Path) -> None:
    task = case.split()[1]
    made = written(tmp_path / "model", case, num_labels=2 if task == TASKS["A"] else 4)
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
    last = read_out(model, whole.hidden(stack)[-1])
    assert np.abs(last - whole.scores).max() <= SAME  # the lens ends with the scores of the head
    for asked in (about(whole, telling(whole), 1), about(whole, telling(whole), 0, 1)):
        parts, row = logit_attribution.attribute(whole, asked), whole.scores[asked.row]
        logit = row[asked.token] - (0 if asked.against is None else row[asked.against])
        assert parts.logit == pytest.approx(logit) and parts.total == pytest.approx(logit, abs=1e-4)
    if output == "classes":
        assert model.class_names == ("LABEL_0", "LABEL_1", "LABEL_2", "LABEL_3")
    assert "not used" not in " ".join(report(tmp_path / "model")[0])


def changed(folder: Path, **values: Any) -> str:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | values))
    return str(folder)


ONE = ("bert", "distilbert", "roberta", "modernbert", "qwen3", "bart")


@pytest.mark.quick(2)
@pytest.mark.parametrize("kind", ONE)
def test_one_label_is_a_score_of_a_text_or_of_a_pair(kind: str, tmp_path: Path) -> None:
    made = written(tmp_path / "model", f"{kind} SequenceClassification", num_labels=1)
    model = core.open_model(str(tmp_path / "model"))
    assert model.can("score_texts") and not model.can("score_classes") and model.asked == "score"
    pair = TEXTS[1] if model.can("read_pairs") and kind != "roberta" else None
    run = model.run(TEXTS[0], pair=pair)
    with torch.no_grad():
        ids = torch.tensor([(run.source or run.side).ids])
        more = {} if pair is None else {"token_type_ids": torch.tensor([run.segments])}
        wanted = made(ids, **more).logits[0].numpy()
    assert run.score.shape == (1,) and np.abs(run.score - wanted).max() <= SAME


CHOOSING = ("bert", "distilbert", "roberta", "deberta", "electra", "mpnet", "albert", "bigbird", "modernbert")


@pytest.mark.quick(2)
@pytest.mark.parametrize("kind", CHOOSING)
def test_each_answer_that_may_be_chosen_gets_the_score_of_the_library(kind: str, tmp_path: Path) -> None:
    """Multiple choice: the question with each answer is a pair of texts, and the largest score is the choice."""
    made = written(tmp_path / "model", f"{kind} MultipleChoice")
    model = core.open_model(str(tmp_path / "model"))
    assert model.asked == "score" and model.can("read_pairs") and not model.can("score_words")
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


PAIRED = (
    *("bert A", "roberta S", "xlm-roberta S", "camembert A", "mpnet S", "distilbert A", "deberta S"),
    *("modernbert-mean S", "electra S", "albert A"),
)


@pytest.mark.quick(4)
@pytest.mark.parametrize("template", [True, False], ids=["template", "bare"])
@pytest.mark.parametrize("case", PAIRED)
def test_two_texts_are_framed_and_scored_as_by_the_library(case: str, template: bool, tmp_path: Path) -> None:
    """With the rule of tokenizer.json for two texts, and without one, as from vocab.json and merges.txt: then it is that of the kind."""
    kind, task = case.split()
    rules = backend(KINDS[kind][0])
    made = written(tmp_path / "model", f"{kind} {TASKS[task]}", num_labels=2 if task == "A" else 1)
    start, end = (rules.token_to_id(mark) for mark in ("[CLS]", "[SEP]"))
    twice = kind in ("roberta", "xlm-roberta", "camembert", "mpnet")
    kind_of = processors.RobertaProcessing if twice else processors.BertProcessing
    rules.post_processor = kind_of(("[SEP]", end), ("[CLS]", start))  # pyright: ignore[reportAttributeAccessIssue]
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


TEMPLATES: dict[str, tuple[str, str] | None] = {
    "roberta": ("<s> $A </s>", "<s> $A </s> </s> $B </s>"),
    "one end": ("$A </s>", "$A </s> $B </s>"),
    "llama": ("<s> $A", "<s> $A <s> $B"),
    "end behind": ("$A </s>", "$A $B </s>"),
    "none": None,
}
TWO = (
    *("bart S roberta", "bart A roberta", "t5 S one end", "t5 A one end", "mt5 S one end", "gpt2 S none"),
    *(
        "llama S llama",
        "llama S none",
        "llama T llama",
        "qwen3 S end behind",
        "gemma S llama",
        "gpt-neox A none",
    ),
)


@pytest.mark.quick(5)
@pytest.mark.parametrize("case", TWO)
def test_encoder_decoders_and_decoders_read_two_texts_as_the_library(case: str, tmp_path: Path) -> None:
    """By the template for two texts; without one the second text follows the first without a mark between them."""
    kind, task, template = case.split(maxsplit=2)
    rules = backend(KINDS[kind][0])
    n_out = {"A": 2, "S": 3, "T": 4}[task]
    made = written(tmp_path / "model", f"{kind} {TASKS[task]}", num_labels=n_out)
    marks = TEMPLATES[template]
    special = [("<s>", 2), ("</s>", 3)]
    rules.post_processor = marks and processors.TemplateProcessing(  # pyright: ignore[reportAttributeAccessIssue]
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


def test_names_and_the_sort_of_the_problem_are_read(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    written(folder, "bert SequenceClassification", num_labels=3)
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
        ({"classifier.weight": torch.zeros(3, 15)}, "classifier.weight"),
        ({"classifier.weight": torch.full((3, 16), torch.nan)}, "NaN"),
    ],
)
def test_a_head_that_does_not_fit_is_refused(change: dict[str, Any], words: str, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    written(folder, "bert SequenceClassification", num_labels=3)
    state = load_file(folder / "model.safetensors") | change
    save_file(
        {k: v for k, v in state.items() if v is not None}, folder / "model.safetensors", {"format": "pt"}
    )
    with pytest.raises(core.InputError, match=words):
        core.open_model(str(folder))


def test_a_gradient_and_an_edit_reach_a_head(tmp_path: Path) -> None:
    for kind in ("distilbert", "llama", "bart"):
        written(tmp_path / kind, f"{kind} SequenceClassification", num_labels=3)
        model = core.open_model(str(tmp_path / kind))
        run = model.run(TEXTS[0], grad="class:LABEL_1")
        leaf = next(path for path in run.trace.names("*embed.token"))
        assert np.abs(run.trace.grad(leaf)).max() > 0
        kind_of = model.spec.kinds[-1]
        heads = kind_of.path(1, "heads")
        off = model.run(TEXTS[0], edits=[core.edits.ZeroHead(heads, head=0)])
        assert np.abs(off.classes - run.classes).max() > 1e-4
        assert run.scores.shape == (1, 3) and model.choice(1) == "LABEL_1"
