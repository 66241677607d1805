"""The models that ship: what each is, how big, what it has learned and from what; damaged or missing ones by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd
import streamlit as st

import core.serving.engine
from core.analysis.heads.head_file import HeadMeasures, read_heads
from core.checkpoints.manifest import Shipped, read_manifest, shipped_folder
from core.checkpoints.record import Training, read_training
from core.checkpoints.scores import MEASURES as KNOWN
from core.checkpoints.scores import Measure, Score, read_scores
from core.errors import in_reader_language
from core.models import families
from core.serving.engine import Listing
from core.tools.card_sections import part_sentences
from viz.charts import marks
from viz.instruments.kit import origin
from viz.labels import literal
from viz.languages import _, mark, write_number
from viz.memo import remembered
from viz.number_text import MEGA, megabytes
from viz.shell import links, notices, state
from viz.shell.pages import Page
from viz.widgets import controls, engine_client, page_parts
from viz.workspace.models import card as models_card
from viz.workspace.shared import toy_models

PAGE = Page(
    title="Models",
    order=50,
    menu="more",
    claim="Every model that opens here, each with its card: the small ones that were trained for this atlas, and those of other folders.",
)
IN_VIEW = "models.which"


@dataclass(frozen=True)
class Params:
    """The model whose card is open; "" for the one that the visitor looks at."""

    model: str = ""


@dataclass(frozen=True)
class ModelCard:
    """One model: usable with its facts, or why not. `terms` is None for a folder of whoever started the server."""

    name: str
    problem: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    card: str = ""
    terms: Shipped | None = None
    scores: tuple[Score, ...] = ()
    training: Training | None = None
    heads: HeadMeasures | None = None
    looks: bool = True
    group: str = ""


DECODERS, ENCODERS, BOTH = mark("Decoder (GPT)"), mark("Encoder (BERT)"), mark("Encoder and decoder")
READERS, SENSES, TOYS = mark("Words and documents"), mark("Pictures and sound"), mark("Toys of one exhibit")
GROUPS = (DECODERS, ENCODERS, BOTH, READERS, SENSES, TOYS)
MEASURES = {name: measure for name, measure in KNOWN.items() if measure.telling}
"""The measures that are drawn; all stand in the card."""


def compute(_: Params = Params()) -> tuple[ModelCard, ...]:
    """Return every listed model in order; one that cannot be opened does not hide the others."""
    terms = read_manifest(shipped_folder())
    return tuple(
        _card_of(listing, terms.get(listing.name)) for listing in core.serving.engine.default().models()
    )


def page() -> None:
    """Draw the list, of which one card is open; two beside each other; all in a table."""
    page_parts.title(PAGE, lesson_only=True)
    found = compute()
    if not found:
        notices.box(
            _("No model is here."),
            _("The shipped models are folders in assets/models."),
            _("Fetch the whole repository again, then restart."),
        )
    for model in found:
        if model.problem:
            notices.box(
                _("{model} is not served.", model=model.name),
                in_reader_language(model.problem),
                _("The rest of the atlas works without it."),
            )
    fine = {model.name: model for model in found if not model.problem}
    if not fine:
        return
    _card(fine[_choose(fine)])
    _compared([*fine.values()])
    page_parts.table_fold(
        lambda: (
            pd.DataFrame([{_("model"): model.name} | dict(model.facts) for model in fine.values()])
            .set_index(_("model"))
            .fillna("")
        ),
        "models",
    )


def _choose(fine: Mapping[str, ModelCard]) -> str:
    """Draw the groups and the models of the chosen one's group; return the chosen one."""
    groups = {group: [name for name in fine if fine[name].group == group] for group in GROUPS}
    groups = {group: names for group, names in groups.items() if names}
    looked_at = state.peek("model")
    default = looked_at if looked_at in fine else next(iter(groups.values()))[0]
    group = groups[fine[state.read(IN_VIEW, default, state.one_of([*fine], default))].group]
    first = {name: {IN_VIEW: names[0]} for name, names in groups.items()}
    controls.preset_values(first, "models.group", {IN_VIEW: group[0]}, _("Family of models"))
    if len(group) == 1:
        return group[0]
    return controls.segmented(
        _("Model"), group, IN_VIEW, default if default in group else group[0], quiet=True
    )


def _group(name: str, family: str) -> str:
    """Return the group of a model: by the input and output of its family, the models of toy tasks for themselves."""
    spec = families()[family]
    if spec.reads:
        return SENSES
    if toy_models.kind_of(name):
        return TOYS
    if spec.has_source:
        return BOTH
    return ENCODERS if spec.framed else DECODERS if spec.writes else READERS


def _card(model: ModelCard) -> None:
    origin.tell(model=model.name)
    with st.container(border=True):
        st.header(literal(model.name), anchor=False)
        with st.container(horizontal=True, gap="medium"):
            for name, value in model.facts:
                st.markdown(f":gray[:small[{name}]]  \n{value}", width="content")
        _scores(model)
        if model.terms:
            st.markdown(
                _(
                    "{attribution}  \n:gray[Licence: {licence}.]",
                    attribution=literal(_(model.terms.attribution)),
                    licence=literal(model.terms.licence),
                )
            )
        if model.looks:
            links.page_link("look", _("Open in Look"), icon=":material/visibility:", model=model.name)
        with page_parts.fold(
            _("The card: data, training, evidence, weaknesses"), f"models.{model.name}"
        ) as fold:
            if fold.open:
                models_card.draw(
                    model.name, model.card, model.training, model.heads, shipped=model.terms is not None
                )


def _scores(model: ModelCard) -> None:
    """Draw one row of bars for each measure: the model and its baselines on the same split; then the measures part by part."""
    for measure, how in MEASURES.items():
        for split in dict.fromkeys(score.split for score in model.scores if score.measure == measure):
            rows = [score for score in model.scores if (score.measure, score.split) == (measure, split)]
            if len(rows) == 1:
                continue  # nothing to compare with: it stands in the card
            best = sorted(rows, key=lambda score: score.value, reverse=how.more)
            st.caption(
                _("{measure} on {split}: higher is better", measure=_(how.words), split=literal(_(split)))
                if how.more
                else _("{measure} on {split}: lower is better", measure=_(how.words), split=literal(_(split)))
            )
            page_parts.show(
                marks.bars(
                    pd.Series({_(score.subject): score.value for score in best}),
                    how.number,
                    highlighted=[model.name],
                ),
                f"models.{model.name}.{measure}.{split}",
                _(
                    "{measure} on {split}: {values}",
                    measure=_(how.words),
                    split=_(split),
                    values="; ".join(f"{_(score.subject)} {_value_text(how, score)}" for score in best),
                ),
            )
    for split in dict.fromkeys(score.split for score in model.scores):
        for said in part_sentences(model.scores, split, model.name):
            st.caption(_("On {split}, {sentence}", split=literal(_(split)), sentence=said))


def _compared(fine: Sequence[ModelCard]) -> None:
    """Draw two models side by side: their facts, and the measures that both were given."""
    if len(fine) < 2:
        return
    with page_parts.fold(_("Compare two models"), "models.compare") as fold:
        if not fold.open:
            return
        names = [model.name for model in fine]
        with st.container(horizontal=True):
            first = controls.select(_("One"), names, "models.first", names[0])
            second = controls.select(_("The other"), names, "models.second", names[1])
        sides = [next(model for model in fine if model.name == name) for name in (first, second)]
        columns = {side.name: dict(side.facts) | _measured(side) for side in sides}
        order = dict.fromkeys(name for column in columns.values() for name in column)
        st.table(
            pd.DataFrame(
                {name: [column.get(row, "") for row in order] for name, column in columns.items()},
                index=list(order),
            )
        )


def _measured(model: ModelCard) -> dict[str, str]:
    own = [score for score in model.scores if score.subject == model.name and score.measure in MEASURES]
    return {
        f"{_(MEASURES[score.measure].words)}, {_(score.split)}": _value_text(MEASURES[score.measure], score)
        for score in own
    }


def _value_text(how: Measure, score: Score) -> str:
    return write_number(how.number.format(score.value))


def _card_of(listing: Listing, terms: Shipped | None) -> ModelCard:
    if not listing.ok:
        return ModelCard(listing.name, listing.problem, terms=terms)
    try:
        return remembered(listing, ("models.card", terms is None), lambda: _opened(listing.name, terms))
    except Exception:  # noqa: BLE001 - the engine has logged it and says in its listing what is wrong
        now = next(each for each in core.serving.engine.default().models() if each.name == listing.name)
        return ModelCard(listing.name, now.problem or _("Its files could not be read."), terms=terms)


def _opened(name: str, terms: Shipped | None) -> ModelCard:
    model = engine_client.open(name)
    shown = ModelCard(
        name,
        facts=_facts(model, terms),
        card=model.card,
        terms=terms,
        looks=model.config.n_layers > 0,
        group=_group(name, str(model.family)),
    )
    if terms is None:
        return shown
    folder = shipped_folder() / name
    return replace(
        shown, scores=read_scores(folder), training=read_training(folder), heads=read_heads(folder)
    )


def _facts(model: Any, terms: Shipped | None) -> tuple[tuple[str, str], ...]:
    config = model.config
    facts = [(_("Family"), literal(str(model.family)))]
    if config.n_layers:
        own = getattr(config, "n_decoder_layers", 0) if model.spec.has_source else 0
        facts += [
            (_("Layers"), _("{n} and {more}", n=config.n_layers, more=own) if own else f"{config.n_layers}"),
            (_("Heads"), f"{config.n_heads}"),
        ]
    facts += [
        (_("Width"), f"{config.d_model}"),
        (_("Vocabulary"), _("{n:,}", n=config.n_vocab)),
        (_("Context"), _("{n:,} tokens", n=config.n_ctx)),
        (_("Parameters"), _("{n:,}", n=model.n_parameters)),
    ]
    if terms:
        facts.append((_("On disk"), megabytes(sum(file.bytes for file in terms.files.values()), 1, MEGA)))
    return tuple(facts)
