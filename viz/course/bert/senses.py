"""One word, two meanings: sentences of the sources and of ours in which the same word means one thing or another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Word:
    """A word of two `meanings`; `uses` are sentences with the number of the meaning; `near`: words that belong to each meaning."""

    word: str
    meanings: tuple[str, str]
    uses: tuple[tuple[str, int], ...]
    near: tuple[tuple[str, ...], tuple[str, ...]]


DOCUMENTS = ("Money is in the bank.", "Some plants grow in bank of rivers.")
"""The pair of Ghojogh and Ghodsi 2020; with [CLS] in front “bank” is at position 5 of both."""
WORDS: Mapping[str, Word] = {
    word.word: word
    for word in (
        Word(
            "bank",
            ("money", "river"),
            (
                (DOCUMENTS[0], 0),
                (DOCUMENTS[1], 1),
                ("She put her gold in the bank.", 0),
                ("They sat in the grass on the bank.", 1),
                ("The bank was shut, so he could not get his money.", 0),
                ("The boat lay at the bank of the river.", 1),
                ("He worked in a bank and counted money all day.", 0),
                ("The boys were fishing from the bank of the stream.", 1),
            ),
            (("money", "gold", "silver", "pay", "shop"), ("river", "stream", "shore", "water", "boat")),
        ),
        Word(
            "spring",
            ("season", "water"),
            (
                ("The birds came back in the spring.", 0),
                ("He drank the cold water of the spring.", 1),
                ("In spring the trees have new leaves.", 0),
                ("A spring ran out of the rock.", 1),
                ("The snow was gone, and it was spring.", 0),
                ("They filled the jug at the spring.", 1),
                ("Last spring we planted beans in the garden.", 0),
                ("The horses drank from the spring under the rock.", 1),
            ),
            (("summer", "winter", "autumn", "flowers", "snow"), ("water", "well", "stream", "rock", "drink")),
        ),
        Word(
            "letter",
            ("post", "alphabet"),
            (
                ("She wrote a long letter to her mother.", 0),
                ("The first letter of my name is an A.", 1),
                ("He put the letter in his pocket.", 0),
                ("The child could not read a single letter.", 1),
                ("A letter came from my uncle this morning.", 0),
                ("Every word begins with a letter.", 1),
                ("Please send me a letter soon.", 0),
                ("He learned one new letter at school every day.", 1),
            ),
            (
                ("wrote", "paper", "send", "envelope", "message"),
                ("word", "alphabet", "spell", "read", "name"),
            ),
        ),
    )
}
"""Three words to look at."""


@dataclass(frozen=True)
class Triple:
    """A sentence, another with about the same meaning, and one that looks like it and means something else."""

    text: str
    same: str
    lookalike: str


TRIPLES = (
    Triple("He shut the door.", "The door was closed by him.", "He opened the door."),
    Triple("The king was very angry.", "His majesty was in a great rage.", "The king was very happy."),
    Triple("She could not sleep.", "All night long she lay awake.", "She could now sleep."),
    Triple("The boy ran home quickly.", "The lad hurried back to his house.", "The boy ran away quickly."),
    Triple("It was very cold.", "The air was icy.", "It was very hot."),
    Triple("They began to laugh.", "All of them burst into laughter.", "They began to cry."),
    Triple(
        "The ship sank in the storm.", "The boat went down in bad weather.", "The ship sailed in the storm."
    ),
    Triple("I am hungry.", "I want something to eat.", "I am thirsty."),
    Triple("Nobody was in the house.", "The house was empty.", "Everybody was in the house."),
    Triple("Give me the money.", "Hand over the gold.", "Give me the honey."),
)
"""Sentences that a sentence vector should distinguish, and those that it may confuse."""
