"""Predict the next word: how probable a model holds a visitor's guess to be, and a score in bits."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np
import torch

from core.analysis.forcing import continuation_logits, decoding_prompt
from core.decoding.choose import largest_indices
from core.decoding.prompt import Prompt, Window, fit_prompt
from core.decoding.stepper import Stepper
from core.errors import InputError
from core.maths import softmax
from core.model import Model
from core.reading.bounds import token_limit
from core.text import Tokenizer
from viz.languages import _, mark, ngettext

Array = np.ndarray
MOST_PIECES = 12
READS = 32
"""Runs of the text that a round costs, with the words to choose from: the text read a few times, and a batch of words behind it."""
ONE = mark("A guess is one word or one punctuation mark.")
OPENING = re.compile(r"[(\[{“‘—\-\s]$")


@dataclass(frozen=True)
class Guess:
    """One word after a text, as the model reads it: its tokens (`pieces`), and the log-probability of each after those before.

    `closes` is the probability that the word ends after its last token: that no letter or digit follows a letter or
    digit. `n_vocab` is the size of the vocabulary, for the score of guessing by chance.
    """

    text: str
    pieces: tuple[str, ...]
    ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    closes: float
    n_vocab: int

    @property
    def begins(self) -> float:
        """Return the probability that the text continues with these tokens, whatever follows them."""
        return math.exp(math.fsum(self.logprobs))

    @property
    def p(self) -> float:
        """Return the probability that the next word is exactly this one."""
        return self.begins * self.closes

    @property
    def bits(self) -> float:
        """Return the surprisal in bits, -log2 p; infinite where p is 0 (in float64, of closes)."""
        return (
            math.inf
            if self.closes == 0
            else -(math.fsum(self.logprobs) + math.log(self.closes)) / math.log(2)
        )

    @property
    def chance(self) -> float:
        """Return the bits of a guess by chance: log2 of the vocabulary for each token, all tokens being equally probable."""
        return len(self.ids) * math.log2(self.n_vocab)


@dataclass(frozen=True, eq=False)
class Round:
    """One step of the game: a text so far, the model's prediction of its next word, and the score of a guess.

        P(word | text) = prod_t P(piece_t | text, pieces before) * P(no letter follows | text, word)

    The last factor makes it the word and not only its beginning (Pimentel and Meister 2024): " the" also begins
    " then" and " theatre". A word is written behind a space unless the text is empty or ends in white space, an opening
    bracket or quote, or the word is a sign that clings to the word before. A space at the end of the text belongs to
    the word, since tokens begin with theirs. Of a long text the last part is read, `window` says which.
    Raises InputError for a model that does not go on with a text.

    >>> import core
    >>> game = Round(core.open_model("gpt-mini"), "Once upon a ")
    >>> game.probability_of("time").pieces, game.model_guess.text, game.went_on("time")
    ((' time',), 'time', 'Once upon a time')
    """

    model: Model
    text: str

    def __post_init__(self) -> None:
        if self.model.spec.has_source or not self.model.spec.writes:
            raise InputError(
                _("{model} does not continue a text.", model=self.model.name),
                _("Guessing the next word needs a model of the GPT kind."),
                _("Choose another model."),
            )

    @cached_property
    def window(self) -> Window:
        """Return the part of the text that the model reads: its end, with room for a word, limited to what is computed quickly."""
        room = min(self.model.config.n_ctx - MOST_PIECES, token_limit(self.model, runs=READS))
        return fit_prompt(self.model, self.text.removesuffix(" "), room)

    @cached_property
    def prompt(self) -> Prompt:
        """Return the tokens of the window."""
        return decoding_prompt(self.model, self.window.text)

    @cached_property
    def distribution(self) -> Array:
        """Return the probability of each token as the next one, (vocab,)."""
        return softmax(continuation_logits(self.model, self.prompt, [()])[0][0].numpy())

    def likeliest(self, n: int = 8) -> list[tuple[str, float]]:
        """Return the n most probable next tokens with their probabilities, best first."""
        return [
            (self.prompt.name(index), float(self.distribution[index]))
            for index in largest_indices(self.distribution, n)
        ]

    def probability_of(self, guess: str) -> Guess:
        """Score a typed word; spaces around it do not count.

        Raises InputError: nothing typed, more than one word, a new line, a sign the model does not know, a word of more
        than 12 pieces.
        """
        word = _checked(guess)
        encoded = self.model.tokenizer.encode(self._glue(word) + word)
        if encoded.uncovered or not encoded.ids:
            raise InputError(
                _(
                    "'{word}' has a character that is not in the vocabulary of {model}.",
                    word=word,
                    model=self.model.name,
                ),
                _("A guess has to consist of its tokens."),
                _("Guess another word."),
            )
        if len(encoded.ids) > MOST_PIECES:
            raise InputError(
                _("The guess has {n} tokens.", n=len(encoded.ids)),
                _("A guess has at most {n}.", n=MOST_PIECES),
                _("Guess a shorter word."),
            )
        scores = continuation_logits(self.model, self.prompt, [encoded.ids])[0]
        log_p = scores[:-1].log_softmax(-1)
        pieces = tuple(float(log_p[t, index]) for t, index in enumerate(encoded.ids))
        return self._guess(word, encoded.ids, pieces, scores[-1].numpy())

    @cached_property
    def model_guess(self) -> Guess:
        """Return the model's own guess: the most probable token, then further tokens until the word most probably ends.

        It is found piece by piece, so another word may be more probable as a whole.
        """
        reader, new, ids, logprobs = Stepper(self.model, self.prompt), self.prompt.ids, [], []
        while True:
            scores = reader.read([new]).logits[0]
            best = int(scores.argmax())
            text = self.model.tokenizer.decode(ids)
            longer = _ends_in_letter(text) and letters(self.model.tokenizer)[best]
            if ids and (not longer or len(ids) == MOST_PIECES):
                word = text.strip() or self.prompt.name(ids[0])
                return self._guess(word, tuple(ids), tuple(logprobs), scores)
            logprobs.append(float(torch.from_numpy(scores).log_softmax(-1)[best]))
            ids.append(best)
            new = (best,)

    def typed(self, word: str) -> tuple[int, ...]:
        """Return the tokens of a word as a visitor would type it; empty for a word that cannot be typed.

        >>> import core
        >>> game = Round(core.open_model("gpt-mini"), "Once upon a")
        >>> len(game.typed(" time")), game.typed("two words")
        (1, ())
        """
        try:
            encoded = self.model.tokenizer.encode(self._glue(_checked(word)) + _checked(word))
        except InputError:
            return ()
        return () if encoded.uncovered else tuple(encoded.ids)

    def went_on(self, word: str) -> str:
        """Return the text with the word appended: the text of the next round."""
        word = _checked(word)
        return self.text.removesuffix(" ") + self._glue(word) + word

    def _glue(self, word: str) -> str:
        """Return the space that separates the word from the text, or ""."""
        bare = self.text.removesuffix(" ")
        if not bare or OPENING.search(bare):
            return ""
        quotes = bare.count('"') % 2
        if bare.endswith('"') and quotes:
            return ""
        clings = not word[0].isalnum() and not (word[0] == '"' and not quotes) and word[0] not in "([{“‘"
        return "" if clings else " "

    def _guess(
        self, word: str, ids: tuple[int, ...], logprobs: tuple[float, ...], next_logits: Array
    ) -> Guess:
        names = tuple(self.prompt.name(index) for index in ids)
        following = softmax(next_logits)
        closes = float(following[~letters(self.model.tokenizer)].sum()) if _ends_in_letter(word) else 1.0
        return Guess(word, names, ids, logprobs, closes, len(following))


def _checked(guess: str) -> str:
    """Return the guess without spaces around it. Raises InputError unless it is one word."""
    if not guess.strip():
        raise InputError(_("There is no guess."), _(ONE), _("Type what you think comes next."))
    if "\n" in guess or "\r" in guess:
        raise InputError(_("The guess starts a new line."), _(ONE), _("Leave the line break out."))
    if len(guess.split()) > 1:
        raise InputError(_("The guess has more than one word."), _(ONE), _("Type only the next word."))
    return guess.strip()


def _ends_in_letter(word: str) -> bool:
    return word[-1:].isalnum()


_LETTERS: WeakKeyDictionary[Tokenizer, Array] = WeakKeyDictionary()


def letters(tokenizer: Tokenizer) -> Array:
    """Return a mask (vocab,) of the tokens that begin with a letter or digit and so would lengthen a word before them; cached per
    tokenizer.
    """
    if tokenizer not in _LETTERS:
        special = set(tokenizer.special_tokens.values())
        _LETTERS[tokenizer] = np.array(
            [index not in special and tokenizer.token(index)[:1].isalnum() for index in range(len(tokenizer))]
        )
    return _LETTERS[tokenizer]


# ------------------------------------------------------------------------------------------------ the score


@dataclass(frozen=True)
class Played:
    """Finished round: the visitor's guess and the model's own."""

    guess: Guess
    model_guess: Guess


@dataclass(frozen=True)
class Score:
    """Bits over all rounds, fewer being better: of the visitor's guesses, the model's own, and guessing by chance.

    `agreements` counts the rounds in which both guessed the same.
    """

    rounds: int
    you: float
    model: float
    chance: float
    agreements: int

    @property
    def bits_behind(self) -> float:
        """Return by how many bits the visitor is behind the model; negative if the visitor's words were more probable."""
        return self.you - self.model


def played(game: Round, guess: str) -> Played:
    """Play one round."""
    return Played(game.probability_of(guess), game.model_guess)


def score(history: Sequence[Played]) -> Score:
    """Compute the score after these rounds.

        bits = sum over rounds of -log2 P(word | text)          by lot: log2(vocabulary) for each piece of the guess

    >>> sure = Guess("a", (" a",), (1,), (math.log(0.5),), 0.5, 8)
    >>> score([Played(sure, sure)])
    Score(rounds=1, you=2.0, model=2.0, chance=3.0, agreements=1)
    """
    return Score(
        len(history),
        math.fsum(each.guess.bits for each in history),
        math.fsum(each.model_guess.bits for each in history),
        math.fsum(each.guess.chance for each in history),
        sum(each.guess.ids == each.model_guess.ids for each in history),
    )


def score_sentence(history: Sequence[Played]) -> str:
    """Summarise the score in a sentence or two, to be read aloud.

    >>> sure, far = (Guess("a", (" a",), (number,), (math.log(p),), 1.0, 8) for number, p in ((1, 0.5), (2, 0.125)))
    >>> score_sentence([Played(far, sure)])
    "After 1 round: your words cost 3.0 bits, the model's own 1.0, guessing by chance 3.0. You are 2.0 bits behind the model."
    """
    if not history:
        return _("No round has been played.")
    now = score(history)
    costs = ngettext(
        "After {n} round: your words cost {you:.1f} bits, the model's own {model:.1f}, guessing by chance {chance:.1f}.",
        "After {n} rounds: your words cost {you:.1f} bits, the model's own {model:.1f}, guessing by chance {chance:.1f}.",
        now.rounds,
        you=now.you,
        model=now.model,
        chance=now.chance,
    )
    gap = now.bits_behind
    if abs(gap) < 0.05:
        stand = _("You are even with the model.")
    elif gap > 0:
        stand = _("You are {bits:.1f} bits behind the model.", bits=gap)
    else:
        stand = _("You are {bits:.1f} bits ahead of the model.", bits=-gap)
    return f"{costs} {stand}"
