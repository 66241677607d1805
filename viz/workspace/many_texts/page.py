"""Many texts: a data set through one model, or two; the texts sorted by loss, by a head or by disagreement, heads over all of them, and mean patterns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.analysis.heads.habits import HABIT_NAMES
from core.errors import InputError, in_reader_language
from core.model import Model
from core.reading import data_set_jobs
from core.reading.data_set_jobs import TOKENS, DataSetProgress
from core.scoring.data_set import DIVERGENCE, DataSetReading, DataSetResults, disagrees_by
from viz.instruments.kit import origin
from viz.labels import head_name
from viz.languages import _, mark, ngettext
from viz.number_text import number
from viz.shell import errors, notices, state
from viz.shell.pages import Cite, Page
from viz.shell.selection import Selection
from viz.widgets import controls, engine_client, page_parts
from viz.widgets.export import Labelled
from viz.workspace.many_texts import data, heads, listing, own_texts, patterns
from viz.workspace.many_texts.data import DISAGREEMENT, HEAD, LOSS, SortKey, TextSet
from viz.workspace.shared import attention_kinds, needs, tasks, toolbar
from viz.workspace.shared.head_ref import HeadRef
from viz.workspace.shared.tasks import Offer
from viz.workspace.shared.toy_models import kind_of

PAGE = Page(
    title="Many texts",
    order=43,
    claim="Which texts are hard for this model, and what does each head do over all of them?",
    cites=(
        Cite("salazar2020", "section 2.1", "the pseudo-loss of a masked language model"),
        Cite("clark2019", "section 3", "what heads do over many texts"),
    ),
    menu="lab",
    activity="sort a data set",
)
BY = {"texts": mark("Texts"), "heads": mark("Heads"), "patterns": mark("Mean patterns")}
HIGHEST = {"highest": mark("Highest first"), "lowest": mark("Lowest first")}
BEAT = 1.0
"""Seconds between two looks at a reading that runs."""
SELECT = 220
"""Pixels of a list to choose from."""
LOSSES = r"\text{loss}(x) = -\frac{1}{n} \sum_{t=1}^{n} \ln p(x_t \mid x_{<t}), \qquad \text{pseudo-loss}(x) = -\frac{1}{n} \sum_{t=1}^{n} \ln p(x_t \mid x_{\setminus t})"
DIVERGENCES = r"\text{disagreement}(x) = \frac{1}{n} \sum_{t=1}^{n} \text{JSD}\left(p_t, q_t\right)"
DIFFERENCES = r"\text{disagreement}(x) = \frac{\left| \sum_t -\ln p(x_t) - \sum_t -\ln q(x_t) \right|}{\text{characters of } x}"
LOOKING = mark(
    "Each point is a text. {loss}\n\n{disagreement}A measure of a head is that of *Find heads*, on each text by itself, by word. A mean pattern lines the texts up at their first or their last token: "
    "each cell is the mean over the texts that have both positions, so it means most where all texts are made alike. A text is read up to {tokens} tokens."
)
DISAGREEMENTS = {
    DIVERGENCE: mark(
        "The two models have the same tokens or classes, so they disagree by the Jensen-Shannon divergence of what they predict, in bits (maximum 1), the mean over all positions.\n\n"
    ),
    "difference": mark(
        "A token of one model is not a token of the other, so the two disagree by the difference of their losses of the same words, in nats per character.\n\n"
    ),
}
CODE = """import core

model = core.open_model({model!r})
texts = {texts!r}
results = core.over(model, texts, {measures!r})   # or the path of a file: core.over(model, "texts.csv", ..., column="text")
for row in results.sorted_by({column!r}, largest_first={largest}):
    print(row.value, row.text)"""


@dataclass(frozen=True)
class Params(Selection):
    """The model, the text in view and the second model."""

    model: str = toolbar.MODEL
    text: str = toolbar.TEXT
    other: str = ""


def compute(p: Params = Params()) -> DataSetResults:
    """Measure the ready-made texts with a model, and compare it with another."""
    model = engine_client.open(p.model)
    other = engine_client.open(p.other) if p.other else None
    text_set = data.ready_texts(p.model, data.task_of(model))
    results = data.results(model, other, text_set)
    if isinstance(results, DataSetResults):
        return results
    lines = data_set_jobs.fit(model, text_set.lines)
    with engine_client.many() as ask:
        measured = data_set_jobs.measured(DataSetReading(model, lines, other), ask)
    assert measured is not None
    return measured


def page() -> None:
    page_parts.title(PAGE)
    bench = toolbar.choose("many_texts", takes_translation=True)
    if bench is None:
        return
    model = engine_client.open(bench.selection.model)
    choices = st.container(
        horizontal=True, vertical_alignment="bottom", gap="medium", key="many_texts.choices"
    )
    with choices:
        other = _other(model)
    text_set = data.current_texts(model)
    results = _results(model, other, text_set)
    if results is None:
        bench.announce()
    else:
        key = _views(choices, model, other, results, text_set, bench.selection)
        bench.announce(head=HeadRef(key.kind, key.layer, key.head) if key.by == HEAD else None)
        _folds(model, results)
    own_texts.show_form(model)


def _other(model: Model) -> Model | None:
    """Draw the choice of a second model of the same task, and return it; None without one."""
    offer = Offer(
        {name: family for name, family in tasks.usable().items() if needs.may("many_texts", family)}
    )
    task = offer.tasks.get(model.name)
    others = (
        [
            name
            for name in offer.by_task.get(task, [])
            if name != model.name and kind_of(name) == kind_of(model.name)
        ]
        if task
        else []
    )
    if not others:
        return None
    asked = state.peek("many_texts.other")
    if asked == model.name:  # it was the second one of the model before
        state.write(**{"many_texts.other": None})
    with st.container(width=SELECT):
        name = controls.select(
            _("Second model"),
            ["", *others],
            "many_texts.other",
            "",
            lambda each: each or _("none"),
        )
    if not name:
        return None
    try:
        second = engine_client.open(name)
    except InputError as error:
        notices.box(error.wrong, error.rule, error.remedy)
        return None
    if not disagrees_by(model, second):
        notices.box(
            _("{model} and {other} cannot be compared.", model=model.name, other=name),
            _(
                "Two models are compared where both read the same kind of text and have the same kind of output."
            ),
            _("Choose another second model."),
        )
        return None
    return second


def _results(model: Model, other: Model | None, text_set: TextSet) -> DataSetResults | None:
    """Return the results, of the model alone while those of two are computed; draw how far a reading is, or why it ended."""
    results = data.results(model, other, text_set)
    if isinstance(results, DataSetResults):
        return results
    if results.problem:
        with st.container(border=True, horizontal=True, vertical_alignment="center"):
            st.text(
                _("These texts could not be measured: {problem}", problem=in_reader_language(results.problem))
            )
            st.button(_("Try again"), on_click=data.forget, args=(model, other, text_set), type="tertiary")
    else:
        st.fragment(_running, run_every=BEAT)(model, other, text_set)
    if other is None:
        return None
    alone = data.results(model, None, text_set)
    return alone if isinstance(alone, DataSetResults) else None


def _running(model: Model, other: Model | None, text_set: TextSet) -> None:
    with errors.guard():
        standing = data.results(model, other, text_set)
        if not isinstance(standing, DataSetProgress) or standing.over:
            st.rerun()
            return
        st.progress(
            standing.done / max(standing.total, 1),
            _(
                "Measuring {n} texts: {done} of {total} steps",
                n=len(text_set.lines),
                done=standing.done,
                total=standing.total or "…",
            ),
        )


def _views(
    choices: DeltaGenerator,
    model: Model,
    other: Model | None,
    results: DataSetResults,
    text_set: TextSet,
    selection: Selection,
) -> SortKey:
    """Draw the view that is chosen; return the number by which its texts are sorted."""
    with choices:
        views = [
            name
            for name in BY
            if name == "texts" or (results.scores if name == "heads" else results.patterns)
        ]
        by = controls.segmented(
            _("View"), views, "many_texts.by", "texts", lambda name: _(BY[name]), quiet=True
        )
        key, highest = _sort(results, by)
        end = patterns.choose_end() if by == "patterns" else ""
    origin.tell(model=model.name, text=f"{results.n_read} {text_set.name_on_screen}", kind=key.kind)
    if by == "patterns":
        patterns.show(results, key, end)
        sentence = pattern_sentence(results, text_set, key)
    else:
        view = data.view_text(model, other if results.other else None, results, text_set, key, selection)
        if by == "texts":
            listing.show(view, data.order_of(key.values(results), highest_first=highest))
        else:
            heads.show(view)
        sentence = set_sentence(results, text_set, key)
    page_parts.summary(sentence, "cross-entropy" if key.by == LOSS else "head")
    n_notes, n_cut = sum(map(bool, results.notes)), data.n_cut(model, text_set)
    if n_notes or n_cut or text_set.beyond:
        n_texts = len(results.lines)
        beyond = (
            _(
                "The first {n} of {all:,} texts are measured. ",
                n=n_texts,
                all=n_texts + text_set.beyond,
            )
            if text_set.beyond
            else ""
        )
        missing = (
            ngettext(
                "{n} text lacks a number: the column note says why. ",
                "{n} texts lack a number: the column note says why. ",
                n_notes,
            )
            if n_notes
            else ""
        )
        cut = (
            ngettext(
                "Of {n} text the first {tokens} tokens are read.",
                "Of {n} texts the first {tokens} tokens are read.",
                n_cut,
                tokens=TOKENS,
            )
            if n_cut
            else ""
        )
        st.caption(beyond + missing + cut)
    return key


def _sort(results: DataSetResults, view: str) -> tuple[SortKey, bool]:
    """Draw the choice of the number that texts are sorted by; return it, and whether the highest comes first."""
    names = data.sort_names(results)
    first = DISAGREEMENT if DISAGREEMENT in names else next(iter(names))
    by = HEAD
    if view == "texts":
        with st.container(width=SELECT):
            by = controls.select(_("Sort by"), list(names), "many_texts.sort", first, names.__getitem__)
    kind = measure = ""
    layer = head = 0
    if by == HEAD and results.scores:
        kind, measure, layer, head = _head(results, view)
    highest = True
    if view == "texts":
        highest = (
            controls.segmented(
                _("Order"),
                list(HIGHEST),
                "many_texts.order",
                "highest",
                lambda name: _(HIGHEST[name]),
                quiet=True,
            )
            == "highest"
        )
    return SortKey(by, kind, measure, layer, head), highest


def _head(results: DataSetResults, view: str) -> tuple[str, str, int, int]:
    """Draw the choice of a head and of its measure."""
    kinds = list(results.scores)
    if view == "patterns":
        kinds = list(dict.fromkeys(kind for kind, _end in results.patterns))
    kind = state.peek("kind")
    kind = kind if kind in kinds else kinds[0]
    if len(kinds) > 1:
        kind = controls.segmented(
            _("Which attention"), kinds, "kind", kind, lambda name: _(attention_kinds.KINDS[name])
        )
    scores = results.scores[kind]
    measure = next(iter(scores))
    if view != "patterns":
        with st.container(width=SELECT):
            measure = controls.select(
                _("Measure"),
                list(scores),
                "many_texts.measure",
                measure,
                lambda name: _(HABIT_NAMES[name]),
            )
    layers, n_heads = scores[measure].shape[1:]
    means = heads.means(results, kind, measure)
    best = np.unravel_index(int(np.nanargmax(means)), means.shape) if np.isfinite(means).any() else (0, 0)
    layer = state.read("layer", int(best[0]), state.whole_number(0, layers - 1))
    head = state.read("head", int(best[1]), state.whole_number(0, n_heads - 1))
    if view == "texts" and layers * n_heads > 1:
        places = [(row, column) for row in range(layers) for column in range(n_heads)]
        key = f"many_texts.head:{kind}"

        def choose() -> None:
            place = st.session_state.get(key)
            if place is not None:
                state.write(kind=kind, layer=place[0], head=place[1])

        state.seed_widget(key, (layer, head))
        st.selectbox(
            _("Head"),
            places,
            key=key,
            format_func=lambda place: head_name(*place),
            on_change=choose,
            width=SELECT,
        )
    return kind, measure, layer, head


def set_sentence(results: DataSetResults, text_set: TextSet, key: SortKey) -> str:
    """Return the mean over all texts, and the groups or the texts with the highest and the lowest number."""
    values = key.values(results)
    known = np.isfinite(values)
    name = key.label(results)
    start = _(
        "{n} {texts} with {model}", n=results.n_read, texts=text_set.name_on_screen, model=results.model
    )
    if results.other:
        start += _(" and {other}", other=results.other)
    if not known.any():
        return _("{start}: no text has this number ({name}).", start=start, name=name)
    mean = _(
        "{start}: {name}, on average {mean}",
        start=start,
        name=name,
        mean=number(float(values[known].mean()), 3),
    )
    groups = {
        group: values[known & np.array([line.group == group for line in results.lines])]
        for group in _groups(results)
    }
    means = {group: float(numbers.mean()) for group, numbers in groups.items() if len(numbers)}
    if len(means) > 1:
        high, low = (pick(means, key=means.__getitem__) for pick in (max, min))
        return _(
            "{mean}. Highest in the group “{high}” ({most}), lowest in “{low}” ({least}).",
            mean=mean,
            high=data.group_name(high),
            most=number(means[high], 3),
            low=data.group_name(low),
            least=number(means[low], 3),
        )
    return _(
        "{mean}, from {least} to {most}.",
        mean=mean,
        least=number(float(values[known].min()), 3),
        most=number(float(values[known].max()), 3),
    )


def pattern_sentence(results: DataSetResults, text_set: TextSet, key: SortKey) -> str:
    """Return the strongest measure of the head in view over all texts."""
    averages = {
        name: float(heads.means(results, key.kind, name)[key.layer, key.head])
        for name in results.scores[key.kind]
    }
    averages = {name: mean for name, mean in averages.items() if name != "spread" and np.isfinite(mean)}
    start = _(
        "{head} over {n} {texts} with {model}",
        head=head_name(key.layer, key.head),
        n=results.n_read,
        texts=text_set.name_on_screen,
        model=results.model,
    )
    if not averages:
        return f"{start}."
    best = max(averages, key=averages.__getitem__)
    return _(
        "{start}: its strongest measure is “{measure}”, on average {mean}.",
        start=start,
        measure=_(HABIT_NAMES[best]),
        mean=number(averages[best], 3),
    )


def _groups(results: DataSetResults) -> list[str]:
    return list(dict.fromkeys(line.group for line in results.lines))


def _folds(model: Model, results: DataSetResults) -> None:
    """Draw the folds below the picture."""
    key = SortKey(next(iter(data.sort_names(results))))
    with page_parts.fold(page_parts.EQUATION, "many_texts.equation") as fold:
        if fold.open:
            page_parts.equation(LOSSES)
            if results.disagrees_by:
                page_parts.equation(DIVERGENCES if results.disagrees_by == DIVERGENCE else DIFFERENCES)
    with page_parts.fold(page_parts.LOOKING, "many_texts.looking") as fold:
        if fold.open:
            apart = _(DISAGREEMENTS.get(results.disagrees_by, ""))
            st.markdown(_(LOOKING, loss=data.loss_kind(model), disagreement=apart, tokens=TOKENS))
    page_parts.sources_fold(PAGE)
    everything = list(range(len(results.lines)))
    page_parts.table_fold(lambda: data.table(results, key, everything, all_columns=True), "many_texts")
    page_parts.export_fold(lambda: arrays(results), code(model, results), key="many_texts")


def arrays(results: DataSetResults) -> dict[str, np.ndarray | Labelled]:
    """Return the numbers as arrays with names for their axes; of heads the means over the texts, since the list is saved with those of each text."""
    lines = [str(line.line) for line in results.lines]
    numbers = {
        "loss": results.loss,
        "entropy": results.entropy,
        "disagreement": results.disagreement,
        "tokens": results.tokens,
    }
    named: dict[str, np.ndarray | Labelled] = {
        name: Labelled(values, {"line": lines})
        for name, values in numbers.items()
        if np.isfinite(values).any()
    }
    for kind, tables in results.scores.items():
        for measure in tables:
            mean = heads.means(results, kind, measure)
            named[f"mean, {kind} {measure}"] = Labelled(mean, {"layer": None, "head": None})
    for (kind, end), pattern in results.patterns.items():
        axes = {"layer": None, "head": None, "query": None, "key": None}
        named[f"mean pattern, {kind}, aligned at the {end} token"] = Labelled(pattern.weights, axes)
    return named


def code(model: Model, results: DataSetResults) -> str:
    """Return the lines of Python that measure the first texts."""
    measures = ["loss"] * bool(np.isfinite(results.loss).any() and model.can("score_words"))
    measures += [HABIT_NAMES[name].partition(" (")[0] for name in next(iter(results.scores.values()), {})][:1]
    some = [line.text for line in results.lines[:3]]
    column = measures[0] if len(measures) > 1 else None
    return CODE.format(model=model.name, texts=some, measures=measures, column=column, largest=True)
