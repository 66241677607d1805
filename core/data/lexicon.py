"""The words and rules of the grammar. A rule is a row of symbols and words; all are equally likely, so a rule may occur twice."""

from __future__ import annotations

from collections.abc import Iterator

NAMES = {
    **dict.fromkeys(("Anna", "Ruth", "Clara", "Lucy", "Martha", "Rosa"), "she"),
    **dict.fromkeys(("Peter", "David", "Jacob", "Tom", "Paul", "Henry"), "he"),
}
NUMBERS = ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
COLORS = ["red", "blue", "green", "black", "white", "yellow", "brown", "grey"]

# --- pairs
BEINGS = {
    "animal": ["dog", "cat", "horse", "cow", "goat", "fox"],
    "bird": ["crow", "owl", "goose", "duck", "hen"],
    "child": ["boy", "girl"],
}
MANNERS = ["small", "old", "hungry", "tired", "quiet", "lame", "thirsty", "young"]
DOINGS = (
    "slept under the tree",
    "ran across the yard",
    "sat near the door",
    "came to the well",
    "stood by the gate",
    "waited in the barn",
    "walked along the river",
    "hid behind the wall",
)
WHENS = ("at noon", "before supper", "in the morning", "after the storm", "on Sunday", "during the night")
COMPARED = (
    ("taller", "shorter"),
    ("older", "younger"),
    ("richer", "poorer"),
    ("stronger", "weaker"),
    ("faster", "slower"),
    ("louder", "quieter"),
)
DEGREES = ("", "a little", "much")
ACTS = (
    "fed the hens",
    "swept the floor",
    "washed the cups",
    "lit the lamp",
    "wrote a letter",
    "locked the door",
    "read the paper",
    "milked the cow",
    "made the bed",
    "watered the roses",
    "cleaned the stove",
    "ate an apple",
)
COUNTED = ["apples", "pears", "hens", "books", "buttons", "kites", "cups", "keys"]

# --- questions
DEEDS = {"found": "find", "lost": "lose", "hid": "hide", "saw": "see", "left": "leave", "dropped": "drop"}
OBJECTS = ["kite", "lamp", "key", "drum", "basket", "ring", "coat", "ball", "box", "hat"]
PLACES = (
    "in the garden",
    "under the bridge",
    "behind the mill",
    "near the river",
    "in the barn",
    "at the market",
    "by the well",
    "on the beach",
    "in the kitchen",
    "outside the church",
)
DAYS = tuple(
    f"on {day}" for day in ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
)

# --- opinions: (singular, plural, what may stand behind them, good, bad)
OTHER = {"good": "bad", "bad": "good"}
CLASSES = {
    "food": (
        "soup bread cheese cake fish stew",
        "apples plums pies cherries eggs beans",
        ("at the inn", "from the market", "in the blue dish"),
        "good fresh sweet delicious",
        "bad sour bitter awful",
    ),
    "tale": (
        "story book song play poem game",
        "stories books songs plays poems games",
        ("about the sea", "about the old king", "from my uncle"),
        "interesting exciting funny clever",
        "boring dull silly foolish",
    ),
    "place": (
        "room school garden house shop street",
        "rooms schools gardens houses shops streets",
        ("near the river", "on the hill", "behind the church"),
        "clean pleasant beautiful lovely",
        "dirty ugly gloomy unpleasant",
    ),
    "person": (
        "teacher doctor nurse captain neighbor sailor",
        "teachers doctors nurses captains neighbors sailors",
        ("from the village", "from the mill", "at the gate"),
        "kind polite friendly honest",
        "rude unkind cruel selfish",
    ),
}
# {W} is what the label says, {O} the other. As many frames have {W} alone as have {O} alone: so no adjective gives the label away.
FRAMES = (
    "{thing} {was} {W} WHEN .",
    "{thing} {was} really {W} WHEN .",
    "OPINER said that {thing} {was} {W} , and that was true .",
    "everybody called {thing} {W} .",
    "{thing} {was} {W} at first , and that did not change .",
    "{thing} {was} not {O} WHEN .",
    "{thing} {was} far from {O} .",
    "OPINER said that {thing} {was} {O} , but that was not true .",
    "nobody could call {thing} {O} .",
    "{thing} {was} {O} at first , but that did not last .",
    "{thing} that OPINER called {O} {was} in fact {W} .",
    "{thing} {was} {O} at first , but {W} in the end .",
)


def _opinions(label: str) -> Iterator[str]:
    """Yield the sentence frames of opinions with this label, filled with the symbols of each class of things in singular and plural."""
    for kind in CLASSES:
        for number, was in (("sg", "was"), ("pl", "were")):
            slots = {
                "thing": f"{kind}.{number}.whole",
                "was": was,
                "W": f"{kind}.{label}",
                "O": f"{kind}.{OTHER[label]}",
            }
            yield from (frame.format(**slots) for frame in FRAMES)


# --- tags: symbols in capitals up to the first full stop are tags
RULES: dict[str, tuple[str, ...]] = {
    "S": (
        "FULL.sg VP.sg .",
        "FULL.pl VP.pl .",
        "CLAUSE , CONJ.and CLAUSE .",
        "ADP.time DET.event NOUN.event , CLAUSE .",
        "PROPN VERB.said CONJ.that CLAUSE .",
    ),
    "CLAUSE": ("NP.sg VP.sg", "NP.pl VP.pl"),
    "FULL.sg": ("DET.sg ADJ NOUN.sg", "DET.sg BAR.sg PP"),
    "FULL.pl": ("DET.pl ADJ NOUN.pl", "DET.pl BAR.pl PP"),
    "NP.sg": ("DET.sg BAR.sg", "DET.sg BAR.sg", "DET.sg BAR.sg PP", "PROPN", "PRON.sg"),
    "NP.pl": (
        "DET.pl BAR.pl",
        "DET.pl BAR.pl",
        "DET.pl BAR.pl PP",
        "NUM BAR.pl",
        "PRON.pl",
        "PROPN.she CONJ.and PROPN.he",
    ),
    "BAR.sg": ("NOUN.sg", "NOUN.sg", "ADJ NOUN.sg"),
    "BAR.pl": ("NOUN.pl", "NOUN.pl", "ADJ NOUN.pl"),
    "VP.sg": ("VERB.t.sg OBJ", "VERB.i.sg ADV", "VERB.i.sg PP", "AUX.be.sg ADJ", "VP.any"),
    "VP.pl": ("VERB.t.pl OBJ", "VERB.i.pl ADV", "VERB.i.pl PP", "AUX.be.pl ADJ", "VP.any"),
    "VP.any": ("AUX.may VERB.t.pl OBJ", "AUX.may VERB.i.pl ADV", "AUX.may VERB.i.pl PP"),
    "OBJ": ("DET.sg THING.sg", "DET.sg THING.sg", "DET.pl THING.pl", "NUM THING.pl", "PRON.obj"),
    "THING.sg": ("NOUN.thing", "ADJ.thing NOUN.thing"),
    "THING.pl": ("NOUN.things", "ADJ.thing NOUN.things"),
    "PP": ("ADP.at DET.sg NOUN.place", "ADP.at DET.sg NOUN.place", "ADP.at DET.sg ADJ.place NOUN.place"),
}
WORDS = {
    "DET.sg": "the a this that my his her our",
    "DET.event": "the this that our",
    "DET.pl": "the these those some my his her our",
    "NUM": "two three four seven ten",
    "NOUN.sg": "dog boy girl farmer cook teacher sailor king",
    "NOUN.pl": "dogs boys girls farmers cooks teachers sailors kings",
    "NOUN.thing": "watch plant fish rock can light boat kite apple lamp",
    "NOUN.things": "plants fish rocks cans lights boats kites apples lamps",
    "NOUN.place": "house mill garden barn church inn",
    "NOUN.event": "walk dance play rest fight storm",
    "ADJ": "old young small tall hungry quiet happy",
    "ADJ.thing": "light red old green heavy small",
    "ADJ.place": "old dark quiet white",
    "PROPN": " ".join(NAMES),
    "PROPN.she": "Anna Ruth Clara Lucy",
    "PROPN.he": "Peter David Jacob Tom",
    "PRON.sg": "he she it",
    "PRON.pl": "they we you",
    "PRON.obj": "him her it them",
    "VERB.t.sg": "watches finds paints likes needs carries",
    "VERB.t.pl": "watch find paint like need carry",
    "VERB.i.sg": "walks dances fishes plays rests cooks",
    "VERB.i.pl": "walk dance fish play rest cook",
    "VERB.said": "says thinks knows believes",
    "AUX.be.sg": "is was",
    "AUX.be.pl": "are were",
    "AUX.may": "can will must may",
    "ADV": "quietly often there again today alone",
    "ADP.at": "near behind by in",
    "ADP.time": "after before during",
    "CONJ.and": "and",
    "CONJ.that": "that",
    "OPINER": " ".join(NAMES),
    "OUR": "my our their",
}
RULES["WHEN"] = ("this morning", "yesterday", "last week", "that evening")
RULES |= {symbol: tuple(words.split()) for symbol, words in WORDS.items()}
for _kind, (_one, _many, _more, _good, _bad) in CLASSES.items():
    RULES |= {
        f"{_kind}.{_name}": tuple(_words.split())
        for _name, _words in (("sg", _one), ("pl", _many), ("good", _good), ("bad", _bad))
    }
    RULES[f"{_kind}.more"] = _more
    RULES |= {
        f"{_kind}.{_n}.whole": (f"the {_kind}.{_n} {_kind}.more",) * 2
        + (f"the {_kind}.{_n}", f"OUR {_kind}.{_n}")
        for _n in ("sg", "pl")
    }
RULES |= {f"OPINION.{_label}": tuple(_opinions(_label)) for _label in OTHER}
