"""Arrays of a recurrent translator with attention: which state is the query, its scores, weights and contexts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from core import edits
from core.errors import InputError
from core.run import Run
from core.serving.engine import RunRequest, default
from viz.languages import _, ngettext

Array = np.ndarray
ASKERS = {"before": "bahdanau-en-es", "now": "luong-global-en-es"}
ONE_VECTOR = "rnn-en-es"
EVEN = edits.Uniform("decoder.attn.scores")
LONGEST = 26
ATTENTION, STATE = "decoder.attn", "decoder.layer.{}.hidden"
NEEDED = ("encoder.*hidden", "decoder.start.layer.*.hidden", "decoder.layer.*.hidden", "decoder.attn.*")
"""Names of the values that a run must record for the functions here."""


def states(run: Run) -> tuple[Array, Array]:
    """Return the decoder's top states before and after each step: s_{t-1} and s_t, both (step, d_model)."""
    top = run.model.config.n_layers - 1
    now = run.trace[STATE.format(top)]
    first = run.trace[f"decoder.start.layer.{top}.hidden"]
    return np.concatenate((first[None], now[:-1])), now


def who_asks(run: Run) -> tuple[float, float]:
    """Return the largest difference between the query and s_{t-1}, and between the query and s_t.

    One of the two is 0: Bahdanau et al. 2015 ask with s_{t-1}, Luong et al. 2015 with s_t.

    Errors: InputError for a model without alignment.
    """
    _attends(run)
    query = run.trace[f"{ATTENTION}.q"][0]
    before, now = (float(np.abs(query - state).max()) for state in states(run))
    return before, now


@dataclass(frozen=True)
class Split:
    """Additive scores of one step in both ways of writing them, each (key,), in float64; `width` is the size of tanh's input."""

    stacked: Array
    parted: Array
    width: int

    @property
    def gap(self) -> float:
        """Return the largest difference of the two."""
        return float(np.abs(self.stacked - self.parted).max())


def split_score(run: Run, step: int) -> Split | None:
    """Return v . tanh(W [s; h_j]) and v . tanh(W_1 s + W_2 h_j) with W = [W_1 W_2]: equal (Bahdanau et al. 2015, appendix
    A.1.2).

    None where the model scores otherwise.
    """
    _attends(run)
    score = run.model.network.decoder.attend.score
    if not hasattr(score, "from_query"):
        return None
    with torch.no_grad():
        w1, w2, v = (
            weight.detach().double() for weight in (score.from_query.weight, score.from_key.weight, score.v)
        )
        query = torch.tensor(run.trace[f"{ATTENTION}.q"][0, step], dtype=torch.float64)
        keys = torch.tensor(run.trace[f"{ATTENTION}.k"][0], dtype=torch.float64)
        both = torch.cat((query.expand(len(keys), -1), keys), 1)
        stacked = torch.tanh(both @ torch.cat((w1, w2), 1).T) @ v
        parted = torch.tanh(w1 @ query + keys @ w2.T) @ v
    return Split(stacked.numpy(), parted.numpy(), len(v))


def slopes(weights: Array) -> Array:
    """Return d a_j / d s_k = diag(a) - a a^T: the derivative of each weight by each score, (key, key).

    >>> slopes(np.array([0.5, 0.5])).tolist()
    [[0.25, -0.25], [-0.25, 0.25]]
    """
    return np.diag(weights) - np.outer(weights, weights)


def _attends(run: Run) -> None:
    if not getattr(run.model.config, "attends", False):
        raise InputError(
            _("{model} has no alignment.", model=run.model.name),
            _("Its decoder reads one vector only."),
            _("Choose a model with attention."),
        )


@dataclass(frozen=True)
class Data:
    """One sentence through one translator with attention, token by token; `written` ends with END.

    Shapes: ahead, back (n, p), joined (n, 2p), scores, weights (m, n), contexts (m, 2p). `before` and `now`
    say how far
    the query is from s_(t-1) and from s_t.
    """

    model: str
    words: tuple[str, ...]
    written_tokens: tuple[str, ...]
    text: str
    ahead: Array
    back: Array
    joined: Array
    scores: Array
    weights: Array
    contexts: Array
    before: float
    now: float


def usable(name: str) -> bool:
    """Return whether a model is installed and loads without an error."""
    entry = default().entry(name)
    return bool(entry and entry.ok)


def translated(model: str, text: str) -> Data:
    """Run a translator on a text and return its states, scores and weights. Errors: InputError, before the run, for more than
    LONGEST tokens."""
    n = len(default().open(model).tokenizer.encode(text).ids)
    if n > LONGEST:
        raise InputError(
            ngettext("The sentence has {n} token.", "The sentence has {n} tokens.", n),
            _("This page draws sentences of up to {n}.", n=LONGEST),
            _("Shorten it, or take an example."),
        )
    run = default().run(RunRequest(model, text, keep=NEEDED))
    trace, found, config = run.trace, run.attention("alignment", writing=True), run.model.config
    layer = config.n_layers - 1
    joined = trace[f"encoder.layer.{layer}.hidden"]
    ahead, back = joined, joined[:, :0]
    if config.bidirectional:
        ahead, back = (trace[f"encoder.{way}.layer.{layer}.hidden"] for way in ("forward", "backward"))
    before, now = who_asks(run)
    return Data(
        model=run.model.name,
        words=tuple(token.removeprefix(" ") or token for token in found.keys),
        written_tokens=tuple(token.removeprefix(" ") or token for token in found.queries),
        text=run.target_text or "",
        ahead=ahead,
        back=back,
        joined=joined,
        scores=trace["decoder.attn.scores"][0],
        weights=found.weights[0, 0],
        contexts=trace["decoder.attn.context"],
        before=before,
        now=now,
    )


def even(model: str, text: str) -> tuple[str, Array, float]:
    """Run the model with every score 0. Return its translation, its weights (query key) and the largest distance of a c_i from
    the mean of the h_j."""
    run = default().run(RunRequest(model, text, keep=NEEDED, edits=(EVEN,)))
    off = np.abs(run.trace["decoder.attn.context"] - run.trace["encoder.layer.0.hidden"].mean(0)).max()
    return run.target_text or "", run.trace["decoder.attn.pattern"][0], float(off)


def one_vector(text: str) -> str | None:
    """Return the translation of the network with one context vector; None where it is not installed."""
    if not usable(ONE_VECTOR):
        return None
    return default().run(RunRequest(ONE_VECTOR, text, keep=())).target_text


def telling(data: Data) -> int:
    """Return the row for the question: the written word with the largest weight on a source word at another position; never
    END."""
    rows = range(len(data.written_tokens) - 1) or range(1)
    letters = [row for row in rows if any(letter.isalpha() for letter in data.written_tokens[row])] or list(
        rows
    )
    crossing = [row for row in letters if int(data.weights[row].argmax()) != row]
    return max(crossing or letters, key=lambda row: float(data.weights[row].max()))
