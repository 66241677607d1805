"""Whether a text is such as a model has read: how often English is taken for another language, and another language for English."""

from __future__ import annotations

import re

import pytest

import core
from core.data import readable
from core.data.readable import (
    capital_token_counts,
    characters_in_bytes,
    is_english,
    to_sentence_case,
    unknown_characters,
)
from core.data.texts import texts

OTHER = {
    "German": (
        "Das weiße Auto steht vor dem Haus.",
        "Wir gehen heute Abend mit unseren Freunden ins Kino.",
        "Ich habe meinen Schlüssel wieder verloren.",
        "Der kleine Hund schläft unter dem Tisch.",
        "Kannst du mir bitte sagen, wie spät es ist?",
    ),
    "Spanish": (
        "La sopa está fría porque la ventana está abierta.",
        "Mañana iremos a la playa con los niños.",
        "No sé dónde he puesto las llaves.",
        "Mi hermana trabaja en un hospital muy grande.",
        "¿Quieres tomar un café conmigo esta tarde?",
    ),
    "French": (
        "La voiture blanche est devant la maison.",
        "Nous avons mangé trop de gâteau hier soir.",
        "Je ne comprends pas pourquoi il est parti.",
        "Les enfants jouent dans le jardin de leur grand-mère.",
        "Pouvez-vous parler un peu plus lentement ?",
    ),
    "Italian": (
        "Il gatto nero dorme sul letto bianco.",
        "Domani mattina andiamo al mercato a comprare il pesce.",
        "Non ho mai visto un cielo così bello.",
        "Mio fratello studia medicina a Bologna.",
        "Che cosa hai fatto ieri sera?",
    ),
    "Dutch": (
        "De fiets van mijn broer staat in de schuur.",
        "Wij drinken elke ochtend samen koffie.",
        "Het regent al de hele week.",
        "Waarom heb je mij niet gebeld?",
        "De kinderen zwemmen graag in het meer.",
    ),
    "Russian": (
        "Белая машина стоит перед домом.",
        "Мы сегодня вечером идём в театр.",
        "Я не знаю, где мои ключи.",
        "Сколько это стоит?",
        "Моя сестра живёт в Москве.",
    ),
    "Persian": (
        "ماشین سفید جلوی خانه است.",
        "من امروز خیلی خسته هستم.",
        "کتاب روی میز است.",
        "شما کجا زندگی می‌کنید؟",
        "هوا امروز سرد است.",
    ),
    "Chinese": (
        "白色的汽车停在房子前面。",
        "我今天很累。",
        "你要不要喝茶？",
        "孩子们在花园里玩。",
        "他昨天没有来上课。",
    ),
}
"""Sentences of our own, five in each of eight languages."""
ENGLISH = (
    "Hi!",
    "No.",
    "Mum",
    "cat",
    "Thank you very much.",
    "Where is the train station?",
    "My sister's dog barked at the postman all morning.",
    "Peter and Wolfgang Schmidt met Mrs. Thistledown in Łódź.",
    "The physicist explained gravitation, electromagnetism and thermodynamics.",
    "He bought three croissants and a cappuccino.",
    "I can't believe it's not butter!",
    "Colourless green ideas sleep furiously.",
    "To be, or not to be, that is the question.",
    "She sells sea shells by the sea shore.",
    "What a lovely day it is today, isn't it?",
    "Attention is all you need.",
    "The quick brown fox jumps over the lazy dog.",
    "We'll meet again at half past seven.",
)


def english_sentences() -> list[str]:
    """Every English sentence of ours that pages offer or heads are measured on, and everyday ones."""
    offered = [
        part
        for row in texts("presets")
        if row.kind in ("translate", "continue", "fill", "pair")
        for part in (row.text, row.second if row.kind == "pair" else "")
    ]
    measured = [row.text for name in ("battery", "heads_en", "heads_en-es") for row in texts(name)]
    return [text for text in dict.fromkeys([*offered, *measured, *ENGLISH]) if re.search(r"[a-z]", text)]


def test_hardly_an_english_sentence_is_taken_for_another_language():
    sentences = english_sentences()
    wrong = [text for text in sentences if not is_english(text)]
    assert len(sentences) > 200 and len(wrong) <= 0.01 * len(sentences), wrong


def test_nine_of_ten_sentences_of_other_languages_are_found():
    missed = [text for those in OTHER.values() for text in those if is_english(text)]
    assert sum(map(len, OTHER.values())) == 40 and len(missed) <= 4, missed
    assert all(not all(map(is_english, those)) for those in OTHER.values()), "no language is missed whole"


def test_a_long_text_is_judged_by_what_it_says():
    assert is_english("She has a white car. The dog barked at the old man. " * 60)
    assert not is_english("Das weiße Auto steht vor dem Haus. Ich habe den Schlüssel verloren. " * 60)


def test_nothing_is_said_without_the_yardstick(monkeypatch):
    monkeypatch.setattr(readable, "english_tokenizer", lambda: None)
    assert is_english.__wrapped__("Das weiße Auto steht vor dem Haus.")


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    "text", ["I AM VERY ANGRY WITH YOU", "SHE HAS A WHITE CAR.", "THE CAT SAT ON THE MAT.", "HELP ME PLEASE!"]
)
def test_capitals_are_found_where_the_tokenizer_cuts_them_to_pieces(text):
    reads = core.open_model("translator-en-es").tokenizer
    loud, small = capital_token_counts(text, reads) or (0, 0)
    assert loud == len(reads.encode(text).ids)
    assert small == len(reads.encode(to_sentence_case(text)).ids)
    assert loud >= 1.5 * small
    assert capital_token_counts(text, core.open_model("bert-mini").tokenizer) is None, (
        "it reads capitals as small letters"
    )


def test_no_sentence_of_ours_is_in_capitals():
    reads = core.open_model("gpt-mini").tokenizer
    assert [
        text
        for text in (*english_sentences(), "NASA", "OK", "I", "The BBC and the FBI met.", "123", "")
        if capital_token_counts(text, reads)
    ] == []


def test_characters_without_a_token_are_named_once_each():
    assert unknown_characters("猫 sat on 猫", core.open_model("bert-mini").tokenizer) == "猫"
    assert unknown_characters("a b ! a !", core.open_model("copy-gru").tokenizer) == "!"
    assert unknown_characters("猫 sat on the mat", core.open_model("gpt-mini").tokenizer) == "", (
        "bytes stand for every character"
    )


def test_half_a_surrogate_pair_is_left_to_the_run_to_refuse():
    reads = core.open_model("gpt-mini").tokenizer
    assert unknown_characters("half \ud800", reads) == ""
    assert capital_token_counts("HALF \ud800 A PAIR", reads)
    assert is_english("half \ud800 a pair")


@pytest.mark.parametrize(
    ("model", "text", "rare"),
    [
        ("gpt-mini", "I love 🍕 and 🐈, 🍕!", "🍕🐈"),
        ("translator-en-es", "It costs 5 € or 6 €.", "€"),
        ("translator-en-es", "The café is open.", ""),
        ("gpt-mini", "She has a white car.", ""),
        ("bert-mini", "I love 🍕.", ""),
        ("gpt-mini", "", ""),
    ],
)
def test_a_character_cut_into_bytes_is_named_once(model, text, rare):
    assert characters_in_bytes(text, core.open_model(model).tokenizer) == rare


def test_no_ready_made_sentence_is_cut_into_bytes():
    kinds = {"continue": "gpt-mini", "translate": "translator-en-es"}
    for row in texts("presets"):
        if row.kind in kinds:
            assert characters_in_bytes(row.text, core.open_model(kinds[row.kind]).tokenizer) == "", row.text
