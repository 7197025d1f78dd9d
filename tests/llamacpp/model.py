"""A model of 0.7 MB that llama.cpp runs: it thinks "Let me add two and two." and says "It is four.", whatever it is asked.

The embedding of each token is a vector of its own, and the output layer says which token comes after it; attention adds nothing. So the words are
known, and all else is real: the server, its templates, parsers, limits and errors.
"""

import sys
from itertools import pairwise
from pathlib import Path

import gguf
import numpy as np

OPEN, CLOSE, END, NEW_LINE, TWO_LINES = "<think>", "</think>", "<|im_end|>", "Ċ", "\n\n"
THOUGHT = ("Let", " me", " add", " two", " and", " two.")
ANSWER = ("It", " is", " four.")
CHAIN = (NEW_LINE, OPEN, *THOUGHT, CLOSE, TWO_LINES, *ANSWER, END)
"""What follows what: a turn of the assistant begins behind a line break."""
HEADS = 32


def bytes_as_tokens():
    """The characters that stand for single bytes in the tokenizer of GPT-2."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [byte for byte in range(256) if byte not in shown]
    return [
        *map(chr, shown),
        *(chr(256 + number) for number in range(len(hidden))),
    ]


def write(path, template):
    names = bytes_as_tokens()
    kinds = [gguf.TokenType.NORMAL] * len(names)
    for name in ("<|im_start|>", END, OPEN, CLOSE, TWO_LINES, *dict.fromkeys((*THOUGHT, *ANSWER))):
        names.append(name)
        # Words are found in texts as they are: what is sent back has the tokens that were written.
        is_control = name.startswith("<|")
        kinds.append(gguf.TokenType.CONTROL if is_control else gguf.TokenType.USER_DEFINED)
    number = {name: index for index, name in enumerate(names)}
    width = -(-len(names) // HEADS) * HEADS
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("two and two")
    writer.add_context_length(4096)
    writer.add_embedding_length(width)
    writer.add_block_count(1)
    writer.add_feed_forward_length(HEADS)
    writer.add_head_count(1)
    writer.add_head_count_kv(1)
    writer.add_key_length(HEADS)
    writer.add_value_length(HEADS)
    writer.add_rope_dimension_count(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(names))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(names)
    writer.add_token_types(kinds)
    writer.add_token_merges(["Ċ Ċ"])
    writer.add_bos_token_id(number[END])
    writer.add_eos_token_id(number[END])
    writer.add_add_bos_token(False)
    writer.add_chat_template(template)
    embedding = np.zeros((len(names), width), np.float32)
    embedding[np.arange(len(names)), np.arange(len(names))] = 1
    following = np.zeros((len(names), width), np.float32)
    following[number[END], :] = 0.5  # after anything else
    for token, after in pairwise(CHAIN):
        following[number[after], number[token]] = 3
    shapes = {
        "attn_q": (HEADS, width),
        "attn_k": (HEADS, width),
        "attn_v": (HEADS, width),
        "attn_output": (width, HEADS),
        "ffn_gate": (HEADS, width),
        "ffn_up": (HEADS, width),
        "ffn_down": (width, HEADS),
    }
    writer.add_tensor("token_embd.weight", embedding)
    writer.add_tensor("output.weight", following)
    for name in ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"):
        writer.add_tensor(f"{name}.weight", np.ones(width, np.float32))
    for name, shape in shapes.items():
        writer.add_tensor(f"blk.0.{name}.weight", np.zeros(shape, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    write(sys.argv[1], Path(sys.argv[2]).read_text("utf-8"))
