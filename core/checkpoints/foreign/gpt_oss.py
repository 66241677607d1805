"""gpt-oss (OpenAI 2025), as it is saved dequantised; the quantised files of the Hub are refused by name."""

from __future__ import annotations

from core.checkpoints.foreign import keys, llama
from core.checkpoints.foreign.keys import Field, Values
from core.checkpoints.foreign.rope import all_but_every, local, rope_field
from core.checkpoints.foreign.table import REFUSED, kin
from core.checkpoints.safety.config_schema import Fields
from core.errors import InputError
from core.models.gpt_oss import GptOssConfig

EXPERTS = {
    "mlp.router": "ffn.router",
    "mlp.experts.gate_up_proj": "ffn.to_hidden",
    "mlp.experts.gate_up_proj_bias": "ffn.to_hidden_bias",
    "mlp.experts.down_proj": "ffn.to_out",
    "mlp.experts.down_proj_bias": "ffn.to_out_bias",
}
QUANTISED = "quantization_config"


def _refuse_quantised(fields: Fields, values: Values) -> Values:
    """Refuse quantised weights; for the four bits of the Hub's files (MXFP4) say how to save them dequantised."""
    quantised = fields.raw(QUANTISED)
    if isinstance(quantised, dict) and quantised.get("quant_method") == "mxfp4":
        raise InputError(
            "config.json: quantization_config says mxfp4.",
            "Numbers of four bits (MXFP4) are not read.",
            "Save it dequantised and open that folder: transformers.GptOssForCausalLM.from_pretrained(folder, quantization_config=transformers.Mxfp4Config(dequantize=True)).save_pretrained(new); and put its tokenizer beside it.",
        )
    fields.absent(QUANTISED, "Quantised weights are not read.")
    return {}


GPT_OSS = kin(
    llama.LLAMA,
    "gpt_oss",
    "openai/gpt-oss-20b, not quantised",
    "Llama with a learned attention sink per head, which takes weight and adds no value; layers with and without a sliding window; mixture of experts with its router",
    architecture="GptOss",
    config=GptOssConfig,
    refused=REFUSED - {QUANTISED},
    fields=(
        Field(read=_refuse_quantised),
        keys.only(attention_bias=True, hidden_act="silu", swiglu_alpha=1.702, swiglu_limit=7.0),
        *llama.SIZES,
        keys.whole_number("d_head", "head_dim", default=64),
        keys.whole_number("window", "sliding_window", default=128),
        *llama.experts(128, active=4),
        local(all_but_every(2)),
        keys.small("rms_norm_eps", 1e-5),
        llama.TIED,
        rope_field(default=150000.0, scalings=("yarn",)),
    ),
    weights=llama.weights(llama.ATTENTION, {"self_attn.sinks": "self_attn.sinks"}, EXPERTS),
)
