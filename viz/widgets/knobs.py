"""The settings of a page, each declared once: its opening value, its control, its rule, and its name in the link.

    @dataclass(frozen=True)
    class Params(Knobs):
        d_k: int = knob(64, stops("d, the numbers in a query", (4, 16, 64)))
        text: str = knob("I am a student.", sentence("Sentence", model="gpt-mini"), link="text")

    params = Params.read("scaling")     # the link first, then this visit, then the opening value: viz.shell.state
    params.show("scaling", "d_k")       # its control, in the link as scaling.d_k

A control is a function of `viz.widgets.controls` that waits for its name and its opening value. What is written on it, and what it
offers, may depend on the other values: then it is a function of the Params.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Literal, Self

import streamlit as st

from core.text.tokenizer import readable_part
from viz.languages import _, mark
from viz.shell import state
from viz.widgets import controls, engine_client
from viz.widgets import doodle as canvas

ValueOrFunction = Any
"""A value, or a function that makes it of the Params."""
Width = int | Literal["stretch"]


@dataclass(frozen=True)
class Control:
    """How a value is set: `draw(name, opening, params, names)` draws it (`names` gives the link's name of a field), `rule(opening)` is the
    parser of the link. Controls with a `width` in pixels stand in one row, "stretch" shares it evenly; 0 is a row of its own."""

    draw: Callable[[str, Any, Any, Callable[[str], str]], object]
    rule: Callable[[Any], Callable[[str], Any]]
    width: Width = 0


def knob(opening: Any, control: Control, link: str = "") -> Any:
    """Declare a field of `Knobs` with its default value and its control. In a link it is called SLUG.FIELD, or `link` if given; all pages share the name "text"."""
    return dataclasses.field(default=opening, metadata={"control": control, "link": link})


class Knobs:
    """Base of a page's frozen dataclass `Params`, whose fields are all made by `knob`."""

    @classmethod
    def link(cls, slug: str, field: str) -> str:
        """Return the name of a field in the link."""
        return cls._fields()[field].metadata["link"] or f"{slug}.{field}"

    @classmethod
    def read(cls, slug: str) -> Self:
        """Return the chosen values. A value in the link that cannot be used is reported to the visitor and replaced by the nearest one."""
        return cls(
            **{
                name: state.read(
                    cls.link(slug, name), field.default, field.metadata["control"].rule(field.default)
                )
                for name, field in cls._fields().items()
            }
        )

    def show(self, slug: str, *names: str) -> None:
        """Draw the controls of these fields: narrow ones side by side, the others below each other."""
        for beside, row in itertools.groupby(names, self._row_of):
            if beside:
                self._row(slug, row)
                continue
            for name in row:
                self._draw(slug, name)

    def _row_of(self, name: str) -> str:
        """Return the name of the row that a field's control shares with its neighbours: "" for none."""
        width = self._fields()[name].metadata["control"].width
        return width if isinstance(width, str) else "narrow" if width else ""

    def _row(self, slug: str, names: Iterable[str]) -> None:
        with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
            for name in names:
                width = self._fields()[name].metadata["control"].width
                with st.container(width="content" if width == 1 else width):
                    self._draw(slug, name)

    def _draw(self, slug: str, name: str) -> None:
        field = self._fields()[name]
        field.metadata["control"].draw(
            self.link(slug, name),
            field.default,
            self,
            lambda other: self.link(slug, other) if other in self._fields() else f"{slug}.{other}",
        )

    @classmethod
    def _fields(cls) -> dict[str, dataclasses.Field[Any]]:
        return {field.name: field for field in dataclasses.fields(cls)}  # type: ignore[arg-type]


PLACEHOLDER = mark("Type a sentence")


def _resolve(value: ValueOrFunction, params: Any) -> Any:
    return value(params) if callable(value) else value


def _label(value: ValueOrFunction, params: Any) -> str:
    """Return a label, which the class of the Params has in English, in the visitor's language."""
    return _(_resolve(value, params))


def _one_of(options: Sequence[Any]) -> Callable[[Any], Callable[[str], Any]]:
    return lambda opening: state.one_of(tuple(options), opening)


def _choice_rule(options: ValueOrFunction) -> Callable[[Any], Callable[[str], Any]]:
    """Return the rule of a choice; one whose options depend on other values is checked where it is drawn."""
    return (lambda opening: type(opening)) if callable(options) else _one_of(options)


def pills(
    label: ValueOrFunction,
    options: ValueOrFunction,
    format: Callable[[Any], str] = str,
    *,
    quiet: bool = False,
    width: Width = 0,
) -> Control:
    """Declare a choice of one of a few, as pills."""
    return Control(
        lambda name, opening, p, names: controls.pills(
            _label(label, p), _resolve(options, p), name, opening, format, quiet=quiet
        ),
        _choice_rule(options),
        width,
    )


def segmented(
    label: ValueOrFunction,
    options: ValueOrFunction,
    format: Callable[[Any], str] = str,
    *,
    quiet: bool = False,
    wrap: bool = True,
    width: Width = 0,
) -> Control:
    """Declare a choice of one of two to five options as one bar; `label` and `options` may be functions of the Params.

    quiet: the label is kept for screen readers alone. wrap: a bar that is too long goes on in another row, else it scrolls.
    """
    return Control(
        lambda name, opening, p, names: controls.segmented(
            _label(label, p), _resolve(options, p), name, opening, format, quiet=quiet, wrap=wrap
        ),
        _choice_rule(options),
        width,
    )


def select(
    label: ValueOrFunction,
    options: ValueOrFunction,
    format: Callable[[Any], str] = str,
    *,
    width: Width = 0,
    **more: Any,
) -> Control:
    """Declare a choice of one of many, from a list."""
    return Control(
        lambda name, opening, p, names: controls.select(
            _label(label, p), _resolve(options, p), name, opening, format, **more
        ),
        _choice_rule(options),
        width,
    )


def select_slider(
    label: ValueOrFunction, options: Sequence[Any], format: Callable[[Any], str] = str, *, width: Width = 560
) -> Control:
    """Declare a quantity that grows by factors: a slider with named stops."""
    return Control(
        lambda name, opening, p, names: controls.select_slider(
            _label(label, p), options, name, opening, format
        ),
        _one_of(options),
        width,
    )


def slider(
    label: ValueOrFunction,
    lo: float,
    hi: float,
    step: float = 1,
    help: str | None = None,
    *,
    width: Width = 0,
) -> Control:
    """Declare a number from `lo` to `hi`, set with a slider."""
    return Control(
        lambda name, opening, p, names: controls.slider(
            _label(label, p), lo, hi, name, opening, step, help and _(help)
        ),
        lambda opening: controls.number_rule(lo, hi, opening, step),
        width,
    )


def number(
    label: ValueOrFunction,
    lo: float,
    hi: float,
    step: float = 1,
    help: str | None = None,
    *,
    width: Width = 160,
) -> Control:
    """Declare a quantity that one types."""
    return Control(
        lambda name, opening, p, names: controls.number(
            _label(label, p), lo, hi, name, opening, step, help and _(help)
        ),
        lambda opening: controls.number_rule(lo, hi, opening, step),
        width,
    )


def seed_input(most: int = 9999, *, first: int = 0, drops: Sequence[str] = (), **more: Any) -> Control:
    """Declare the seed of random numbers, with the button that takes the next; another seed takes back the fields named in `drops`."""
    return Control(
        lambda name, opening, p, names: controls.seed_input(
            name, opening, most, first=first, drops=tuple(map(names, drops)), **more
        ),
        lambda opening: state.whole_number(first, most),
        1,
    )


def toggle(label: ValueOrFunction, help: str | None = None, *, width: Width = 0) -> Control:
    """Declare a choice of yes or no."""
    return Control(
        lambda name, opening, p, names: controls.toggle(_label(label, p), name, opening, help and _(help)),
        lambda opening: state.yes_or_no,
        width,
    )


def sentence(
    label: ValueOrFunction,
    examples: ValueOrFunction = (),
    *,
    model: ValueOrFunction = "",
    most: str | Callable[[], str] = "",
    drops: Sequence[str] = (),
    placeholder: ValueOrFunction = PLACEHOLDER,
    quiet: ValueOrFunction = False,
    width: Width = 0,
) -> Control:
    """Declare a box for a text, below it `examples` to choose; another text takes back the fields named in `drops`. `model`, `most`: see controls.text."""

    def draw(name: str, opening: str, params: Any, names: Callable[[str], str]) -> None:
        offered = _resolve(examples, params)
        with (
            st.container(horizontal=True, vertical_alignment="center")
            if offered and state.presenting()
            else nullcontext()
        ):
            controls.text(
                _label(label, params),
                name,
                opening,
                quiet=_resolve(quiet, params),
                placeholder=_label(placeholder, params),
                drops=tuple(map(names, drops)),
                model=_resolve(model, params),
                most=most() if callable(most) else most,
            )
            if offered:
                controls.preset_row(offered, name, opening)

    return Control(draw, lambda opening: readable_part, width)


def doodle(
    title: ValueOrFunction = canvas.TITLE, *, upload: bool = True, drops: Sequence[str] = ()
) -> Control:
    """Declare a doodle that one draws, chooses or uploads, as the text that a model reads; another one takes back the fields named in `drops`."""
    return Control(
        lambda name, opening, p, names: canvas.draw(
            name, opening, title=_label(title, p), upload=upload, drops=tuple(map(names, drops))
        ),
        lambda opening: canvas.linked,
    )


def url_only(rule: Callable[[str], Any]) -> Control:
    """Declare a setting without a control: it is in the link, and the visitor changes it in the picture. `rule` parses it."""
    return Control(lambda *_: None, lambda opening: rule)


def model_choice(label: ValueOrFunction, names: Sequence[str], *, width: int = 0) -> Control:
    """Declare a choice among the installed ones of these models; the first alone, if none is."""

    def available() -> tuple[str, ...]:
        return tuple(
            name for name in names if (entry := engine_client.model_listing(name)) and entry.ok
        ) or tuple(names[:1])

    return with_rule(
        segmented(label, lambda params: available(), width=width), lambda raw: state.one_of(available())(raw)
    )


def with_rule(control: Control, rule: Callable[[str], Any]) -> Control:
    """Return a control with another parser of the link, for options that depend on other values or on installed models."""
    return dataclasses.replace(control, rule=lambda opening: rule)
