"""Sizes and costs that the documents state, against counts of networks built here."""

from __future__ import annotations

from typing import Any

from core.models.bert import BERTConfig
from core.models.gpt import GPTConfig
from core.models.transformer import TransformerConfig
from viz.course.errata._counts import LARGE, albert, bert, encoder_layer, gpt
from viz.course.errata.entry import Evidence, Panel, Where, erratum
from viz.languages import _

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
    sentence = _(
        "One encoder layer has {right:,} parameters with {d_ff:,} hidden units and {printed:,} with {d_model}; {n} layers {all:,} and {all_printed:,}. BERT-Large has {large:,} with {large_d_ff:,} hidden units and {narrow:,} with {large_d_model:,}.",
        right=right,
        d_ff=base.d_ff,
        printed=printed,
        d_model=base.d_model,
        n=n,
        all=n * right,
        all_printed=n * printed,
        large=large,
        large_d_ff=LARGE["d_ff"],
        narrow=narrow,
        large_d_model=LARGE["d_model"],
    )
    return Evidence(
        _floats(numbers),
        sentence,
        (
            Panel(
                _("Parameters of BERT-Large, millions"),
                [[narrow / 1e6], [large / 1e6]],
                (_("as printed"), _("right")),
                (_("millions"),),
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
    sentence = _(
        "Base has {base:,} parameters with the pooler and {base_heads:,} with the heads of pre-training; Large has {large:,} and {large_heads:,}.",
        base=numbers["base"],
        base_heads=numbers["base_heads"],
        large=numbers["large"],
        large_heads=numbers["large_heads"],
    )
    return Evidence(
        _floats(numbers),
        sentence,
        (
            Panel(
                _("Parameters"),
                [[numbers["base"], numbers["base_heads"]], [numbers["large"], numbers["large_heads"]]],
                (_("Base"), _("Large")),
                (_("with pooler"), _("with both heads")),
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
    sentence = _(
        "V × E = {n_vocab:,} × {d_model} = {table:,}, as the slide itself concludes. With its letters, H × E for BERT's own H, the table would have {printed:,} numbers.",
        n_vocab=config.n_vocab,
        d_model=config.d_model,
        table=table,
        printed=wrong,
    )
    return Evidence(_floats(numbers), sentence)


@erratum("E18")
def crossing() -> Evidence:
    p, short, long = 512, 50, 4096
    cost = {n: (n * n * p, n * p * p) for n in (short, p, long)}
    numbers = {f"attention_{n}": both[0] for n, both in cost.items()} | {
        f"recurrence_{n}": both[1] for n, both in cost.items()
    }
    sentence = _(
        "p = {p}: for n = {short} words {attention:,} against {recurrence:,}, {cheaper:.1f} times cheaper; equal at n = {p}; for n = {long:,} {more:.0f} times more expensive.",
        p=p,
        short=short,
        attention=cost[short][0],
        recurrence=cost[short][1],
        cheaper=cost[short][1] / cost[short][0],
        long=long,
        more=cost[long][0] / cost[long][1],
    )
    return Evidence(
        _floats(numbers),
        sentence,
        (
            Panel(
                _("Multiplications, millions"),
                [[a / 1e6, r / 1e6] for a, r in cost.values()],
                tuple(_("n = {n:,}", n=n) for n in cost),
                (_("self-attention"), _("recurrence")),
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
    sentence = _(
        "Base, {n_layers} layers of width {d_model}, has {base:,} parameters; Large, {large_n_layers} of {large_d_model:,}, has {large:,}: {times:.2f} times as many under one name.",
        n_layers=config.n_layers,
        d_model=config.d_model,
        base=base,
        large_n_layers=LARGE["n_layers"],
        large_d_model=LARGE["d_model"],
        large=large,
        times=numbers["times"],
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
    sentence = _("Counted: {sizes}.", sizes=_sizes(numbers))
    return Evidence(
        _floats(numbers),
        sentence,
        (
            Panel(
                _("Parameters, millions"),
                [[n / 1e6] for n in numbers.values()],
                numbers,
                (_("millions"),),
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
    sentence = _(
        "At the same {n_layers} layers of width {d}: {second:,} − {first:,} = {difference:,} = {tokens:,} (tokens) + {places:,} (positions) + {norm:,} (final norm) = {all:,}.",
        n_layers=config.n_layers,
        d=d,
        second=second,
        first=first,
        difference=second - first,
        tokens=tokens,
        places=places,
        norm=norm,
        all=tokens + places + norm,
    )
    return Evidence(
        _floats(numbers),
        sentence,
        (
            Panel(
                _("What GPT-2 adds"),
                [[tokens], [places], [norm]],
                (_("tokens"), _("positions"), _("final norm")),
                (_("parameters"),),
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
    sentence = _("Counted: {sizes}.", sizes=_sizes(numbers))
    return Evidence(
        _floats(numbers),
        sentence,
        (
            Panel(
                _("Parameters, billions"),
                [[n / 1e9] for n in numbers.values()],
                numbers,
                (_("billions"),),
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
    told = "; ".join(
        _("{name}: {a:,} / {b:,} = {ratio:.2f}", name=name, a=a, b=b, ratio=a / b)
        for name, (a, b) in sizes.items()
    )
    return Evidence(
        numbers,
        f"{told}.",
        (
            Panel(
                _("How many times fewer parameters"),
                [[n] for n in numbers.values()],
                numbers,
                (_("times"),),
                "bars",
                2,
            ),
        ),
    )


def _sizes(numbers: dict[str, int]) -> str:
    return ", ".join(_("{name} {n:,}", name=name, n=n) for name, n in numbers.items())


def _floats(numbers: dict[str, int]) -> dict[str, float]:
    return {name: float(value) for name, value in numbers.items()}
