"""Settings of the exhibit on self-attention, and the data that is computed from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import streamlit as st

from viz.course.self_attention.self_attention import link
from viz.course.shared import self_attention
from viz.languages import _, mark
from viz.shell import state
from viz.widgets import controls
from viz.widgets.knobs import Control, Knobs, knob, segmented, sentence, slider, toggle, url_only

SLUG = "self_attention."
LOTS = 9999
SENTENCES = ("She is eating a green apple", "I am a student", "The dog sees the cat")


def _draw_control(name: str, opening: int, _params: Params, names: Callable[[str], str]) -> None:
    """Draw the seed, and a button that undoes weights set by hand."""
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        controls.seed_input(name, opening, LOTS, drops=(names("set"),))
        _back(_("As drawn"), names("set"), f"{SLUG}undo", ":material/undo:")


def _printed_weights_button(_name: str, _opening: str, _params: Params, names: Callable[[str], str]) -> None:
    """Draw a button that restores the weights that the slides print."""
    _back(_("The printed weights"), names("scores"), f"{SLUG}given")


def _back(label: str, name: str, key: str, icon: str | None = None) -> None:
    st.button(
        label, key=key, on_click=lambda: state.write(**{name: None}), disabled=not state.peek(name), icon=icon
    )


@dataclass(frozen=True)
class Params(Knobs):
    """The sentence and its length, the sizes d, p, r, the seed, weights set by hand, the marked word, switches, the example."""

    text: str = knob(SENTENCES[0], sentence("Sentence", SENTENCES), link="text")
    n: int = knob(6, slider("n, words", 1, self_attention.LONGEST, width=240))
    d: int = knob(4, slider("d, numbers of a word", 1, self_attention.LARGEST, width=240))
    p: int = knob(3, slider("p, of query and key", 1, self_attention.LARGEST, width=240))
    r: int = knob(2, slider("r, of a value", 1, self_attention.LARGEST, width=240))
    lot: int = knob(
        1538, Control(_draw_control, lambda opening: state.whole_number(0, LOTS)), link="self_attention.draw"
    )
    set: str = knob("", url_only(lambda text: link.pack_changes(link.changes(text))))
    at: int = knob(5, url_only(state.whole_number(0, self_attention.LONGEST - 1)))
    itself: bool = knob(True, toggle("The word attends to itself", width=1))
    tied: bool = knob(
        False,
        toggle(
            "$W_K := W_Q$, a kernel",
            help=mark(
                "Then any two words give each other the same score, and S is symmetric, like a kernel matrix."
            ),
            width=1,
        ),
    )
    printed: bool = knob(
        False, toggle("As printed in Eq. (16)", help=mark("V A, without transposing A."), width=1)
    )
    example: str = knob(
        "student",
        segmented(
            "Example",
            tuple(self_attention.EXAMPLES),
            {name: " ".join(example.words) for name, example in self_attention.EXAMPLES.items()}.__getitem__,
            quiet=True,
            width=1,
        ),
    )
    scores: str = knob(
        "",
        Control(
            _printed_weights_button, lambda opening: lambda text: link.joined(link.scores(text)), width=1
        ),
    )
    own: bool = knob(False, toggle("The word attends to itself", width=1))

    @property
    def changes(self) -> tuple[self_attention.Change, ...]:
        """Return the weights set by hand."""
        return link.changes(self.set)

    @property
    def example_scores(self) -> tuple[float, ...]:
        """Return the scores of the example that were moved; () before any was."""
        return link.scores(self.scores)


@dataclass(frozen=True, eq=False)
class Data:
    """The words and their number in the text, all matrices, Eq. (16) as printed, torch's difference, the kernel, the example's
    weighted sum."""

    words: tuple[str, ...]
    total: int
    attention: self_attention.Attended
    printed: self_attention.Printed
    off: float
    kernel: self_attention.Kernel
    mixed: self_attention.Mixed
    example: self_attention.Example = field(default=self_attention.EXAMPLES["student"])


def at_of(data: Data, params: Params) -> int:
    """Return the index of the marked word, limited to the sentence."""
    return min(params.at, len(data.words) - 1)
