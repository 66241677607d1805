"""What a config.json says that is not computed is refused by its name there, kind by kind."""

from __future__ import annotations

import json

import pytest
from kinds import CASES
from test_kinds_parity import saved

from core.checkpoints import open_model
from core.errors import InputError

REFUSED = {
    "llama": [
        ({"attention_bias": True}, "attention_bias"),
        ({"mlp_bias": True}, "mlp_bias"),
        ({"pretraining_tp": 2}, "pretraining_tp"),
        ({"rope_parameters": {"rope_type": "yarn", "factor": 4.0}}, "kind 'yarn'"),
        ({"rope_parameters": {"rope_type": "llama3", "factor": 4.0}}, "kind 'llama3'"),
        ({"rope_parameters": [1]}, "rope_parameters"),
        ({"rope_parameters": {"rope_type": "default", "rope_theta": "big"}}, "rope_theta="),
        ({"rope_parameters": {"rope_type": "default", "rope_theta": -1.0}}, "rope_theta="),
        ({"num_key_value_heads": 4}, "num_key_value_heads=4 does not divide"),
        ({"num_key_value_heads": 0}, "num_key_value_heads is 0"),
        ({"head_dim": 7}, "head_dim=7 must be even"),
        ({"head_dim": 10}, "has the shape"),
        ({"hidden_act": "relu2"}, "hidden_act is 'relu2'"),
        ({"tie_word_embeddings": True}, "lm_head"),
        ({"model_type": "mistral", "layer_types": ["full_attention", "sliding_attention"]}, "layer_types"),
        ({"model_type": "mistral", "layer_types": 3}, "layer_types"),
        ({"model_type": "mistral", "sliding_window": "wide"}, "sliding_window is 'wide'"),
        ({"model_type": "qwen2", "use_sliding_window": True, "max_window_layers": 2}, "max_window_layers"),
        ({"model_type": "gemma", "hidden_act": "gelu"}, "hidden_act is 'gelu'"),
        ({"model_type": "gemma", "hidden_activation": "relu"}, "hidden_activation is 'relu'"),
        ({"model_type": "gemma", "use_bidirectional_attention": True}, "use_bidirectional_attention"),
        ({"model_type": "gemma4"}, "model_type is 'gemma4'"),
        ({"model_type": "qwen2"}, "missing: layers.0.self_attn.q_proj.bias"),
        ({"model_type": "qwen3"}, "missing: layers.0.self_attn.q_norm.weight"),
    ],
    "gpt_neox": [
        ({"rope_parameters": {"rope_type": "yarn", "factor": 4.0}}, "kind 'yarn'"),
        ({"rope_parameters": [1]}, "rope_parameters"),
        ({"rope_scaling": {"type": "linear", "factor": 2.0}}, "kind 'linear'"),
        ({"rope_parameters": {"partial_rotary_factor": 2}}, "partial_rotary_factor, is 2"),
        ({"rope_parameters": {"partial_rotary_factor": "all"}}, "partial_rotary_factor, is 'all'"),
        ({"rope_parameters": {"partial_rotary_factor": 0.2}}, "d_rotary=3 must be an even number"),
        ({"rope_parameters": {"rope_theta": -1.0}}, "=-1.0 must be a positive number"),
        ({"hidden_act": "relu2"}, "hidden_act is 'relu2'"),
        ({"use_parallel_residual": "yes"}, "use_parallel_residual is 'yes'"),
        ({"attention_bias": False}, "left over"),
        ({"tie_word_embeddings": True}, "embed_out.weight"),
        ({"num_attention_heads": 5}, "num_attention_heads=5"),
        ({"num_hidden_layers": 10**9}, "num_hidden_layers"),
        ({"add_cross_attention": True}, "add_cross_attention"),
    ],
    "gpt_neo": [
        ({"attention_types": [[["global"], 1]]}, "attention_types names 1 layers, num_layers 2"),
        ({"attention_types": [[["global", "local"], 10**9]]}, "attention_types"),
        ({"attention_types": [[["global", "dilated"], 1]]}, "attention_types"),
        ({"attention_types": "global"}, "attention_types is 'global'"),
        ({"attention_types": [["global", 2]]}, "attention_types"),
        ({"attention_types": {"global": 2}}, "attention_types"),
        ({"attention_types": 3}, "attention_types is 3"),
        ({"attention_types": []}, "attention_types names 0 layers"),
        ({"window_size": 0}, "window_size is 0"),
        ({"activation_function": "swish"}, "activation_function is 'swish'"),
        ({"intermediate_size": 42}, "has the shape"),
        ({"add_cross_attention": True}, "add_cross_attention"),
    ],
    "gemma2": [
        ({"attn_logit_softcapping": 0.0}, "attn_logit_softcapping is 0.0"),
        ({"final_logit_softcapping": -3}, "final_logit_softcapping is -3"),
        ({"query_pre_attn_scalar": 0}, "query_pre_attn_scalar is 0"),
        ({"sliding_window": 0}, "sliding_window is 0"),
        ({"layer_types": ["full_attention"] * 2}, "layer_types is"),
        ({"layer_types": ["full_attention", "chunked_attention", "full_attention"]}, "layer_types is"),
        ({"layer_types": 3}, "layer_types is 3"),
        ({"attention_bias": True}, "attention_bias"),
        ({"use_bidirectional_attention": True}, "use_bidirectional_attention"),
        ({"hidden_activation": "relu"}, "hidden_activation is 'relu'"),
        ({"rope_parameters": {"rope_type": "yarn", "factor": 4.0}}, "kind 'yarn'"),
        ({"model_type": "gemma3_text", "attn_logit_softcapping": 3.0}, "attn_logit_softcapping is 3.0"),
        ({"model_type": "gemma3_text", "attn_logit_softcapping": None}, "rope_parameters names"),
        (
            {
                "model_type": "gemma3_text",
                "attn_logit_softcapping": None,
                "rope_parameters": {"full_attention": {"rope_type": "yarn"}},
            },
            "kind 'yarn'",
        ),
        (
            {
                "model_type": "gemma3_text",
                "attn_logit_softcapping": None,
                "rope_parameters": {"sliding_attention": {"rope_type": "linear", "factor": 8.0}},
            },
            "kind 'linear'",
        ),
        ({"model_type": "gemma3"}, "its kind is gemma3, which is not read"),
        ({"model_type": "gemma"}, "left over"),
    ],
    "modernbert": [
        *(({name: True}, name) for name in ("attention_bias", "mlp_bias", "norm_bias", "classifier_bias")),
        ({"decoder_bias": False}, "decoder_bias"),
        ({"classifier_activation": "relu"}, "classifier_activation is 'relu'"),
        ({"hidden_activation": "swish"}, "hidden_activation is 'swish'"),
        ({"local_attention": 1}, "local_attention is 1"),
        ({"layer_types": ["full_attention"]}, "layer_types is"),
        ({"rope_parameters": {"full_attention": {"rope_type": "linear", "factor": 2.0}}}, "kind 'linear'"),
        ({"rope_parameters": {"sliding_attention": {"rope_type": "yarn"}}}, "kind 'yarn'"),
        ({"rope_parameters": {"full_attention": {"rope_theta": "big"}}}, "rope_theta="),
        ({"num_attention_heads": 2}, "d_head=15, which must be even"),
        ({"tie_word_embeddings": False}, "tie_word_embeddings"),
    ],
    "roberta": [
        ({"pad_token_id": -1}, "pad_token_id is -1"),
        ({"pad_token_id": 60}, "max_position_embeddings is 61 and pad_token_id is 60"),
        ({"pad_token_id": "1"}, "pad_token_id is '1'"),
        ({"position_embedding_type": "relative_key"}, "position_embedding_type"),
        ({"is_decoder": True}, "is_decoder"),
        ({"hidden_act": "gelu_new"}, "hidden_act"),
        ({"type_vocab_size": 10**6}, "type_vocab_size"),
        ({"model_type": "mpnet", "relative_attention_num_buckets": 8}, "relative_attention_num_buckets is 8"),
        ({"model_type": "mpnet", "pad_token_id": 0}, "pad_token_id is 0"),
        ({"model_type": "electra", "embedding_size": 0}, "embedding_size is 0"),
        ({"model_type": "electra", "embedding_size": 10**9}, "embedding_size is 1000000000"),
        ({"model_type": "bert"}, "missing: embeddings.word_embeddings"),
        ({"model_type": "distilbert"}, "missing: embeddings"),
        ({"model_type": "absent", "architectures": ["RobertaPreLayerNormModel"]}, "RobertaPreLayerNorm"),
    ],
    "deberta": [
        ({"relative_attention": False}, "relative_attention"),
        ({"conv_kernel_size": 3}, "conv_kernel_size is 3"),
        ({"embedding_size": 7}, "embedding_size is 7"),
        ({"attention_head_size": 7}, "attention_head_size is 7"),
        ({"pos_att_type": "c2p|p2p"}, "pos_att_type is"),
        ({"pos_att_type": []}, "to_place=False and from_place=False"),
        ({"pos_att_type": 3}, "pos_att_type is 3"),
        ({"norm_rel_ebd": "batch_norm"}, "norm_rel_ebd is 'batch_norm'"),
        ({"position_buckets": 3}, "position_buckets=3"),
        ({"position_buckets": -2}, "position_buckets is -2"),
        ({"position_buckets": 6}, "has the shape"),
        ({"share_att_key": False}, "missing: encoder.layer.0.attention.self.pos_key_proj.weight"),
        ({"position_biased_input": True}, "missing: embeddings.position_embeddings.weight"),
        ({"is_decoder": True}, "is_decoder"),
        ({"tie_word_embeddings": False}, "tie_word_embeddings"),
    ],
    "t5": [
        ({"num_decoder_layers": 1}, "left over: decoder.block.1"),
        ({"num_decoder_layers": 10**6}, "num_decoder_layers is 1000000"),
        ({"feed_forward_proj": "gated-magic"}, "feed_forward_proj is 'gated-magic'"),
        ({"feed_forward_proj": "gated-relu"}, "missing"),
        ({"is_encoder_decoder": False}, "left over: decoder.block.0"),
        ({"relative_attention_num_buckets": 7}, "relative_attention_num_buckets=7"),
        ({"relative_attention_num_buckets": 10**9}, "relative_attention_num_buckets is 1000000000"),
        ({"relative_attention_max_distance": 3}, "relative_attention_max_distance=3"),
        ({"d_kv": 9}, "has the shape"),
        ({"d_kv": "8"}, "d_kv is '8'"),
        ({"n_positions": 0}, "n_positions is 0"),
        ({"scale_decoder_outputs": "yes"}, "scale_decoder_outputs is 'yes'"),
    ],
    "marian": [
        ({"decoder_layers": 1}, "left over: decoder.layers.1"),
        ({"decoder_attention_heads": 1}, "decoder_attention_heads is 1"),
        ({"decoder_ffn_dim": 10**9}, "decoder_ffn_dim is 1000000000"),
        ({"encoder_layers": 10**6, "decoder_layers": 10**6}, "encoder_layers is 1000000"),
        ({"normalize_before": True}, "normalize_before"),
        ({"add_final_layer_norm": True}, "add_final_layer_norm"),
        ({"normalize_embedding": "maybe"}, "normalize_embedding is 'maybe'"),
        ({"static_position_embeddings": 1}, "static_position_embeddings is 1"),
        ({"is_encoder_decoder": False}, "is_encoder_decoder is False"),
        ({"activation_function": "gelu_new2"}, "activation_function"),
        ({"scale_embedding": "yes"}, "scale_embedding"),
        ({"max_position_embeddings": 2**20, "d_model": 3 * 2**11}, "positions"),
        ({"model_type": "bert"}, "is_encoder_decoder"),
    ],
    "big_bird": [
        ({"use_bias": False}, "use_bias"),
        ({"rescale_embeddings": True}, "rescale_embeddings"),
        ({"attention_type": "dense"}, "attention_type"),
        ({"block_size": 0}, "block_size"),
        ({"block_size": 4096}, "block_size"),
        ({"num_random_blocks": -1}, "num_random_blocks"),
        ({"is_decoder": True}, "is_decoder"),
    ],
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_computed_is_refused_by_name(name, tmp_path):
    saved(CASES[name], tmp_path)
    good = json.loads((tmp_path / "config.json").read_text())
    for change, words in REFUSED[name]:
        held = {name: value for name, value in {**good, **change}.items() if value != "absent"}
        (tmp_path / "config.json").write_text(json.dumps(held))
        with pytest.raises(InputError) as error:
            open_model(tmp_path)
        assert words in str(error.value), (change, str(error.value))
