"""gpt-oss (OpenAI 2025) in Hugging Face format, as it is saved dequantised; the quantised files of the Hub are refused by name."""

from __future__ import annotations

from dataclasses import replace

from core.checkpoints.foreign.bert import SIZES
from core.checkpoints.foreign.llama import ATTENTION, LLAMA, NORMS
from core.checkpoints.foreign.rope import local, rope_field
from core.checkpoints.foreign.table import REFUSED, Field, Values, flag, only, small, under, whole_number
from core.checkpoints.safety.config_schema import Fields
from core.errors import InputError
from core.models.rotary.gpt_oss import GptOssConfig

EXPERTS = {
    "mlp.router": "ffn.router",
    "mlp.experts.gate_up_proj": "ffn.to_hidden",
    "mlp.experts.gate_up_proj_bias": "ffn.to_hidden_bias",
    "mlp.experts.down_proj": "ffn.to_out",
    "mlp.experts.down_proj_bias": "ffn.to_out_bias",
}
QUANTISED = "quantization_config"


def _refuse_quantised(fields: Fields, given: Values) -> Values:
    """Refuse quantised weights; for the four bits of the Hub's files (MXFP4) say how to save them dequantised."""
    said = fields.raw(QUANTISED)
    if isinstance(said, dict) and said.get("quant_method") == "mxfp4":
        raise InputError(
            "config.json: quantization_config says mxfp4.",
            "Numbers of four bits (MXFP4) are not read.",
            "Save it dequantised and open that folder: transformers.GptOssForCausalLM.from_pretrained(folder, quantization_config=transformers.Mxfp4Config(dequantize=True)).save_pretrained(new); and put its tokenizer beside it.",
        )
    fields.absent(QUANTISED, REFUSED[QUANTISED])
    return {}


GATE = "The experts of this kind have one gate, as in gpt-oss."
GPT_OSS = replace(
    LLAMA,
    model_type="gpt_oss",
    architecture="GptOss",
    like="openai/gpt-oss-20b, not quantised",
    shows="Llama with a learned attention sink per head, which takes weight and adds no value; layers with and without a sliding window; mixture of experts with its router",
    config=GptOssConfig,
    refused={name: why for name, why in REFUSED.items() if name != QUANTISED},
    fields=(
        Field(read=_refuse_quantised),
        only("attention_bias", True, "Queries, keys, values and the output of this kind have biases."),
        only("hidden_act", "silu", GATE),
        only("swiglu_alpha", 1.702, GATE),
        only("swiglu_limit", 7.0, GATE),
        *SIZES,
        whole_number("n_kv_heads", "num_key_value_heads", default=lambda given: given["n_heads"]),
        whole_number("d_head", "head_dim", default=64),
        whole_number("window", "sliding_window", default=128),
        whole_number("n_experts", "num_local_experts", default=128, most=4096),
        whole_number("n_active", "num_experts_per_tok", default=4, most=4096),
        local(lambda fields, n: range(0, n, 2)),
        small("rms_norm_eps", 1e-5),
        flag("tie_word_embeddings", "tied", False),
        rope_field(default=150000.0, kinds=("yarn",)),
    ),
    weights={
        "embed_tokens": "embed.token",
        "norm": "final_norm",
        **under(
            "layers.*.", "layers.*.", {**ATTENTION, "self_attn.sinks": "self_attn.sinks", **NORMS, **EXPERTS}
        ),
    },
)
FORMATS = (GPT_OSS,)
