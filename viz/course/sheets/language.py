"""Exercises on tokens and texts: WordPiece, the probabilities of our models, beam search, BLEU."""

from __future__ import annotations

import functools
import math
import random
import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from core.data.texts import texts
from core.maths import log_softmax
from core.serving.engine import default
from viz.course.bert import hidden_words, wordpiece
from viz.course.gpt.conditionals import conditionals
from viz.course.sheets.form import (
    Blank,
    Doubtful,
    Exercise,
    Step,
    agreed,
    below,
    inside,
    number_blanks,
    rounded,
)
from viz.languages import _
from viz.number_text import number, trimmed

WRITER, FILLER = "gpt-mini", "bert-mini"
TRANSLATORS = ("rnn-en-es", "bahdanau-en-es", "translator-en-es")
STEMS = ("play", "walk", "read", "paint", "work", "help", "open", "clean")
ENDINGS = ("ing", "ed", "er", "ers", "s", "able", "ful", "less")
FRONTS = ("", "re", "un", "over")


def pieces(chance: random.Random) -> Exercise:
    """Make an exercise on WordPiece: a word is cut from the left, each time by the longest piece that the vocabulary holds."""
    stem, ending, front = chance.choice(STEMS), chance.choice(ENDINGS), chance.choice(FRONTS)
    word = front + stem + ending
    on = wordpiece.ON if front else ""
    known = {front, on + stem, wordpiece.ON + ending, on + stem[: chance.randint(1, 3)], wordpiece.ON + stem}
    known |= {wordpiece.ON + letter for letter in chance.sample(sorted({*stem[1:], *ending}), 3)}
    known |= {chance.choice(STEMS), wordpiece.ON + chance.choice(ENDINGS)}
    if chance.random() < 0.5:  # a piece that reaches over the border, and is the longer one
        known.add(on + stem + ending[0])
    if chance.random() < 0.25:
        known.discard(wordpiece.ON + ending)
    vocabulary = sorted(known - {""})
    looked, cut = wordpiece.tries(word, vocabulary), wordpiece.cut(word, vocabulary)
    found = [one for one in looked if one.in_vocabulary]
    steps = [
        Step(
            _(
                "At letter {place} the longest piece in the vocabulary is {piece}.",
                place=one.start + 1,
                piece=one.piece,
            )
        )
        for one in found
    ]
    if cut == (wordpiece.UNKNOWN,):
        rest = word[looked[-1].start :]
        steps.append(
            Step(
                _(
                    "At letter {place} no piece fits, not even ##{letter}: the whole word is {unknown}.",
                    place=looked[-1].start + 1,
                    letter=rest[0],
                    unknown=wordpiece.UNKNOWN,
                )
                if looked[-1].start
                else _("No piece fits the beginning of the word: it is {unknown}.", unknown=wordpiece.UNKNOWN)
            )
        )
    return Exercise(
        _(
            "Cut the word “{word}” as WordPiece does: from the left, each time the longest piece that is in the vocabulary. A piece inside a word begins with ##. If no piece fits, the whole word is {unknown}.",
            word=word,
            unknown=wordpiece.UNKNOWN,
        ),
        _("{pieces}. {n} pieces were looked up, the longest first.", pieces=" ".join(cut), n=len(looked)),
        tuple(steps),
        {"word": word, "vocabulary": tuple(vocabulary)},
        cut,
        (Blank(_("the pieces, with a space between two"), " ".join(cut)),),
        (_("vocabulary"), "  ".join(vocabulary)),
        room=4,
    )


@functools.cache
def _predicted(sentence: str) -> tuple[tuple[str, ...], tuple[float, ...]]:
    found = conditionals(default().open(WRITER), sentence)
    return found.tokens, tuple(np.exp(found.logprobs).tolist())


def perplexity(chance: random.Random) -> Exercise:
    """Make an exercise on the cross-entropy and the perplexity, exp(-(1/n) sum ln p), of a model's probabilities of a few tokens of a text."""
    tokens, told = _predicted(chance.choice(_texts("continue")))
    n = chance.choice((3, 4))
    if len(tokens) <= n:
        raise Doubtful
    first = chance.randint(1, len(tokens) - n)
    chances = [round(p, 3) for p in told[first : first + n]]
    if min(chances) < 0.002:
        raise Doubtful
    costs = [rounded(-math.log(p)) + 0.0 for p in chances]
    mean = rounded(sum(costs) / n)
    exact = -sum(map(math.log, chances)) / n
    loss, answer = agreed(mean, exact, 3), agreed(math.exp(mean), math.exp(exact), 1)
    return Exercise(
        _(
            "{model} gave the next {n} tokens of a text these probabilities. What is the cross-entropy per token (the mean of $- ln p$, in nats; three decimals), and what the perplexity (one decimal)?",
            model=WRITER,
            n=n,
        ),
        _(
            "Cross-entropy {loss} nats; perplexity {perplexity}, the uncertainty of a choice among that many equally probable tokens.",
            loss=number(loss, 3),
            perplexity=number(answer, 1),
        ),
        (
            Step(
                _("The surprisal of each token:"),
                below(
                    *(f"- ln ( {trimmed(p)} ) = {trimmed(c)}" for p, c in zip(chances, costs, strict=True))
                ),
            ),
            Step(_("Their mean:"), f"frac{{ {' + '.join(map(trimmed, costs))} }}{{ {n} }} = {trimmed(mean)}"),
            Step(_("Its exponential:"), f"e ^{{ {trimmed(mean)} }} = {number(answer, 1)}"),
        ),
        {"p": tuple(chances)},
        (loss, answer),
        (Blank(_("cross-entropy in nats"), loss, 3), Blank(_("perplexity"), answer, 1)),
        (_("token"), *(token.strip() or token for token in tokens[first : first + n])),
        ((_("probability $p$"), *map(trimmed, chances)),),
        room=5,
    )


def _texts(kind: str) -> list[str]:
    """Return the preset texts for models of one kind: "continue" or "fill"."""
    return [row.text.replace("[MASK]", row.second) for row in texts("presets") if row.kind == kind]


@functools.cache
def _filled(sentence: str, place: int) -> tuple[str, tuple[tuple[str, float], ...], float]:
    """Mask one word of a sentence; return that word, the model's most probable tokens, and the probability of the masked word."""
    model = default().open(FILLER)
    text = hidden_words.read(model, sentence, 40)
    said = hidden_words.in_turn(model, text, [place])[0]
    return text.tokens[place], said.best, said.target_chance


def masked_loss(chance: random.Random) -> Exercise:
    """Make an exercise on the loss of a masked word in nats and in bits, -ln p and -log2 p, with a model's probability p."""
    sentence = chance.choice(_texts("fill"))
    n = len(hidden_words.read(default().open(FILLER), sentence, 40).tokens)
    word, best, wanted = _filled(sentence, chance.randint(1, n - 2))
    p = round(wanted, 3)
    if p < 0.002 or p > 0.995 or not word.isalpha():
        raise Doubtful
    nats = rounded(-math.log(p))
    loss = agreed(nats, -math.log(p), 3)
    bits = agreed(nats / rounded(math.log(2)), -math.log2(p), 2)
    rank = sum(q > wanted for _token, q in best)
    return Exercise(
        _(
            "One word of a text is masked: “{word}”. {model} gives it the probability {p}. What does this word add to the loss, in nats ($- ln p$, three decimals) and in bits ($- log_2 p$, two decimals)? What would it add if the {n} most probable tokens were equally probable?",
            word=word,
            model=FILLER,
            p=trimmed(p),
            n=len(best),
        ),
        _(
            "{nats} nats, {bits} bits. With equal probabilities: {even} nats (the masked word is not among them).",
            nats=number(loss, 3),
            bits=number(bits, 2),
            even=number(math.log(len(best)), 3),
        )
        if rank == len(best)
        else _(
            "{nats} nats, {bits} bits. With equal probabilities: {even} nats.",
            nats=number(loss, 3),
            bits=number(bits, 2),
            even=number(math.log(len(best)), 3),
        ),
        (
            Step(_("In nats:"), f"- ln ( {trimmed(p)} ) = {trimmed(nats)}"),
            Step(_("In bits:"), f"frac{{ {trimmed(nats)} }}{{ ln ( 2 ) }} = {number(bits, 2)}"),
            Step(
                _("With equal probabilities:"),
                f"- ln frac{{ 1 }}{{ {len(best)} }} = {trimmed(rounded(math.log(len(best)), 3), 3)}",
            ),
        ),
        {"p": p, "n": len(best)},
        (loss, bits, rounded(math.log(len(best)), 3)),
        (
            Blank(_("nats"), loss, 3),
            Blank(_("bits"), bits, 2),
            Blank(_("nats with equal probabilities"), rounded(math.log(len(best)), 3), 3),
        ),
        (_("most probable"), *(token for token, _chance in best)),
        ((_("probability"), *(number(q, 3) for _token, q in best)),),
        room=4,
    )


@functools.cache
def _continued(text: str, many: int) -> tuple[tuple[str, float], ...]:
    """Return the `many` most probable next tokens after a text, each with its log-probability in nats."""
    model = default().open(WRITER)
    log_p = log_softmax(np.asarray(model.run(text, keep=[]).logits, dtype=np.float64))[-1]
    best = np.argsort(-log_p, kind="stable")[:many]
    return tuple((model.tokenizer.token(int(one)), float(log_p[one])) for one in best)


def beam_step(chance: random.Random) -> Exercise:
    """Make an exercise on one step of beam search: two beams with three candidates each, of which two texts are kept."""
    sentence = chance.choice(_texts("continue"))
    words = sentence.split()
    start = " ".join(words[: chance.randint(1, len(words) - 1)])
    beams = [(token, rounded(log_p, 2)) for token, log_p in _continued(start, 2)]
    rows, sums = [], []
    for beam, (token, logp) in zip("AB", beams, strict=True):
        for candidate, added in _continued(start + token, 3):
            if not candidate.strip().isalpha() or not token.strip().isalpha():
                raise Doubtful
            more = rounded(added, 2)
            rows.append((beam, candidate.strip(), more))
            sums.append(rounded(logp + more, 2))
    order = sorted(range(6), key=lambda one: -sums[one])
    if len({*sums}) < 6:
        raise Doubtful
    kept = [f"{rows[one][0]} {rows[one][1]}" for one in order[:2]]
    return Exercise(
        _(
            "Beam search of width 2 keeps two texts, A (“… {a}”, log-probability {a_log}) and B (“… {b}”, {b_log}). The table has the most probable next tokens of each, with $ln p$ by {model}. Which two texts are kept next, and with which log-probabilities? Which text would greedy search keep?",
            a=beams[0][0].strip(),
            a_log=trimmed(beams[0][1]),
            b=beams[1][0].strip(),
            b_log=trimmed(beams[1][1]),
            model=WRITER,
        ),
        _(
            "{first} ({first_log}) and {second} ({second_log}). Greedy search keeps A {greedy} ({greedy_log}).",
            first=kept[0],
            first_log=trimmed(sums[order[0]]),
            second=kept[1],
            second_log=trimmed(sums[order[1]]),
            greedy=rows[0][1],
            greedy_log=trimmed(sums[0]),
        ),
        (
            Step(
                _("The log-probabilities are added:"),
                below(
                    *(
                        f'"{row[0]} {row[1]}:" {trimmed(beams["AB".index(row[0])][1])} + {inside(row[2])} = {trimmed(one)}'
                        for row, one in zip(rows, sums, strict=True)
                    )
                ),
            ),
            Step(
                _(
                    "The two largest are kept. Greedy search takes the most probable token after the more probable text."
                )
            ),
        ),
        {"beams": tuple(logp for _token, logp in beams), "rows": tuple(rows)},
        (*kept, sums[order[0]], sums[order[1]]),
        (
            Blank(_("the most probable text (A or B, a space, its next word)"), kept[0]),
            Blank(_("the second one"), kept[1]),
            *number_blanks(
                (_("log-probability of the first"), _("of the second")), [sums[one] for one in order[:2]], 2
            ),
            Blank(_("greedy search keeps"), f"A {rows[0][1]}"),
        ),
        (_("text"), *(row[0] for row in rows)),
        ((_("next token"), *(row[1] for row in rows)), ("$ln p$", *(trimmed(row[2]) for row in rows))),
        room=5,
    )


@functools.cache
def _translated(name: str, text: str) -> str:
    return default().open(name).run(text, keep=[]).target_text


def _words(text: str) -> tuple[str, ...]:
    return tuple(re.findall(r"\w+", text.lower()))


def _counted(words: Sequence[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))


def bleu(chance: random.Random) -> Exercise:
    """Make an exercise on BLEU with words and pairs of words: BP sqrt(p_1 p_2), BP = e^(1 - r / c) where the translation is the shorter."""
    rows = [row for row in texts("presets") if row.kind == "translate"]
    row, model = chance.choice(rows), chance.choice(TRANSLATORS)
    candidate, reference = _words(_translated(model, row.text)), _words(chance.choice(row.answers))
    counts = []
    for n in (1, 2):
        made, wanted = _counted(candidate, n), _counted(reference, n)
        counts.append((sum((made & wanted).values()), sum(made.values())))
    if candidate == reference or not all(hits for hits, _all in counts) or len(candidate) > 9:
        raise Doubtful
    c, r = len(candidate), len(reference)
    brief = 1.0 if c >= r else rounded(math.exp(1 - r / c))
    parts = [rounded(hits / all_) for hits, all_ in counts]
    exact = min(1.0, math.exp(1 - r / c)) * math.sqrt(math.prod(hits / all_ for hits, all_ in counts))
    answer = agreed(brief * math.sqrt(parts[0] * parts[1]), exact, 3)
    product = rounded(parts[0] * parts[1])
    return Exercise(
        _(
            "Compute BLEU of the translation against the reference with single words and pairs of words only: $BP · sqrt{ p_1 · p_2 }$. Each reference word or pair can be matched once. The brevity penalty $BP$ is $e ^{ 1 - r / c }$ where the translation ($c$ words) is shorter than the reference ($r$ words), else 1. Three decimals."
        ),
        f"{number(answer, 3)}.",
        (
            Step(
                _("Words and pairs of words of the translation that occur in the reference:"),
                below(
                    *(
                        f"p_{n} = frac{{ {hits} }}{{ {all_} }} = {trimmed(part)}"
                        for n, (hits, all_), part in zip((1, 2), counts, parts, strict=True)
                    )
                ),
            ),
            Step(
                _("The translation has {c} words, the reference {r}:", c=c, r=r),
                f"BP = e ^{{ 1 - {r} / {c} }} = {trimmed(brief)}" if c < r else "BP = 1",
            ),
            Step(_("Together:"), f"{trimmed(brief)} · sqrt{{ {trimmed(product)} }} = {number(answer, 3)}"),
        ),
        {"candidate": " ".join(candidate), "reference": " ".join(reference)},
        (answer,),
        (Blank("BLEU", answer, 3),),
        (_("{model} writes", model=model), " ".join(candidate)),
        ((_("reference"), " ".join(reference)),),
        room=5,
    )
