"""Sizes and costs that the documents state, against counts of networks built here."""

from __future__ import annotations

from typing import Any

from core.models.bert import BERTConfig
from core.models.gpt import GPTConfig
from core.models.transformer import TransformerConfig
from viz.course.errata._counts import LARGE, albert, bert, encoder_layer, gpt
from viz.course.errata.entry import Evidence, Panel, Where, erratum

BERT_SECTION = (Where("ghojogh2023", "BERT"), Where("ghojogh2020", "4"))


@erratum("E10", cost=200)
def hidden_units() -> Evidence:
    base = TransformerConfig()
    right, printed = encoder_layer(base.d_ff), encoder_layer(base.d_model)
    large, narrow = bert(**LARGE), bert(**(LARGE | {"d_ff": LARGE["d_model"]}))
    n = base.n_layers
    numbers = {
        "layer": right,
        "layer_printed": printed,
        "stack": n * right,
        "stack_printed": n * printed,
        "large": large,
        "large_printed": narrow,
    }
    sentence = (
        f"One encoder layer has {right:,} parameters with {base.d_ff:,} hidden units and {printed:,} with {base.d_model}; {n} layers "
        f"{n * right:,} and {n * printed:,}. BERT-Large has {large:,} with {LARGE['d_ff']:,} hidden units and {narrow:,} with "
        f"{LARGE['d_model']:,}."
    )
    return Evidence(
        _floats(numbers),
        sentence,
        (
            Panel(
                "Parameters of BERT-Large, millions",
                [[narrow / 1e6], [large / 1e6]],
                ("as printed", "right"),
                ("millions",),
                "bars",
                1,
            ),
        ),
    )


@erratum("E11", cost=200)
def rounded() -> Evidence:
    heads = {"masked_lm": True, "next_sentence": True}
    numbers = {
        "base": bert(),
        "large": bert(**LARGE),
        "base_heads": bert(**heads),
        "large_heads": bert(**(LARGE | heads)),
    }
    sentence = (
        f"Base has {numbers['base']:,} parameters with the pooler and {numbers['base_heads']:,} with the heads of pre-training; "
        f"Large has {numbers['large']:,} and {numbers['large_heads']:,}."
    )
    return Evidence(
        _floats(numbers),
        sentence,
        (
            Panel(
                "Parameters",
                [[numbers["base"], numbers["base_heads"]], [numbers["large"], numbers["large_heads"]]],
                ("Base", "Large"),
                ("with pooler", "with both heads"),
                "table",
                0,
            ),
        ),
    )


@erratum("E12")
def letters() -> Evidence:
    config = BERTConfig()
    table, wrong = config.n_vocab * config.d_model, config.d_model**2
    numbers = {"table": table, "letters": wrong}
    sentence = (
        f"V × E = {config.n_vocab:,} × {config.d_model} = {table:,}, as the slide itself concludes. With its letters, H × E for BERT's "
        f"own H, the table would have {wrong:,} numbers."
    )
    return Evidence(_floats(numbers), sentence)


@erratum("E18")
def crossing() -> Evidence:
    p, short, long = 512, 50, 4096
    cost = {n: (n * n * p, n * p * p) for n in (short, p, long)}
    numbers = {f"attention_{n}": a for n, (a, _) in cost.items()} | {
        f"recurrence_{n}": r for n, (_, r) in cost.items()
    }
    sentence = (
        f"p = {p}: for n = {short} words {cost[short][0]:,} against {cost[short][1]:,}, {cost[short][1] / cost[short][0]:.1f} times "
        f"cheaper; equal at n = {p}; for n = {long:,} {cost[long][0] / cost[long][1]:.0f} times more expensive."
    )
    return Evidence(
        _floats(numbers),
        sentence,
        (
            Panel(
                "Multiplications, millions",
                [[a / 1e6, r / 1e6] for a, r in cost.values()],
                tuple(f"n = {n:,}" for n in cost),
                ("self-attention", "recurrence"),
                "table",
                1,
            ),
        ),
    )


@erratum("E20", cost=100)
def which_bert() -> Evidence:
    base, large = bert(), bert(**LARGE)
    config = BERTConfig()
    numbers = {"base": float(base), "large": float(large), "times": large / base}
    sentence = (
        f"Base, {config.n_layers} layers of width {config.d_model}, has {base:,} parameters; Large, {LARGE['n_layers']} of {LARGE['d_model']:,}, has {large:,}: "
        f"{numbers['times']:.2f} times as many under one name."
    )
    return Evidence(numbers, sentence)


@erratum("E21", cost=400)
def smaller() -> Evidence:
    tiny, roberta = (
        {"n_layers": 4, "d_model": 312, "d_ff": 1200},
        {"n_vocab": 50_265, "n_ctx": 514, "n_segments": 1},
    )
    numbers = {
        "TinyBERT": bert(**tiny),
        "DistilBERT": bert(n_layers=6, n_segments=1, pooler=False)
        - BERTConfig().d_model,  # it has no segments
        "DistilGPT-2": gpt(n_layers=6),
        "BERT-Base": bert(),
        "RoBERTa-base": bert(**roberta),
        "BERT-Large": bert(**LARGE),
        "RoBERTa-large": bert(**LARGE, **roberta),
        "GPT-2 XL": gpt(n_layers=48, d_model=1600, n_heads=25, d_ff=6400),
    }
    sentence = "Counted: " + ", ".join(f"{name} {n:,}" for name, n in numbers.items()) + "."
    return Evidence(
        _floats(numbers),
        sentence,
        (
            Panel(
                "Parameters, millions",
                [[n / 1e6] for n in numbers.values()],
                numbers,
                ("millions",),
                "bars",
                1,
            ),
        ),
    )


GPT1: dict[str, Any] = {"n_vocab": 40_478, "n_ctx": 512, "order": "post"}


@erratum("E39", cost=200)
def built_upon() -> Evidence:
    second, first = gpt(), gpt(**GPT1)
    config, d = GPTConfig(), GPTConfig().d_model
    tokens, places, norm = (config.n_vocab - GPT1["n_vocab"]) * d, (config.n_ctx - GPT1["n_ctx"]) * d, 2 * d
    numbers = {"gpt2": second, "gpt1": first, "difference": second - first, "parts": tokens + places + norm}
    sentence = (
        f"At the same {config.n_layers} layers of width {d}: {second:,} − {first:,} = {second - first:,} = {tokens:,} (tokens) + "
        f"{places:,} (positions) + {norm:,} (final norm) = {tokens + places + norm:,}."
    )
    return Evidence(
        _floats(numbers),
        sentence,
        (
            Panel(
                "What GPT-2 adds",
                [[tokens], [places], [norm]],
                ("tokens", "positions", "final norm"),
                ("parameters",),
                "table",
                0,
            ),
        ),
    )


@erratum("E44", cost=600)
def round_sizes() -> Evidence:
    shapes = {"small": (12, 768, 12), "medium": (24, 1024, 16), "large": (36, 1280, 20), "XL": (48, 1600, 25)}
    numbers = {
        f"GPT-2 {name}": gpt(n_layers=n, d_model=d, n_heads=h, d_ff=4 * d)
        for name, (n, d, h) in shapes.items()
    }
    d = 12_288
    numbers["GPT-3"] = gpt(n_layers=96, d_model=d, n_heads=96, d_ff=4 * d, n_ctx=2048)
    sentence = "Counted: " + ", ".join(f"{name} {n:,}" for name, n in numbers.items()) + "."
    return Evidence(
        _floats(numbers),
        sentence,
        (
            Panel(
                "Parameters, billions",
                [[n / 1e9] for n in numbers.values()],
                numbers,
                ("billions",),
                "bars",
                3,
            ),
        ),
    )


@erratum("E45", cost=200)
def fewer() -> Evidence:
    sizes = {
        "Base": (bert(), albert(768, 12)),
        "Large": (bert(**LARGE), albert(LARGE["d_model"], LARGE["n_heads"])),
    }
    numbers = {name: theirs / ours for name, (theirs, ours) in sizes.items()}
    told = "; ".join(f"{name}: {a:,} / {b:,} = {a / b:.2f}" for name, (a, b) in sizes.items())
    return Evidence(
        numbers,
        f"{told}.",
        (
            Panel(
                "How many times fewer parameters",
                [[n] for n in numbers.values()],
                numbers,
                ("times",),
                "bars",
                2,
            ),
        ),
    )


def _floats(numbers: dict[str, int]) -> dict[str, float]:
    return {name: float(value) for name, value in numbers.items()}
