"""The kinds of folders, a row each: a class of the transformers library, its config, and the sizes of a tiny random model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import transformers as hf

SHORT_OF = {"num_hidden_layers": 3, "num_attention_heads": 6, "hidden_size": 48, "intermediate_size": 41}
PLACES = {"max_position_embeddings": 61}
MARKS = {"bos_token_id": 0, "eos_token_id": 0, "pad_token_id": None}
NEOX = {**SHORT_OF, **PLACES, **MARKS, "num_attention_heads": 3, "layer_norm_eps": 3e-4}
LLAMA = {
    **SHORT_OF,
    **PLACES,
    **MARKS,
    "num_key_value_heads": 2,
    "hidden_size": 30,
    "head_dim": 8,
    "rms_norm_eps": 3e-4,
}
WIDTHS = {"head_dim": None, "hidden_size": 48}
"""For configs that have no width of a head of its own."""
SHARED = {"num_attention_heads": 4, "num_key_value_heads": 4, "hidden_size": 64}
FALCON = {
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "hidden_size": 48,
    "ffn_hidden_size": 41,
    "layer_norm_epsilon": 3e-4,
    **PLACES,
    **MARKS,
}
BERT = {**SHORT_OF, **PLACES, "num_attention_heads": 3, "hidden_size": 33, "layer_norm_eps": 3e-4}
ONE = {**BERT, "type_vocab_size": 1}
DISTIL = {"n_layers": 2, "n_heads": 3, "dim": 33, "hidden_dim": 41, **PLACES}
GPT = {"n_layer": 3, "n_head": 3, "n_embd": 33, "n_positions": 61, "layer_norm_epsilon": 3e-4, **MARKS}
NEO = {
    "num_layers": 2,
    "num_heads": 3,
    "hidden_size": 33,
    "intermediate_size": 41,
    "window_size": 4,
    "attention_types": [[["global", "local"], 1]],
    "layer_norm_epsilon": 3e-4,
    **PLACES,
    **MARKS,
}
BLOOM = {"n_layer": 3, "n_head": 4, "hidden_size": 32, "layer_norm_epsilon": 3e-4, **MARKS}
MPT = {"n_layers": 3, "n_heads": 4, "d_model": 32, "max_seq_len": 61, "layer_norm_epsilon": 3e-4, **MARKS}
GEMMA = {**LLAMA, "num_attention_heads": 4, "hidden_size": 32, "head_dim": 6}
LATER_GEMMA = {**GEMMA, "query_pre_attn_scalar": 11, "sliding_window": 4}
CAPS = {"attn_logit_softcapping": 2.0, "final_logit_softcapping": 5.0}
ALIBI = {"alibi": True, "parallel_attn": False, "multi_query": False, "bias": True}
TIED = {"tie_word_embeddings": True}
GATED = {"feed_forward_proj": "gated-gelu"}
GRANITE = {
    "embedding_multiplier": 3.0,
    "logits_scaling": 4.0,
    "residual_multiplier": 0.5,
    "attention_multiplier": 0.2,
}
BIGBIRD = {"attention_type": "original_full", "block_size": 3, "num_random_blocks": 2}
STRETCHED = {
    "rope_theta": 500.0,
    "rope_type": "llama3",
    "factor": 4.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 3.0,
    "original_max_position_embeddings": 16,
}
WIDE = {"rope_type": "linear", "factor": 8.0, "rope_theta": 5e3}
MOE = {**LLAMA, "hidden_size": 32, "intermediate_size": 44, "num_local_experts": 5, "num_experts_per_tok": 2}
OSS = {
    **MOE,
    "sliding_window": 4,
    "rope_parameters": {
        "rope_theta": 500.0,
        "rope_type": "yarn",
        "factor": 4.0,
        "beta_fast": 3.0,
        "beta_slow": 1.0,
        "truncate": False,
        "original_max_position_embeddings": 16,
    },
}
NEAR = {"rope_type": "default", "rope_theta": 70.0}
DEBERTA = {
    **BERT,
    "relative_attention": True,
    "pad_token_id": 0,
    "pos_att_type": "p2c|c2p",
    "position_buckets": 4,
    "share_att_key": True,
    "norm_rel_ebd": "layer_norm",
    "position_biased_input": False,
}
MODERN = {
    **BERT,
    "hidden_size": 30,
    "num_hidden_layers": 4,
    "norm_eps": 3e-4,
    "local_attention": 4,
    "pad_token_id": 0,
}
NOMIC = {
    **BERT,
    "hidden_size": 30,
    "rope_parameters": {"rope_type": "default", "rope_theta": 1000.0},
    "pad_token_id": 0,
}
ESM = {
    **BERT,
    "hidden_size": 30,
    "position_embedding_type": "rotary",
    "token_dropout": True,
    "mask_token_id": 4,
    "pad_token_id": 0,
}
STACKS = {
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 3,
    "decoder_attention_heads": 3,
    "d_model": 30,
    "encoder_ffn_dim": 41,
    "decoder_ffn_dim": 41,
    **PLACES,
    "pad_token_id": 2,
    "eos_token_id": 1,
    "bos_token_id": 0,
    "forced_eos_token_id": None,
    "decoder_start_token_id": 2,
}
T5 = {
    "num_layers": 2,
    "num_heads": 3,
    "d_model": 30,
    "d_kv": 8,
    "d_ff": 41,
    "relative_attention_num_buckets": 8,
    "relative_attention_max_distance": 12,
    "layer_norm_epsilon": 3e-4,
    "pad_token_id": 2,
    "eos_token_id": 1,
    "decoder_start_token_id": 2,
}
WRITES, READS, BODY, TWO = (
    hf.AutoModelForCausalLM,
    hf.AutoModelForMaskedLM,
    hf.AutoModel,
    hf.AutoModelForSeq2SeqLM,
)
PRETRAINED, ENCODES = hf.AutoModelForPreTraining, hf.AutoModelForTextEncoding


@dataclass(frozen=True)
class Case:
    """One row: the class that opens such folders in the library, the class of its config and the values of a tiny one.

    `how` is the implementation of attention in the library: with "eager" a Falcon adds ALiBi twice, so its patterns are not compared.
    """

    auto: Any
    config: Any
    values: dict[str, Any]
    how: str = "eager"

    def model(self, n_vocab: int):
        """Return a random model of these sizes."""
        values = {name: value for name, value in self.values.items() if (name, value) != ("head_dim", None)}
        config = self.config(**{**values, "vocab_size": n_vocab})
        return self.auto.from_config(config, attn_implementation=self.how)


KINDS = {
    "gpt2": Case(WRITES, hf.GPT2Config, GPT | {"n_inner": 41}),
    "gpt1": Case(WRITES, hf.OpenAIGPTConfig, GPT),
    "gpt_neo": Case(WRITES, hf.GPTNeoConfig, NEO),
    "bloom": Case(WRITES, hf.BloomConfig, BLOOM),
    "mpt": Case(WRITES, hf.MptConfig, MPT),
    "gpt_neox": Case(WRITES, hf.GPTNeoXConfig, NEOX),
    "llama": Case(WRITES, hf.LlamaConfig, LLAMA),
    "mistral": Case(WRITES, hf.MistralConfig, LLAMA | {"sliding_window": 5}),
    "qwen2": Case(WRITES, hf.Qwen2Config, LLAMA | WIDTHS),
    "qwen3": Case(WRITES, hf.Qwen3Config, LLAMA | TIED),
    "gemma": Case(WRITES, hf.GemmaConfig, LLAMA | TIED | {"num_key_value_heads": 1}),
    "gemma2": Case(WRITES, hf.Gemma2Config, LATER_GEMMA | CAPS),
    "gemma3": Case(
        WRITES,
        hf.Gemma3TextConfig,
        LATER_GEMMA | {"rope_parameters": {"full_attention": WIDE, "sliding_attention": NEAR}},
    ),
    "smollm3": Case(WRITES, hf.SmolLM3Config, LLAMA | {"no_rope_layers": [1, 0, 1]}),
    "olmo2": Case(WRITES, hf.Olmo2Config, LLAMA | WIDTHS),
    "granite": Case(WRITES, hf.GraniteConfig, LLAMA | WIDTHS | TIED | GRANITE),
    "phi3": Case(WRITES, hf.Phi3Config, LLAMA | WIDTHS),
    "stablelm": Case(WRITES, hf.StableLmConfig, NEOX | SHARED | {"num_key_value_heads": 2}),
    "cohere": Case(WRITES, hf.CohereConfig, NEOX | SHARED | {"num_key_value_heads": 2, "logit_scale": 0.25}),
    "phi": Case(WRITES, hf.PhiConfig, NEOX | SHARED),
    "gptj": Case(WRITES, hf.GPTJConfig, GPT | {"n_embd": 48, "rotary_dim": 8}),
    "falcon": Case(WRITES, hf.FalconConfig, FALCON),
    "helium": Case(WRITES, hf.HeliumConfig, LLAMA | {"hidden_size": 48}),
    "starcoder2": Case(
        WRITES, hf.Starcoder2Config, NEOX | SHARED | {"num_key_value_heads": 2, "sliding_window": 4}
    ),
    "opt": Case(WRITES, hf.OPTConfig, NEOX | {"ffn_dim": 41, "word_embed_proj_dim": 48, "pad_token_id": 1}),
    "mixtral": Case(WRITES, hf.MixtralConfig, MOE),
    "qwen3_moe": Case(WRITES, hf.Qwen3MoeConfig, MOE | {"moe_intermediate_size": 20}),
    "olmoe": Case(WRITES, hf.OlmoeConfig, MOE | WIDTHS),
    "gpt_oss": Case(WRITES, hf.GptOssConfig, OSS),
    "bert": Case(READS, hf.BertConfig, BERT),
    "roberta": Case(READS, hf.RobertaConfig, ONE),
    "xlm-roberta": Case(READS, hf.XLMRobertaConfig, ONE),
    "camembert": Case(READS, hf.CamembertConfig, ONE | {"num_attention_heads": 1}),
    "electra": Case(READS, hf.ElectraConfig, BERT | {"embedding_size": 33}),
    "mpnet": Case(READS, hf.MPNetConfig, BERT),
    "distilbert": Case(READS, hf.DistilBertConfig, DISTIL),
    "albert": Case(READS, hf.AlbertConfig, BERT | {"embedding_size": 7}),
    "big_bird": Case(READS, hf.BigBirdConfig, BERT | BIGBIRD),
    "deberta": Case(READS, hf.DebertaV2Config, DEBERTA),
    "modernbert": Case(READS, hf.ModernBertConfig, MODERN),
    "nomic_bert": Case(READS, hf.NomicBertConfig, NOMIC),
    "esm": Case(READS, hf.EsmConfig, ESM),
    "marian": Case(TWO, hf.MarianConfig, STACKS | {"scale_embedding": True, "activation_function": "swish"}),
    "bart": Case(TWO, hf.BartConfig, STACKS | {"decoder_start_token_id": 1}),
    "mbart": Case(TWO, hf.MBartConfig, STACKS | {"scale_embedding": True}),
    "pegasus": Case(TWO, hf.PegasusConfig, STACKS | {"scale_embedding": True}),
    "m2m_100": Case(TWO, hf.M2M100Config, STACKS | {"d_model": 36, "decoder_start_token_id": 1}),
    "t5": Case(TWO, hf.T5Config, T5),
    "flan-t5": Case(TWO, hf.T5Config, T5 | GATED | {"tie_word_embeddings": False}),
    "mt5": Case(TWO, hf.MT5Config, T5),
    "t5 encoder": Case(ENCODES, hf.T5Config, T5),
    "mt5 encoder": Case(ENCODES, hf.MT5Config, T5 | GATED),
}
"""A row for each kind."""
VARIANTS = {
    "gpt_neo, wide": {"intermediate_size": None, "activation_function": "relu"},
    "gpt_neo, two patterns": {
        "attention_types": [[["local"], 1], [["global", "global"], 1]],
        "num_layers": 3,
    },
    "bloom, five heads": {"n_head": 5, "hidden_size": 40},
    "mpt, three heads": {"n_heads": 3, "d_model": 33},
    "gpt_neox, one after the other": {"use_parallel_residual": False, "hidden_act": "gelu_new"},
    "gpt_neox, tied without biases": {"attention_bias": False, **TIED},
    "gpt_neox, half turned": {"rotary_pct": 0.5, "rotary_emb_base": 300, "num_attention_heads": 1},
    "llama, one key head": {"num_key_value_heads": 1, "head_dim": 10},
    "llama, tied": {**WIDTHS, **TIED, "num_key_value_heads": 6},
    "llama, stretched": {"rope_parameters": STRETCHED},
    "mistral, whole": {"sliding_window": None},
    "qwen2, window": {"use_sliding_window": True, "sliding_window": 4, "max_window_layers": 0},
    "gemma, untied": {"tie_word_embeddings": False, "num_key_value_heads": 2, "head_dim": 12},
    "gemma2, untied": {**dict.fromkeys(CAPS), "tie_word_embeddings": False, "num_key_value_heads": 1},
    "gemma3, deep": {"rope_parameters": None, "num_hidden_layers": 7, "query_pre_attn_scalar": 6},
    "gemma3, capped": {
        "rope_parameters": None,
        "final_logit_softcapping": 3.0,
        "layer_types": ["full_attention"] * 3,
    },
    "phi3, share": {"partial_rotary_factor": 0.5, "sliding_window": 4},
    "phi3, long": {
        "partial_rotary_factor": 0.5,
        "max_position_embeddings": 488,
        "original_max_position_embeddings": 61,
        "rope_parameters": {
            "rope_type": "longrope",
            "rope_theta": 500.0,
            "partial_rotary_factor": 0.5,
            "short_factor": [1.0, 1.5],
            "long_factor": [2.0, 9.0],
        },
    },
    "stablelm, parallel": {"num_key_value_heads": 4, "use_parallel_residual": True, "use_qkv_bias": True},
    "falcon, new": {"new_decoder_architecture": True, "num_kv_heads": 2, "bias": True},
    "falcon, one after the other": {"parallel_attn": False, "multi_query": False},
    "falcon, ALiBi": ALIBI,
    "falcon, ALiBi of six heads": {**ALIBI, "num_attention_heads": 6},
    "mixtral, one expert": {"num_experts_per_tok": 1, "sliding_window": 4},
    "qwen3_moe, shares of the chosen": {"norm_topk_prob": True},
    "olmoe, shares of the chosen": {"norm_topk_prob": True, **TIED},
    "gpt_oss, one expert": {
        "num_experts_per_tok": 1,
        "layer_types": ["full_attention"] * 3,
        "num_key_value_heads": 3,
    },
    "roberta, padding far": {"pad_token_id": 7, "type_vocab_size": 3},
    "electra, narrow": {"embedding_size": 7},
    "deberta, microsoft's head": {"legacy": False, "max_relative_positions": 9},
    "deberta, own maps": {
        "pos_att_type": ["c2p", "p2c"],
        "position_buckets": -1,
        "share_att_key": False,
        "norm_rel_ebd": "none",
        "position_biased_input": True,
        "type_vocab_size": 2,
        "max_relative_positions": 5,
    },
    "modernbert, turned": {
        "rope_parameters": {"full_attention": NEAR, "sliding_attention": {**NEAR, "rope_theta": 9.0}},
        "local_attention": 7,
    },
    "esm, every token counts": {"token_dropout": False, "emb_layer_norm_before": True},
    "marian, odd": {
        "scale_embedding": False,
        "activation_function": "gelu",
        "d_model": 33,
        "encoder_layers": 1,
        "decoder_layers": 1,
    },
    "marian, two depths": {"encoder_layers": 3, "decoder_layers": 1},
    "bart, scaled": {"scale_embedding": True, "activation_function": "relu"},
    "bart, two depths": {"encoder_layers": 1, "decoder_layers": 2},
    "t5, two depths": {"num_layers": 3, "num_decoder_layers": 1},
    "t5, long": {"feed_forward_proj": "gelu_new", "relative_attention_max_distance": 20},
}
"""Other settings of a kind; what is before the comma is its row."""
BODIES = {
    "llama, body": {},
    "gemma3, both ways": {
        "rope_parameters": None,
        "num_hidden_layers": 7,
        "use_bidirectional_attention": True,
    },
    "bert, body": {"hidden_act": "gelu_new"},
    "roberta, body": {"hidden_act": "relu"},
    "electra, body": {"embedding_size": 7, "hidden_act": "relu", "type_vocab_size": 1},
    "mpnet, body": {"hidden_act": "relu", "num_attention_heads": 1},
    "distilbert, body": {"sinusoidal_pos_embds": True, "n_heads": 1},
    "albert, nothing shared": {"embedding_size": 12, "num_hidden_groups": 3},
    "deberta, one part": {"pos_att_type": ["p2c"]},
    "modernbert, body": {"hidden_activation": "relu"},
    "nomic_bert, body": {"hidden_act": "gelu", "rope_parameters": NEAR},
    "esm, table of positions": {"position_embedding_type": "absolute"},
}
"""The same for models that were saved without an output layer."""


def _variant(name: str, changes: dict[str, Any], auto=None) -> Case:
    kind = KINDS[name.partition(",")[0]]
    how = "sdpa" if "alibi" in changes else "eager"
    return Case(auto or kind.auto, kind.config, kind.values | changes, how)


CASES = {
    **KINDS,
    **{name: _variant(name, changes) for name, changes in VARIANTS.items()},
    **{name: _variant(name, changes, BODY) for name, changes in BODIES.items()},
    **{f"{kind}, pretraining": _variant(kind, {}, PRETRAINED) for kind in ("bert", "albert")},
}
