"""ModernBERT folders in Hugging Face format (Warner et al. 2024): the body, and the head for hidden words where it is stored."""

from __future__ import annotations

from dataclasses import replace

from core.checkpoints.foreign import bert
from core.checkpoints.foreign.rope import local, two_turns
from core.checkpoints.foreign.table import GELUS, Field, Format, Values, only, row, small, under, word
from core.checkpoints.safety.config_schema import RANGES, Fields
from core.checkpoints.task_heads import ANSWER, CLASSES, TAGS, HeadSpec
from core.models.rotary.modernbert import ModernBERTConfig

WITHOUT = "Only the words' own biases are implemented for this kind."


def _head(fields: Fields, given: Values) -> Values:
    if given["masked_lm"] and fields.one_of("classifier_activation", GELUS, "gelu") != given["activation"]:
        fields.only("classifier_activation", "", "The head has the activation of the layers here.")
    return {}


def _others(fields: Fields, n: int) -> list[int]:
    every = fields.whole("global_attn_every_n_layers", largest=RANGES["n_layers"], default=3)
    return [i for i in range(n) if i % every]


TUNED = HeadSpec(
    "classifier",
    dense="head.dense",
    activation="gelu",
    activation_field="classifier_activation",
    norm="head.norm",
    eps_field="norm_eps",
    plain=("head.dense", "head.norm"),
)
FORMAT = Format(
    model_type="modernbert",
    like="answerdotai/ModernBERT-base",
    shows="BERT's heads without segments; turned queries and keys, layers that look everywhere or near by, a gated feed-forward network",
    architecture="ModernBert",
    config=ModernBERTConfig,
    tables=False,
    fields=(
        *(
            only(name, False, WITHOUT)
            for name in ("attention_bias", "mlp_bias", "norm_bias", "classifier_bias")
        ),
        only("decoder_bias", True, "A head for hidden words without a bias a word is not implemented."),
        *bert.SIZES,
        two_turns(("global_rope_theta", "local_rope_theta"), (160000.0, 10000.0)),
        local(_others),
        Field(
            read=lambda fields, given: {
                "reach": fields.whole("local_attention", largest=RANGES["n_ctx"], default=128, least=2) // 2
            },
            write=lambda cfg: {"local_attention": 2 * cfg.reach},
        ),
        word("hidden_activation", GELUS, "gelu"),
        replace(word("classifier_activation", GELUS, "gelu"), read=_head),
        small("norm_eps", 1e-5),
    ),
    stored={"masked_lm": ("decoder.",)},
    weights={
        "embeddings.tok_embeddings": "embed.token",
        "embeddings.norm": "embed.norm",
        **under(
            "layers.*.",
            "layers.*.",
            {
                "attn_norm": "norm1",
                "attn.Wqkv": row(*(f"self_attn.to_{part}" for part in "qkv"), heads=lambda cfg: 1),
                "attn.Wo": "self_attn.to_out",
                "mlp_norm": "norm2",
                "mlp.Wi": row("ffn.to_gate", "ffn.to_hidden", heads=lambda cfg: 1),
                "mlp.Wo": "ffn.to_out",
            },
        ),
        "final_norm": "final_norm",
        "head.dense": "masked_lm.to_hidden",
        "head.norm": "masked_lm.norm",
        "decoder.bias": "masked_lm.bias",
    },
    marks=bert.MARKS,
    prefix="model.",
    output="decoder",
    outside=("head.", "decoder.", "classifier."),
    writer="ForMaskedLM",
    tasks={CLASSES: replace(TUNED, pool_field="classifier_pooling"), TAGS: TUNED, ANSWER: TUNED},
)
FORMATS = (FORMAT,)
