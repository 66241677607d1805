"""The kinds of folders, a row each: a class of the transformers library, its config, and the sizes of a tiny random model."""

from __future__ import annotations

from dataclasses import dataclass, field
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
STRETCHED = {
    "rope_theta": 500.0,
    "rope_type": "llama3",
    "factor": 4.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 3.0,
    "original_max_position_embeddings": 16,
}
WIDE = {"rope_type": "linear", "factor": 8.0, "rope_theta": 5e3}
OSS = {
    **LLAMA,
    "hidden_size": 32,
    "intermediate_size": 44,
    "sliding_window": 4,
    "num_local_experts": 5,
    "num_experts_per_tok": 2,
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
MOE = {
    **LLAMA,
    "hidden_size": 32,
    "intermediate_size": 44,
    "num_local_experts": 5,
    "num_experts_per_tok": 2,
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


@dataclass(frozen=True)
class Case:
    """One row: what opens such folders in the library, the class of its config and the values of a tiny one.

    `how` the library computes: a Falcon with ALiBi adds it twice where it gives its patterns ("eager"), and once otherwise. `times` is by how much our last hidden state is larger than theirs: a factor of the logits that is read into the last norm.
    """

    auto: Any
    config: Any
    values: dict[str, Any] = field(default_factory=dict)
    times: float = 1.0
    how: str = "eager"

    def model(self, n_vocab: int) -> Any:
        """A random model of these sizes."""
        values = {name: value for name, value in self.values.items() if (name, value) != ("head_dim", None)}
        config = self.config(**{**values, "vocab_size": n_vocab})
        return self.auto.from_config(config, attn_implementation=self.how)


CASES: dict[str, Case] = {
    "gpt2": Case(WRITES, hf.GPT2Config, {**GPT, "n_inner": 41}),
    "gpt1": Case(WRITES, hf.OpenAIGPTConfig, GPT),
    "gpt_neo": Case(WRITES, hf.GPTNeoConfig, NEO),
    "gpt_neo, wide": Case(
        WRITES, hf.GPTNeoConfig, {**NEO, "intermediate_size": None, "activation_function": "relu"}
    ),
    "gpt_neo, two patterns": Case(
        WRITES,
        hf.GPTNeoConfig,
        {**NEO, "attention_types": [[["local"], 1], [["global", "global"], 1]], "num_layers": 3},
    ),
    "bloom": Case(WRITES, hf.BloomConfig, BLOOM),
    "bloom, five heads": Case(WRITES, hf.BloomConfig, {**BLOOM, "n_head": 5, "hidden_size": 40}),
    "mpt": Case(WRITES, hf.MptConfig, MPT),
    "mpt, three heads": Case(WRITES, hf.MptConfig, {**MPT, "n_heads": 3, "d_model": 33}),
    "gpt_neox": Case(WRITES, hf.GPTNeoXConfig, NEOX),
    "gpt_neox, one after the other": Case(
        WRITES, hf.GPTNeoXConfig, {**NEOX, "use_parallel_residual": False, "hidden_act": "gelu_new"}
    ),
    "gpt_neox, tied without biases": Case(
        WRITES, hf.GPTNeoXConfig, {**NEOX, "attention_bias": False, "tie_word_embeddings": True}
    ),
    "gpt_neox, half turned": Case(
        WRITES,
        hf.GPTNeoXConfig,
        {**NEOX, "rotary_pct": 0.5, "rotary_emb_base": 300, "num_attention_heads": 1},
    ),
    "llama": Case(WRITES, hf.LlamaConfig, LLAMA),
    "llama, one key head": Case(WRITES, hf.LlamaConfig, {**LLAMA, "num_key_value_heads": 1, "head_dim": 10}),
    "llama, tied": Case(
        WRITES, hf.LlamaConfig, {**LLAMA, **WIDTHS, "num_key_value_heads": 6, "tie_word_embeddings": True}
    ),
    "llama, stretched": Case(WRITES, hf.LlamaConfig, {**LLAMA, "rope_parameters": STRETCHED}),
    "llama, body": Case(BODY, hf.LlamaConfig, LLAMA),
    "mistral": Case(WRITES, hf.MistralConfig, {**LLAMA, "sliding_window": 5}),
    "mistral, whole": Case(WRITES, hf.MistralConfig, {**LLAMA, "sliding_window": None}),
    "qwen2": Case(WRITES, hf.Qwen2Config, {**LLAMA, **WIDTHS}),
    "qwen2, window": Case(
        WRITES,
        hf.Qwen2Config,
        {**LLAMA, **WIDTHS, "use_sliding_window": True, "sliding_window": 4, "max_window_layers": 0},
    ),
    "qwen3": Case(WRITES, hf.Qwen3Config, {**LLAMA, "tie_word_embeddings": True}),
    "gemma": Case(WRITES, hf.GemmaConfig, {**LLAMA, "num_key_value_heads": 1, "tie_word_embeddings": True}),
    "gemma, untied": Case(WRITES, hf.GemmaConfig, {**LLAMA, "tie_word_embeddings": False, "head_dim": 12}),
    "gemma2": Case(WRITES, hf.Gemma2Config, {**LATER_GEMMA, **CAPS}),
    "gemma2, untied": Case(
        WRITES,
        hf.Gemma2Config,
        {**LATER_GEMMA, **dict.fromkeys(CAPS), "tie_word_embeddings": False, "num_key_value_heads": 1},
    ),
    "gemma3": Case(
        WRITES,
        hf.Gemma3TextConfig,
        {**LATER_GEMMA, "rope_parameters": {"full_attention": WIDE, "sliding_attention": NEAR}},
    ),
    "gemma3, deep": Case(
        WRITES, hf.Gemma3TextConfig, {**LATER_GEMMA, "num_hidden_layers": 7, "query_pre_attn_scalar": 6}
    ),
    "gemma3, capped": Case(
        WRITES,
        hf.Gemma3TextConfig,
        {**LATER_GEMMA, "final_logit_softcapping": 3.0, "layer_types": ["full_attention"] * 3},
    ),
    "gemma3, both ways": Case(
        BODY,
        hf.Gemma3TextConfig,
        {**LATER_GEMMA, "num_hidden_layers": 7, "use_bidirectional_attention": True},
    ),
    "smollm3": Case(WRITES, hf.SmolLM3Config, {**LLAMA, "no_rope_layers": [1, 0, 1]}),
    "olmo2": Case(WRITES, hf.Olmo2Config, {**LLAMA, **WIDTHS}),
    "granite": Case(
        WRITES,
        hf.GraniteConfig,
        {
            **LLAMA,
            **WIDTHS,
            "embedding_multiplier": 3.0,
            "logits_scaling": 4.0,
            "residual_multiplier": 0.5,
            "attention_multiplier": 0.2,
            "tie_word_embeddings": True,
        },
    ),
    "phi3": Case(WRITES, hf.Phi3Config, {**LLAMA, **WIDTHS}),
    "phi3, share": Case(
        WRITES, hf.Phi3Config, {**LLAMA, **WIDTHS, "partial_rotary_factor": 0.5, "sliding_window": 4}
    ),
    "phi3, long": Case(
        WRITES,
        hf.Phi3Config,
        {
            **LLAMA,
            **WIDTHS,
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
    ),
    "stablelm": Case(WRITES, hf.StableLmConfig, {**NEOX, **SHARED, "num_key_value_heads": 2}),
    "stablelm, parallel": Case(
        WRITES, hf.StableLmConfig, {**NEOX, **SHARED, "use_parallel_residual": True, "use_qkv_bias": True}
    ),
    "cohere": Case(
        WRITES, hf.CohereConfig, {**NEOX, **SHARED, "num_key_value_heads": 2, "logit_scale": 0.25}
    ),
    "phi": Case(WRITES, hf.PhiConfig, {**NEOX, **SHARED}),
    "gptj": Case(WRITES, hf.GPTJConfig, {**GPT, "n_embd": 48, "rotary_dim": 8}),
    "falcon": Case(WRITES, hf.FalconConfig, {**FALCON}),
    "falcon, new": Case(
        WRITES, hf.FalconConfig, {**FALCON, "new_decoder_architecture": True, "num_kv_heads": 2, "bias": True}
    ),
    "falcon, one after the other": Case(
        WRITES, hf.FalconConfig, {**FALCON, "parallel_attn": False, "multi_query": False}
    ),
    "falcon, ALiBi": Case(
        WRITES,
        hf.FalconConfig,
        {**FALCON, "alibi": True, "parallel_attn": False, "multi_query": False, "bias": True},
        how="sdpa",
    ),
    "falcon, ALiBi of six heads": Case(
        WRITES,
        hf.FalconConfig,
        {
            **FALCON,
            "alibi": True,
            "parallel_attn": False,
            "multi_query": False,
            "bias": True,
            "num_attention_heads": 6,
        },
        how="sdpa",
    ),
    "helium": Case(WRITES, hf.HeliumConfig, {**LLAMA, "hidden_size": 48}),
    "starcoder2": Case(
        WRITES, hf.Starcoder2Config, {**NEOX, **SHARED, "num_key_value_heads": 2, "sliding_window": 4}
    ),
    "opt": Case(
        WRITES, hf.OPTConfig, {**NEOX, **PLACES, "ffn_dim": 41, "word_embed_proj_dim": 48, "pad_token_id": 1}
    ),
    "mbart": Case(TWO, hf.MBartConfig, {**STACKS, "scale_embedding": True}),
    "pegasus": Case(TWO, hf.PegasusConfig, {**STACKS, "scale_embedding": True}),
    "m2m_100": Case(TWO, hf.M2M100Config, {**STACKS, "d_model": 36, "decoder_start_token_id": 1}),
    "mixtral": Case(WRITES, hf.MixtralConfig, MOE),
    "mixtral, one expert": Case(
        WRITES, hf.MixtralConfig, {**MOE, "num_experts_per_tok": 1, "sliding_window": 4}
    ),
    "qwen3_moe": Case(WRITES, hf.Qwen3MoeConfig, {**MOE, "moe_intermediate_size": 20}),
    "qwen3_moe, shares of the chosen": Case(
        WRITES, hf.Qwen3MoeConfig, {**MOE, "moe_intermediate_size": 20, "norm_topk_prob": True}
    ),
    "olmoe": Case(WRITES, hf.OlmoeConfig, {**MOE, **WIDTHS}),
    "olmoe, shares of the chosen": Case(
        WRITES, hf.OlmoeConfig, {**MOE, **WIDTHS, "norm_topk_prob": True, "tie_word_embeddings": True}
    ),
    "gpt_oss": Case(WRITES, hf.GptOssConfig, OSS),
    "gpt_oss, one expert": Case(
        WRITES,
        hf.GptOssConfig,
        {**OSS, "num_experts_per_tok": 1, "layer_types": ["full_attention"] * 3, "num_key_value_heads": 3},
    ),
    "bert": Case(READS, hf.BertConfig, BERT),
    "bert, body": Case(BODY, hf.BertConfig, {**BERT, "hidden_act": "gelu_new"}),
    "roberta": Case(READS, hf.RobertaConfig, ONE),
    "roberta, body": Case(BODY, hf.RobertaConfig, {**ONE, "hidden_act": "relu"}),
    "roberta, padding far": Case(READS, hf.RobertaConfig, {**BERT, "pad_token_id": 7, "type_vocab_size": 3}),
    "xlm-roberta": Case(READS, hf.XLMRobertaConfig, ONE),
    "camembert": Case(READS, hf.CamembertConfig, {**ONE, "num_attention_heads": 1}),
    "electra": Case(READS, hf.ElectraConfig, {**BERT, "embedding_size": 33}),
    "electra, narrow": Case(READS, hf.ElectraConfig, {**BERT, "embedding_size": 7}),
    "electra, body": Case(BODY, hf.ElectraConfig, {**ONE, "embedding_size": 7, "hidden_act": "relu"}),
    "mpnet": Case(READS, hf.MPNetConfig, BERT),
    "mpnet, body": Case(BODY, hf.MPNetConfig, {**BERT, "hidden_act": "relu", "num_attention_heads": 1}),
    "distilbert": Case(READS, hf.DistilBertConfig, DISTIL),
    "distilbert, body": Case(
        BODY, hf.DistilBertConfig, {**DISTIL, "sinusoidal_pos_embds": True, "n_heads": 1}
    ),
    "bert, pretraining": Case(hf.AutoModelForPreTraining, hf.BertConfig, BERT),
    "albert, pretraining": Case(hf.AutoModelForPreTraining, hf.AlbertConfig, {**BERT, "embedding_size": 7}),
    "albert": Case(READS, hf.AlbertConfig, {**BERT, "embedding_size": 7}),
    "albert, nothing shared": Case(
        BODY, hf.AlbertConfig, {**BERT, "embedding_size": 12, "num_hidden_groups": 3}
    ),
    "big_bird": Case(
        READS,
        hf.BigBirdConfig,
        {**BERT, "attention_type": "original_full", "block_size": 3, "num_random_blocks": 2},
    ),
    "deberta": Case(READS, hf.DebertaV2Config, DEBERTA),
    "deberta, microsoft's head": Case(
        READS, hf.DebertaV2Config, {**DEBERTA, "legacy": False, "max_relative_positions": 9}
    ),
    "deberta, own maps": Case(
        READS,
        hf.DebertaV2Config,
        {
            **BERT,
            "relative_attention": True,
            "pos_att_type": ["c2p", "p2c"],
            "type_vocab_size": 2,
            "max_relative_positions": 5,
        },
    ),
    "deberta, one part": Case(BODY, hf.DebertaV2Config, {**DEBERTA, "pos_att_type": ["p2c"]}),
    "modernbert": Case(READS, hf.ModernBertConfig, MODERN),
    "modernbert, turned": Case(
        READS,
        hf.ModernBertConfig,
        {
            **MODERN,
            "rope_parameters": {"full_attention": NEAR, "sliding_attention": {**NEAR, "rope_theta": 9.0}},
            "local_attention": 7,
        },
    ),
    "modernbert, body": Case(BODY, hf.ModernBertConfig, {**MODERN, "hidden_activation": "relu"}),
    "nomic_bert": Case(READS, hf.NomicBertConfig, NOMIC),
    "nomic_bert, body": Case(
        BODY, hf.NomicBertConfig, {**NOMIC, "hidden_act": "gelu", "rope_parameters": NEAR}
    ),
    "esm": Case(READS, hf.EsmConfig, ESM),
    "esm, every token counts": Case(
        READS, hf.EsmConfig, {**ESM, "token_dropout": False, "emb_layer_norm_before": True}
    ),
    "esm, table of positions": Case(BODY, hf.EsmConfig, {**ESM, "position_embedding_type": "absolute"}),
    "marian": Case(TWO, hf.MarianConfig, {**STACKS, "scale_embedding": True, "activation_function": "swish"}),
    "marian, odd": Case(
        TWO, hf.MarianConfig, {**STACKS, "d_model": 33, "encoder_layers": 1, "decoder_layers": 1}
    ),
    "marian, two depths": Case(TWO, hf.MarianConfig, {**STACKS, "encoder_layers": 3, "decoder_layers": 1}),
    "bart, two depths": Case(TWO, hf.BartConfig, {**STACKS, "encoder_layers": 1, "decoder_layers": 2}),
    "t5, two depths": Case(TWO, hf.T5Config, {**T5, "num_layers": 3, "num_decoder_layers": 1}),
    "bart": Case(TWO, hf.BartConfig, {**STACKS, "decoder_start_token_id": 1}),
    "bart, scaled": Case(
        TWO, hf.BartConfig, {**STACKS, "scale_embedding": True, "activation_function": "relu"}
    ),
    "t5": Case(TWO, hf.T5Config, T5),
    "flan-t5": Case(
        TWO, hf.T5Config, {**T5, "feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}
    ),
    "t5, long": Case(
        TWO,
        hf.T5Config,
        {**T5, "feed_forward_proj": "gelu_new", "relative_attention_max_distance": 20},
    ),
    "mt5": Case(TWO, hf.MT5Config, T5),
}
