"""No number of a model's training or work is typed into what pages say: it is computed from the run, the record or the recipe."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import core
from core.checkpoints import history
from core.checkpoints.manifest import shipped_folder
from core.data import grammar
from core.training.finetune import weight_delta
from core.training.toy import toy_training
from viz.course.look_up.word_vectors import exhibit
from viz.workspace.compare import presets

ROOT = Path(__file__).resolve().parents[2]
PROMISES = "promises.py"
"""A promise is a margin that test_promises computes; no page shows it."""

TRUE = [
    ROOT / "viz" / "course" / name for name in ("errata", "equations", "homework", "pages/names/mentioned.py")
]
PAGES = sorted(
    file
    for home in ("course", "workspace")
    for file in (ROOT / "viz" / home).rglob("*.py")
    if not {"maths.py", "charts", "charts.py", PROMISES} & {file.parent.name, file.name}
    and not {file, *file.parents} & set(TRUE)
)
WORDS = sorted((ROOT / "viz" / "course").glob("*/*/text.md"))
FEW = [
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "twenty",
    "half",
    "dozen",
]
NUMBER = rf"(?:\d[\d.,]*|\b(?:{'|'.join(FEW)})\b)"
OURS = r"\b(?:gpt-mini|gpt-twin|bert-mini|vectors-mini|prompt-tiny|induction-tiny|copy-\w+|\w[\w-]*-en-es|this model|our model|the model's)\b"
MEASURED = rf"{NUMBER}\s*(?:such )?(?:%|per cent|steps?\b|minutes?\b|hours?\b|days?\b|seconds?\b|million\b|bits?\b|nats?\b|billion\b|tokens\b|parameters\b|weights\b|passes\b)"
TYPED = re.compile(MEASURED, re.IGNORECASE)
NEAR = re.compile(rf"{OURS}[^.;]*\d|\d[^.;]*{OURS}")
"""A number of a unit in which trainings and results are told; any number in one sentence with a model of ours."""
OUTCOME = re.compile(
    rf"\b(?:never sure|better than chance|near chance|always right|hardly ever|most of the time|trained for hours)\b|{OURS}[^.;]*\bhalf of\b"
)
"""An outcome in words: it belongs to one training."""

CODE = re.compile(r"import |SELECT |print\(|\\frac|\\sum|\\lVert|\\quad|\\mathrm|\\text|core\.open_model")
MAY_STAND = {
    'title = "ALBERT in three steps"': "the exhibit's own steps",
    "GPT-2 (1.5 billion weights, 40 GB of text)": "Radford et al. 2019",
    "GPT-2 XL, with 1.5 billion parameters": "Radford et al. 2019",
    "BERT has 512 positions": "Devlin et al. 2019",
    "BERT reads at most 512 tokens": "Devlin et al. 2019",
    "BERT itself reached 97 to 98%": "Devlin et al. 2019",
    "up to 175 billion parameters": "Brown et al. 2020",
    "“GPT-2 has 1.5 billion parameters”": "quoted",
    "1.5, 8, 17 and 175 billion": "quoted",
    "table of 11 tokens": "the documents' table",
    "from [SEP] itself more than 90% goes to [SEP]": "Clark et al. 2019",
    "In training 15% of the tokens are chosen": "the rule of BERT",
    "(32 bits)": "of a number",
    "32 bits hold": "of a number",
    "1.5 billion is the count of the largest alone": "a promise, which is computed",
    "Two steps are equally far apart": "a criterion",
    "64-bit numbers": "of a number",
    "five steps turn": "a property of sinusoids",
    "in all four steps": "of the page",
    "16 bits and 4,000 to 200,000 are read": "what is accepted",
    "the squared error counts as 100%": "a scale",
    "four hours after the last event": "a rule of the page",
    "It can exceed 100%": "a scale",
    "95% interval": "a definition",
    "ln 2 = 0.693 nats": "mathematics",
    "75% hidden, a decoder that fills them in": "He et al. 2022",
    "0 bits for equal rows and 1 bit": "the ends of a scale",
    "to 1 bit (no word in common)": "the end of a scale",
    "0 to 100%": "a scale",
    "100% of the attention": "all of it",
    "100% of attention to give": "all of it",
    "share 100%": "all of it",
    "up to 100%": "all of it",
    "scaled so that the largest is 5": "a definition",
    "weigh 1% or more": "what is counted",
    "by less than 10%": "an answer that is offered",
    "weigh over 90%": "something to try",
    "90% of it falls on {} tokens": "what is counted",
    "1/2 or 50%": "ways to write an answer",
    "at step {} and falls": "computed, to 0",
    "in 1 step, recurrence": "counted by definition",
    "recurrence 3 steps": "a drawing of four states",
    "Above 0 tokens are sampled": "a value of the knob",
    "after 437 steps": "recomputed below",
    "after two minutes at most": "recomputed below",
}
"""Parts of sentences that may stand, and why: a document's own number, a scale, a definition, a rule of the page."""


PLACEHOLDER = re.compile(r"\{[A-Za-z_][^{}]*\}")
"""A value that a message of the catalogues fills in."""


def sentences(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The written parts of a file, sentence by sentence: what is computed stands as {}; docstrings, code and formulas are left out."""
    nodes = [*ast.walk(tree)]
    notes = {
        id(node.value)
        for node in nodes
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    inside = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    left_out = notes | inside
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            said = "".join(
                str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in left_out:
            said = PLACEHOLDER.sub("{}", node.value)
        else:
            continue
        if not CODE.search(said):
            yield from ((node.lineno, each) for each in parts(said))


def parts(said: str) -> list[str]:
    """The sentences of a text, those of more than three words."""
    return [each for each in re.split(r"(?<=[.?!;:])\s", said) if len(each.split()) > 3]


def typed(said: str) -> bool:
    return bool(
        TYPED.search(said) or NEAR.search(re.sub(r"L\d\.H\d|step \d+", "", said)) or OUTCOME.search(said)
    )


def excused(said: str) -> set[str]:
    return {known for known in MAY_STAND if known in said}


def found() -> Iterator[tuple[str, int, str]]:
    """All that looks typed: file, line, sentence."""
    for path in PAGES:
        yield from (
            (path.stem, line, said)
            for line, said in sentences(ast.parse(path.read_text("utf-8")))
            if typed(said)
        )
    for path in WORDS:
        lines = enumerate(path.read_text("utf-8").splitlines(), 1)
        yield from (
            (path.parent.name, number, said)
            for number, line in lines
            for said in parts(line)
            if typed(said) and not CODE.search(said)
        )


def test_no_number_of_a_model_is_typed():
    wrong = [each for each in found() if not excused(each[-1])]
    assert not wrong, "compute it from the run, core.checkpoints.record.trained, the scores or the recipe"


@pytest.mark.slow
def test_each_exception_is_one():
    assert set(MAY_STAND) == set().union(*(excused(said) for *_, said in found()))


@pytest.mark.parametrize(
    "said",
    [
        "as in the training of the model itself, which took 4,000 such steps on batches of pairs.",
        "bert-mini is small and was trained for hours, not days: at this game it is little better than chance.",
        "This model was trained on 24.6 million tokens of children's books.",
        "So much was never hidden in training (15 to 30%), which makes one side look worse.",
        "straight from gpt-twin a choice was still near chance after 300 steps.",
        "translator-en-es has 51.4 on the same pairs.",
        "gpt-mini is right in half of the cases.",
    ],
)
def test_such_sentences_are_found(said: str):
    assert any(typed(part) for _, part in sentences(ast.parse(f"told = {said!r}"))) and not excused(said)


def test_what_is_computed_may_stand():
    assert not [
        part
        for _, part in sentences(
            ast.parse(
                'told = f"trained for {minutes:.0f} minutes, {percent(share)} right in {steps:,} steps by gpt-mini"'
            )
        )
        if typed(part)
    ]


def test_numbers_that_stand_hold():
    """What is written with a number and belongs to a shipped file or a constant."""
    assert 437 in history.steps(shipped_folder() / "gpt-twin") and presets.EARLY == "gpt-twin at step 437"
    assert toy_training.LONGEST == 2 * 60 and 2 * weight_delta.MOST + 1 == 15
    assert (
        core.open_model("vectors-mini").config.d_model == 80
        and "each has 80 numbers" in exhibit.EXHIBIT.text.steps[1].says
    )
    assert len(grammar.TAGS) == 12


def test_a_share_is_written_by_one_function():
    """`percent` never says a false 0 or 100: so no page formats a share itself."""
    files = [
        path
        for folder in ("course", "workspace", "charts", "widgets", "shell")
        for path in sorted((ROOT / "viz" / folder).rglob("*.py"))
        if path.stem != "maths" and not {path, *path.parents} & set(TRUE)
    ]
    own = [
        (f"{path.parent.name}/{path.stem}", spec)
        for path in files
        for spec in re.findall(r"(?<!%\{z):\.\d%", path.read_text("utf-8"))
    ]
    assert own == [
        ("bank/many", ":.0%"),
        ("elmo/mixture", ":.1%"),
        ("prompting/exhibit", ":.1%"),
        ("hierarchy/steps", ":.1%"),
    ], "templates of charts"
