"""The pages of words: equations that can be touched, names, by document, homework."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest
from test_every_exhibit import answered

from core import glossary
from core.errors import InputError
from viz.course import errata
from viz.course.equations import EQUATIONS, Equation
from viz.course.homework.form import evaluate, right, told
from viz.course.homework.questions import DOCUMENTS, GROUPS, QUESTIONS
from viz.course.pages.documents import cited
from viz.course.pages.documents import page as documents
from viz.course.pages.names import named
from viz.course.pages.names import page as names
from viz.course.pages.names import sections as names_sections
from viz.course.sources import SOURCES
from viz.labels import indexed
from viz.shell import pages
from viz.widgets import equations, lesson, parts

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = (ROOT / "viz" / "widgets" / "equations.js").read_text("utf-8")
PAGE = "from viz.shell import pages\npages.find({slug!r}).page()"


def drawn(slug: str, state: dict[str, object] | None = None, **query: str) -> AppTest:
    test = AppTest.from_string(PAGE.format(slug=slug), default_timeout=120)
    for name, value in query.items():
        test.query_params[name] = value
    for name, value in (state or {}).items():
        test.session_state[name] = value
    return test.run()


def said(test: AppTest) -> str:
    kinds = (test.title, test.header, test.markdown, test.text, test.caption)
    return "\n".join(str(element.value) for kind in kinds for element in kind).replace("\\", "")


# ---------------------------------------------------------------- equations


@pytest.mark.parametrize("equation", EQUATIONS.values(), ids=lambda equation: equation.key)
def test_the_browser_can_draw_every_equation(equation: Equation) -> None:
    known = set(re.findall(r'case "(\w+)"', SCRIPT))
    told_ = equations.told(equation, {}, {})

    def walk(tree: list) -> None:
        assert tree[0] in known, tree
        for part in tree[1:]:
            if isinstance(part, list):
                walk(part)
            elif tree[0] == "sign":
                assert told_["signs"][part]["word"]

    walk(told_["columns"])
    walk(told_["rows"])
    assert all(document in SOURCES for document, _, _ in equation.where)
    assert all(SOURCES[document].short in told_["where"] for document, _, _ in equation.where)


def test_numbers_and_marks_belong_to_symbols_that_are_there() -> None:
    equation = EQUATIONS["attention.context"]
    found = equations.told(equation, {"a_ij": "0.41", "h_j": ["0.2", "0.7"]}, {"a_ij": "row 2"})["signs"]
    assert (found["a_ij"]["value"], found["a_ij"]["mark"], found["h_j"]["value"]) == (
        ["0.41"],
        "row 2",
        ["0.2", "0.7"],
    )
    with pytest.raises(KeyError, match="a_ij"):
        equations.told(equation, {"a_kl": "1"}, {})


def test_the_convention_of_the_link_reaches_every_equation_and_nonsense_is_told() -> None:
    script = (
        "import streamlit as st\nfrom viz.widgets import equations\nfrom viz.shell import notices\nnotices.make_place()\n"
        "equations.show('self.matrix', 'x.')\nst.text(equations.convention())"
    )
    for linked, shown in (("rows", "rows"), ("columns", "columns"), ("diagonal", "columns")):
        test = AppTest.from_string(script)
        test.query_params["convention"] = linked
        test.run()
        assert not test.exception and test.text[-1].value == shown
    assert not re.search("inner" + "HTML", SCRIPT)


# ---------------------------------------------------------------- names


def test_the_names_page_explains_the_letters_that_collide_and_the_names_that_are_only_named() -> None:
    test = drawn("names", {"fold:names.letters": True, "fold:names.named": True})
    page = said(test)
    assert not test.exception
    assert [letter.letter for letter in glossary.LETTERS] == list("phnkSMVH")
    assert all(
        meaning in page and who in page for letter in glossary.LETTERS for meaning, who in letter.meanings
    )
    for name in (
        "n-gram",
        "word2vec",
        "Markov",
        "random field",
        "Recurrent",
        "Florence",
        "PaLM",
        "Pathways",
        "MAE",
        "Megatron",
        "Turing-NLG",
        "Dropout",
        "discrepancy",
        "ResNet",
        "Batch norm",
        "Area attention",
        "Hugging Face",
        "Survey of vision",
    ):
        assert name in page, name
    assert all(one.sentence in page and one.paper in page for one in named.NAMED)


def test_the_seven_tasks_say_who_is_query_key_and_value() -> None:
    test = drawn("names", {"fold:names.tasks": True})
    page = said(test)
    assert not test.exception and len(named.TASKS) == 7
    for task in named.TASKS:
        assert task.name in page and task.paper in page
        assert f"Query: {task.query}. Key: {task.key}. Value: {task.value}." in page


ATTEND = {
    "Show, attend and tell": ("region", {"Xu"}),
    "Protect, show, attend and tell": ("region", {"Lim"}),
    "Show, attend and read": ("region", {"Li"}),
    "Show, attend and translate": ("place", {"Zhang", "Yang"}),
    "Show, ask, attend and answer": ("region", {"Kazemi"}),
    "Show, attend and interact": ("region", {"Qureshi"}),
    "Listen, attend and spell": ("stretch", {"Chan"}),
}
"""The seven of Ghojogh and Ghodsi 2020, as printed there: of what the keys are parts (of a picture, of sound), and who is cited."""


def test_the_seven_tasks_are_those_of_the_survey_and_attend_as_it_defines() -> None:
    """What is attended to gives keys and values alike; the query is another thing; "ask" asks with the question, "spell" spells sound."""
    tasks = {task.name: task for task in named.TASKS}
    assert set(tasks) == set(ATTEND)
    for name, (part, authors) in ATTEND.items():
        task = tasks[name]
        assert {cited.split()[0] for cited in task.paper.split("; ")} == authors
        assert (
            part in task.key
            and part in task.value
            and part not in task.query
            and task.value.startswith("the same")
        )
        assert ("sound" in task.key) == name.startswith("Listen") and (
            "picture" in task.key
        ) == name.removeprefix("Protect, ").lower().startswith("show")
        assert ("question" in task.query) == (", ask," in name)
    assert len(re.findall(r"20\d\d", " ".join(task.paper for task in named.TASKS))) == 9, (
        "two papers each for images and for speech"
    )


def test_the_other_sections_hold_all_terms_axes_and_bridges() -> None:
    state = {f"fold:names.{slug}": True for slug in ("tensors", "axes", "methods", "bridges")}
    page = said(drawn("names", state))
    assert all(term.sentence in page for term in (*glossary.LEAVES, *glossary.AXES, *glossary.METHODS))
    assert all(row.columns in page and row.rows in page and row.bridge in page for row in named.BRIDGES)


def test_one_box_searches_all_sections() -> None:
    page = said(drawn("names", **{"names.find": "query decoder"}))
    assert "entries hold “query decoder”." in page
    found = {section.slug: lines for section, lines in names.compute(names.Params("resnet"))}
    assert found["named"][0].head == "ResNet"
    assert all(line.holds(["query"]) for _, lines in names.compute(names.Params("QUERY")) for line in lines)
    nothing = drawn("names", **{"names.find": "<b>![x](http://a)"})
    assert not nothing.exception and "Nothing holds “<b>![x](http://a)”" in said(nothing)


def test_every_symbol_of_the_course_is_a_name() -> None:
    listed = {
        line.head
        for section in names_sections.sections()
        if section.slug == "symbols"
        for line in section.lines
    }
    assert listed == {name for equation in EQUATIONS.values() for name in equation.signs}


# ---------------------------------------------------------------- by document


@pytest.mark.parametrize(
    ("item", "numbers", "figures"),
    [
        ("Eqs. (2)-(5)", {2, 3, 4, 5}, set()),
        ("Eqs. (2)–(5), (9)", {2, 3, 4, 5, 9}, set()),
        ("Eq. (1), Fig. 3a", {1}, {3}),
        ("Eqs. (17), (18), Fig. 10", {17, 18}, {10}),
        ("Eqs. (13) to (15) and (22)", {13, 14, 15, 22}, set()),
        ("Figs. 7, 8", set(), {7, 8}),
        ("Eqs. (2-5)", {2, 3, 4, 5}, set()),
        ("PE(pos, i), the example with d = 4", set(), set()),
        ("Eqs. 6 to 8", {6, 7, 8}, set()),
        ("PE(1) for d = 512, Eq. (17)", {17, 1}, set()),
        ("", set(), set()),
    ],
)
def test_citations_are_read_robustly(item: str, numbers: set[int], figures: set[int]) -> None:
    found = cited.equations(item)
    assert found == numbers or (item.startswith("PE(1)") and found == {17})
    assert cited.figures(item) == figures


def test_every_numbered_equation_is_on_a_page() -> None:
    for document in cited.NUMBERED:
        named_ = {
            cited.in_survey(document, number)
            for entry in pages.discover()
            for cite in entry.info.cites
            if cite.document == document
            for number in cited.equations(cite.item)
        }
        assert {cited.in_survey(document, number) for number in cited.NUMBERED[document]} == named_, document


def test_every_exhibit_names_a_teaching_document_and_where_in_it() -> None:
    for entry in pages.exhibits():
        assert any(cite.source.teaching and cite.section for cite in entry.info.cites), entry.slug


def test_every_step_that_a_citation_names_exists_and_its_link_opens_it(monkeypatch) -> None:
    real = lesson.steps

    def only_steps(*args: object) -> None:
        st.session_state["at"] = real(*args)
        st.stop()

    monkeypatch.setattr(lesson, "steps", only_steps)
    shown = {
        entry.slug: max(cite.step for cite in entry.info.cites)
        for entry in pages.discover()
        if any(cite.step for cite in entry.info.cites)
    }
    assert set(shown) >= {
        "weighting",
        "autoencoder",
        "bottleneck",
        "alignment",
        "word_vectors",
        "retrieval",
        "score_functions",
        "scaling",
        "soft_and_hard",
        "luong",
    }
    for slug, step in shown.items():
        assert step <= len(pages.find(slug).steps), slug
        test = AppTest.from_string(
            f"from viz.shell import pages\npages.find({slug!r}).page()", default_timeout=120
        )
        for name, value in parts.step_of(slug, step).items():
            test.query_params[name] = str(value)
        test.run()
        assert not test.exception and test.session_state["at"] == step - 1, slug


def test_no_citation_names_an_equation_that_the_document_does_not_have() -> None:
    for entry in pages.discover():
        for cite in entry.info.cites:
            if cite.document in cited.NUMBERED:
                assert cited.equations(cite.item) <= set(cited.NUMBERED[cite.document]), (entry.slug, cite)


def test_where_both_documents_are_cited_the_numbers_are_shifted() -> None:
    for entry in pages.discover():
        numbers = {
            key: {n for cite in entry.info.cites if cite.document == key for n in cited.equations(cite.item)}
            for key in cited.NUMBERED
        }
        if all(numbers.values()):
            last = max(numbers["ghojogh2020"])
            assert last < 26 or max(numbers["ghojogh2023"]) == last - 1, entry.slug


def test_the_page_lists_each_equation_with_its_pages_and_names_what_is_missing() -> None:
    for document in cited.NUMBERED:
        page = said(test := drawn("documents", **{"documents.which": document}))
        assert not test.exception and SOURCES[document].title in page
        for number in (17, 18):
            assert f"({number})" in page
        assert "Positions as waves" in page
    papers = drawn("documents", **{"documents.which": "papers"})
    assert not papers.exception and "Attention Is All You Need" in said(papers)


def test_the_slides_number_mean_and_deviation_together() -> None:
    rows = {number: title for number, title, _ in documents.by_equation("ghojogh2023", ())}
    assert rows[25] == "Its mean; Its deviation" and rows[28] == "The mask" and len(rows) == 28
    assert len(documents.by_equation("ghojogh2020", ())) == 29


# ---------------------------------------------------------------- homework


def test_every_chapter_has_its_homework_and_every_question_its_page() -> None:
    known = {entry.slug: entry.info.chapter.title for entry in pages.exhibits()}
    assert set(GROUPS) == {DOCUMENTS, *known.values()}
    for group in GROUPS:
        asked = [question for question in QUESTIONS if question.group == group]
        assert len(asked) >= 4 and all(question.page in known for question in asked)
        assert group == DOCUMENTS or {known[question.page] for question in asked} <= {group}, group
        answered = drawn("homework", **{"homework.group": group})
        assert not answered.exception and f"0 of {len(asked)} right." in said(answered)


def test_at_least_ten_questions_each_with_a_page_and_a_truth_that_answers_it() -> None:
    assert len(QUESTIONS) >= 10 and {question.group for question in QUESTIONS} == set(GROUPS)
    assert len({question.key for question in QUESTIONS}) == len(QUESTIONS)
    for question in QUESTIONS:
        truth = question.truth()
        if question.kind == "choice":
            assert truth in question.options
        if question.kind != "expression":
            assert right(question, str(truth), truth) and told(question, truth)


def by_key(key: str):
    return next(question for question in QUESTIONS if question.key == key)


@pytest.mark.parametrize(
    ("key", "good", "bad"),
    [
        ("invariant", "the same outputs, in the new order", "the outputs do not change at all"),
        ("set", "no", "yes"),
        ("pooled", "yes", "no"),
        ("positions", "other outputs", "the same outputs, in the new order"),
        ("share", "exp(3)/(exp(1)+exp(2)+exp(3))", "0.5"),
        ("alike", "1/8", "8"),
        ("mean", "their mean", "their sum"),
        ("rank", "2^2+1", "3"),
        ("vanish", "0.5^10", "0.05"),
        ("lstm", "448", "336"),
        ("rows", "5", "35"),
        ("cells", "m n", "m + n"),
        ("king", "queen", "woman"),
        ("like", "2", "1"),
        ("flat", "25 %", "0"),
        ("sharp", "ln(9)", "2"),
        ("times", "5", "1.609"),
        ("blind", "additive, linear", "dot"),
        ("length", "cosine", "scaled"),
        ("ratio", "e^2", "e"),
        ("variance", "64", "8"),
        ("edge", "exp(-2)", "0.5"),
        ("slope", "-a b", "a b"),
        ("all_see", "6", "1"),
        ("causal_see", "3", "6"),
        ("causal_even", "1/4", "1/6"),
        ("causal_cells", "(n^2+n)/2", "n^2"),
        ("eight_heads", "the same number", "eight times as many"),
        ("offset", "yes", "no"),
        ("doubled", "yes", "no"),
        ("apart", "1", "6"),
        ("hidden", "8 d^2 + 5 d", "8 d^2"),
        ("cross", "h m n", "m n"),
        ("grown", "9", "3"),
        ("tokens_alone", "4", "7"),
        ("with_segments", "7", "4"),
        ("first_sees", "yes", "no"),
        ("three_classes", "3*128 + 3", "384"),
        ("word_table", "30522*768/10^6", "30.5"),
        ("past", "no", "yes"),
        ("tempered", "2/3", "1/2"),
        ("nucleus", "3", "2"),
        ("perplexity", "8", "3"),
        ("cached", "n*(n+1)/2", "n^2"),
        ("uncached", "n*(n+1)*(2n+1)/6", "n^3"),
    ],
)
def test_right_answers_are_right_and_wrong_ones_are_not(key: str, good: str, bad: str) -> None:
    question = by_key(key)
    truth = question.truth()
    assert right(question, good, truth) and not right(question, bad, truth)


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os')",
        "9**9**9**9",
        "1/0",
        "x",
        "[1]",
        "1" * 200,
        "sqrt(-1)",
        "(-8)^(1/3)",
        "sqrt((-8)^(1/3))",
        "",
        "a.b",
        "lambda: 1",
    ],
)
def test_an_answer_can_only_calculate(text: str) -> None:
    with pytest.raises(InputError, match="cannot be calculated"):
        evaluate(text, {"n": 2.0})


def test_the_page_checks_an_answer_and_shows_nothing_before() -> None:
    before = drawn("homework")
    assert not before.exception and "0 of 4 right." in said(before) and "equivariant" not in said(before)
    after = drawn(
        "homework", **{"homework.invariant": "the same outputs, in the new order", "homework.set": "yes"}
    )
    assert (
        "1 of 4 right." in said(after)
        and "Right. Computed: the same outputs" in said(after)
        and "Not yet" in said(after)
    )
    assert DOCUMENTS == "The documents' own"
    typed = drawn(
        "homework",
        **{
            "homework.group": "Why attention",
            "homework.share": "1/(1+e^-1+e^-2)",
            "homework.alike": "one eighth",
        },
    )
    assert (
        not typed.exception
        and "Right. The softmax gives it 0.665241." in said(typed)
        and "cannot be calculated" in said(typed)
    )


def test_mathematics_is_set_or_said_in_plain_words():
    """Charts cannot set it: there a letter has a real small index, or a word stands for it; documents and errata are set like the rest."""
    typed = []
    for path in (
        file
        for file in (ROOT / "viz").rglob("*.py")
        if "charts" in (*file.relative_to(ROOT).parts[:-1], file.stem)
    ):
        tree = ast.parse(path.read_text("utf-8"))
        notes = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        typed += [
            (path.stem, node.value)
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in notes
            and indexed(node.value)
        ]
    panels = [panel for id in ("E27", "E29", "E31") for panel in errata.find(id).evidence().panels]
    assert (
        typed == []
        and [panel.title for panel in panels if indexed(" ".join((panel.title, *panel.rows, *panel.columns)))]
        == []
    )
    test = AppTest.from_string(
        "from viz.course.look_up.luong import exhibit as e\ne.LESSON.page()", default_timeout=120
    )
    test.session_state["fold:Global and local attention.documents"] = True
    told = [line.value for line in answered(test.run()).markdown]
    assert any("$p_{t}$, $a_{st}$" in line for line in told) and not [
        line for line in told if indexed(line.replace("\\", ""))
    ]


def test_pictures_of_an_erratum_are_its_own_and_the_pages_are_the_pages():
    test = AppTest.from_string(
        "from viz.course.look_up.luong import exhibit as e\ne.LESSON.page()", default_timeout=120
    )
    test.session_state["fold:Global and local attention.documents"] = True
    shown = answered(test.run())
    charts = [
        chart.proto.alt.split("\n")
        for kind in ("vega_lite_chart", "plotly_chart")
        for chart in shown.get(kind)
    ]
    assert charts and {(chart[1], *filter(None, chart[2:])) for chart in charts} <= {("E27",), ("E29",)}, (
        "neither the page's model nor its sentence"
    )
    assert test.session_state["_instrument_origin"].model == "bahdanau-en-es"


def test_the_rows_and_columns_of_attention_have_one_name_on_all_pages() -> None:
    """`labels.query_and_key` names them: no page has words of its own for who looks and what is looked at."""
    own = re.compile(r"\b(?:quer(?:y|ies)|keys?|written|reads?|source|target|looks?|looked|asks)\b")
    typed = []
    for path in (
        file for home in ("course", "workspace") for file in sorted((ROOT / "viz" / home).rglob("*.py"))
    ):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.keyword) and node.arg == "axis" and isinstance(node.value, ast.Tuple):
                typed += [
                    (f"{path.parent.name}/{path.stem}", part.value)
                    for part in node.value.elts
                    if isinstance(part, ast.Constant) and own.search(str(part.value))
                ]
    assert typed == [
        ("cls_and_pairs/steps", "read by [CLS]"),
        ("score_functions/steps", "key"),
        ("be_the_head/page", "token looked at"),
    ], "one row, a rule a row, two rows of guesses"
