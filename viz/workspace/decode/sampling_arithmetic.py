"""The way of one candidate: its score, what each filter makes of it, the softmax with the numbers put in.

    P'(y) = e^x / sum_j e^(x_j)        x: the score after all filters, the sum over the tokens that they left

The texts are made here so that a test can read them and calculate again: a result is what the *shown* numbers give.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass

from core.analysis.arithmetic.digits import parse_number
from core.decoding.choose import Candidate, Choice
from core.decoding.filters import Filter, NotAllowed
from core.decoding.step import Step
from viz.languages import ENGLISH, _, mark, using
from viz.number_text import number, ordinal

FEWEST, MOST = 3, 10
"""Decimals of a score: as few as give the probability that is shown."""
DIGITS = 3
"""Significant digits of a probability."""
NEVER = mark("its configuration says that the model never writes it")
UNSEEN = mark("it does not stand in the text")
NAMES = {
    "not_allowed": mark("not allowed"),
    "repetition_penalty": mark("repetition penalty"),
    "temperature": mark("temperature"),
    "top_k": "top-k",
    "top_p": "top-p",
    "min_p": "min-p",
}


@dataclass(frozen=True)
class Stage:
    """One line: whose work it is, what is calculated with numbers put in ("" for what is given), what comes out."""

    name: str
    put: str
    result: str


@dataclass(frozen=True)
class Way:
    """All stages, the same as one `line`, and the `rule` that cut the token ("" where none did). `e^{x}` writes e to the x."""

    stages: tuple[Stage, ...]
    line: str
    rule: str


def title(step: Filter) -> str:
    """Return a filter by name, with its setting.

    >>> from core.decoding.filters import TopK
    >>> title(TopK(40))
    'top-k 40'
    """
    name = _(NAMES.get(step.name, step.name))
    return name if isinstance(step, NotAllowed) else f"{name} {_setting(step):g}"


def way(candidate: Candidate, step: Step | Choice) -> Way:
    """Return the way of a candidate of this step through its filters, in as few digits as make every line true.

    >>> import core
    >>> first = next(core.decode(core.open_model("gpt-mini"), "Once upon a", core.Sample(temperature=0.5, seed=1)))
    >>> [stage.name for stage in way(first.candidates[0], first).stages]
    ['logit z', 'temperature 0.5', 'e to the x', 'part of the sum over 4,096']
    """
    log_sum = step.log_total if step.log_kept is None else step.log_kept
    decimals, exact = FEWEST - 1, False
    stages: tuple[Stage, ...] = ()
    while not exact and decimals < MOST:
        decimals += 1
        stages, exact = _stages(candidate, step.filters, log_sum, step.n_kept, decimals)
    return Way(stages, _line(stages), _rule(candidate, step.filters))


def _stages(
    candidate: Candidate, filters: Sequence[Filter], log_sum: float, n_candidates: int, decimals: int
) -> tuple[tuple[Stage, ...], bool]:
    """Return the stages with so many decimals, and whether they end in the probability that the candidate has."""
    now = _number(candidate.logit, decimals)
    found = [Stage(_("logit z"), "", now)]
    for place, each in enumerate(filters):
        put, now = _PUT[each.name](each, now, candidate.measures[place], decimals)
        found.append(Stage(title(each), put, now))
        if candidate.cut_by == each.name:
            break
    x = candidate.scores[-1] if candidate.scores else candidate.logit
    now = "−∞" if now == "cut" else now
    above, whole, p = (
        power(parse_number(now), decimals + 1),
        power(log_sum, decimals + 1),
        probability(x - log_sum),
    )
    found.append(Stage(_("e to the x"), f"e^{{{now}}}", above))
    found.append(Stage(_("part of the sum over {n:,}", n=n_candidates), f"{above} / {whole}", p))
    return tuple(found), abs(math.exp(logarithm(above) - logarithm(whole)) - value(p)) <= _half(p)


# ------------------------------------------------------------------------------------------------ what each filter does


def _allowed(each: Filter, now: str, shut: float, decimals: int) -> tuple[str, str]:
    return (_(NEVER), "cut") if shut else ("", now)


def _penalised(each: Filter, now: str, stands: float, decimals: int) -> tuple[str, str]:
    if not stands:
        return _(UNSEEN), now
    by, up = f"{_setting(each):g}", parse_number(now) > 0
    return f"{now} {'/' if up else '·'} {by}", _number(
        parse_number(now) / float(by) if up else parse_number(now) * float(by), decimals
    )


def _cooled(each: Filter, now: str, largest: float, decimals: int) -> tuple[str, str]:
    top, by = _number(largest, decimals), f"{_setting(each):g}"
    off = f"− {top}" if largest >= 0 else f"+ {top.removeprefix('−')}"
    return f"({now} {off}) / {by}", _number((parse_number(now) - parse_number(top)) / float(by), decimals)


def _ranked(each: Filter, now: str, rank: float, decimals: int) -> tuple[str, str]:
    return _("it is {rank}", rank=ordinal(int(rank))), now if rank <= _setting(each) else "cut"


def _covered(each: Filter, now: str, before: float, decimals: int) -> tuple[str, str]:
    p = _setting(each)
    if before == 0:
        return _("it is the most probable"), now
    return _(
        "those before it have {share} together", share=_on_its_side(before, p)
    ), now if before < p else "cut"


def _compared(each: Filter, now: str, part: float, decimals: int) -> tuple[str, str]:
    p = _setting(each)
    if part == 1:
        return _("it is the most probable"), now
    return _(
        "it has {share} of the most probable one's", share=_on_its_side(part, p)
    ), "cut" if part < p else now


_PUT: dict[str, Callable[[Filter, str, float, int], tuple[str, str]]] = {
    "not_allowed": _allowed,
    "repetition_penalty": _penalised,
    "temperature": _cooled,
    "top_k": _ranked,
    "top_p": _covered,
    "min_p": _compared,
}


def _rule(candidate: Candidate, filters: Sequence[Filter]) -> str:
    """Return which filter cut it, by what rule."""
    for each, measure in zip(filters, candidate.measures, strict=True):
        if candidate.cut_by == each.name:
            return f"{title(each)}: {_PUT[each.name](each, '', measure, FEWEST)[0]}"
    return ""


def _line(stages: Sequence[Stage]) -> str:
    """Return the stages one after the other; one that does not change the score is only named."""
    given, *through, power_of, part = stages
    told, stays, now = [_("logit {value}", value=given.result)], [], given.result
    for stage in through:
        if stage.result == now and stage.put != _(UNSEEN):
            stays.append(stage.name)
            continue
        told, stays = [*told, *_unchanged(stays)], []
        if stage.result == "cut":
            by = (
                "{name}: {reason}"
                if stage.name == _(NAMES["not_allowed"])
                else mark("cut by {name}: {reason}")
            )
            return " → ".join([*told, _(by, name=stage.name, reason=stage.put)])
        told.append(f"{stage.name}: {stage.result if stage.put != _(UNSEEN) else _('not in the text')}")
        now = stage.result
    return " → ".join(
        [*told, *_unchanged(stays), f"{power_of.put} = {power_of.result}", f"{part.put} = {part.result}"]
    )


def _unchanged(names: Sequence[str]) -> list[str]:
    return [_("{names}: stays", names=", ".join(names))] if names else []


def _setting(each: Filter) -> float:
    return float(astuple(each)[0])  # type: ignore[call-overload]


# ------------------------------------------------------------------------------------------------ numbers


def _number(value: float, places: int) -> str:
    """Return a number in the marks of English, since it is read again to calculate with."""
    with using(ENGLISH.code):
        return number(value, places)


def power(x: float, digits: int) -> str:
    """Return e to the x, however large or small it is.

    >>> power(-1.0, 4), power(14.203, 4), power(-800.0, 3)
    ('0.3679', '1.473·10^{6}', '3.67·10^{−348}')
    """
    if x == -math.inf:
        return "0"
    tens = math.floor(x / math.log(10))
    if -4 <= tens < 6:
        return _number(math.exp(x), max(digits - 1 - tens, 0))
    return f"{_number(10 ** (x / math.log(10) - tens), digits - 1)}·10^{{{_number(tens, 0)}}}"


def probability(logprob: float) -> str:
    """Return e to the logprob in three significant digits, more where it would else be a false 1.

    >>> [probability(math.log(p)) for p in (0.13588, 0.99996, 3.21e-9, 1.0)]
    ['0.136', '0.99996', '3.21·10^{−9}', '1.00']
    """
    text = power(logprob, DIGITS)
    for decimals in range(DIGITS, 13):
        if logprob >= 0 or value(text) < 1:
            break
        text = _number(math.exp(logprob), decimals)
    return text


def value(text: str) -> float:
    """Return the value of a text of `power` or `probability`.

    >>> value("1.473·10^{6}"), value("0.3679")
    (1473000.0, 0.3679)
    """
    factor, _, tens = text.partition("·10^{")
    return float(f"{factor}e{tens.rstrip('}').replace('−', '-') or 0}")


def logarithm(text: str) -> float:
    """Return ln of a text of `power`, also of a number that no float can hold."""
    factor, _, tens = text.partition("·10^{")
    return (
        math.log(float(factor)) + math.log(10) * int(tens.rstrip("}").replace("−", "-") or 0)
        if float(factor)
        else -math.inf
    )


def _half(text: str) -> float:
    """Return half a unit of the last digit that is shown."""
    factor, _, tens = text.partition("·10^{")
    return (
        0.5
        * 10.0 ** (int(tens.rstrip("}").replace("−", "-") or 0) - len(factor.partition(".")[2]))
        * (1 + 1e-9)
    )


def _on_its_side(amount: float, limit: float) -> str:
    """Return a number in as few decimals as leave it on its side of the limit."""
    decimals = FEWEST
    while (parse_number(_number(amount, decimals)) < limit) != (amount < limit) and decimals < 12:
        decimals += 1
    return _number(amount, decimals)
