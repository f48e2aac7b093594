"""Writes a model file of 300 kB with random weights, which never stops by itself: its 100 words are far more likely
than the token that ends an answer. Run as a program, with the path, by a Python that has the `gguf` package."""

from __future__ import annotations

import sys
from typing import Any

import numpy
from gguf import GGUFWriter

WIDTH, HEADS, HIDDEN, WORDS = 64, 4, 128, 100
TEMPLATE = "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}assistant:"
TOKENS = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *(f"▁word{n}" for n in range(WORDS))]
TYPES = [2, 3, 3, *[6] * 256, *[1] * WORDS]
"""Unknown, control, byte and normal tokens, in the numbers of the format."""


def write(path: str) -> None:
    """The model, of one layer."""
    chance = numpy.random.default_rng(7)
    writer = GGUFWriter(path, "llama")
    writer.add_context_length(32_768)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(1)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_vocab_size(len(TOKENS))
    writer.add_tokenizer_model("llama")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(TOKENS)
    writer.add_token_scores([0.0] * len(TOKENS))
    writer.add_token_types(TYPES)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_chat_template(TEMPLATE)

    def add(name: str, *shape: int, spread: float = 0.05) -> Any:
        weights = chance.normal(0, spread, shape).astype(numpy.float32)
        if name.endswith("norm"):
            weights[:] = 1
        if name == "output":
            weights[:-WORDS] = 0
        writer.add_tensor(f"{name}.weight", weights)

    add("token_embd", len(TOKENS), WIDTH)
    add("output_norm", WIDTH)
    add("output", len(TOKENS), WIDTH, spread=5)
    for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
        add(f"blk.0.{name}", WIDTH, WIDTH)
    add("blk.0.attn_norm", WIDTH)
    add("blk.0.ffn_norm", WIDTH)
    add("blk.0.ffn_gate", HIDDEN, WIDTH)
    add("blk.0.ffn_up", HIDDEN, WIDTH)
    add("blk.0.ffn_down", WIDTH, HIDDEN)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    write(sys.argv[1])
