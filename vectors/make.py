"""Writes the test vectors anew: inputs with their hints, and what reasoning and answer they hold.

Run it from the project's folder: .venv/bin/python vectors/make.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import innervoice as iv
from innervoice.inline.formats import ROWS

FILE = Path(__file__).with_name("inline.json")

# Rule, why it is here, the text, and hints for the splitter.
INPUTS: list[tuple[str, str, str, dict[str, Any]]] = [
    ("S1", "a pair of tags", "<think>R</think>A", {}),
    ("S1", "any letter case", "<THINK>R</Think>A", {}),
    ("S1", "attributes and blanks", '<thinking mode="deep" >R</thinking >A', {}),
    ("S1", "a namespace", "<mm:think>R</mm:think>A", {}),
    ("S1", "every other name", "<reasoning>a</reasoning><thought>b</thought><reflection>c</reflection><scratchpad>d</scratchpad>A", {}),
    ("S1", "a name that is none", "<thinker>R</thinker>A", {}),
    ("S1", "a tag longer than 256 characters is text", f"<think {'x' * 300}>A", {}),
    ("S1", "an empty tag with a slash is text", "<think/>A", {}),
    ("S2", "several pairs", "<think>a</think>One<think>b</think>Two", {}),
    ("S2", "a closer of another name", "<think>R</thinking>A", {}),
    ("S2", "an opener of another name inside is text", "<think>a <thought> b</think>A", {}),
    ("S2", "JSON is left alone", '{"a": "<think>R</think>"}', {}),
    ("S2", "a JSON array is left alone", '[{"a": "<think>R</think>"}]', {}),
    ("S2", "a link is not a JSON array", "[a page](x) <think>R</think> and more", {}),
    ("S2", "a pair in prose", "He said <think>R</think> and left.", {}),
    ("S3", "a code span", "Use `<think>` and `</think>`.", {}),
    ("S3", "a fence", "```\n<think>R</think>\n```\nA", {}),
    ("S3", "tildes", "~~~\n<think>R</think>\n~~~\nA", {}),
    ("S3", "a fence that never closes", "```\n<think>R</think>", {}),
    ("S3", "a longer fence around a shorter one", "````\n```\n<think>R</think>\n```\n````", {}),
    ("S3", "a backtick that its line never closes", "It's `odd <think>R</think>A\nnext line", {}),
    ("S3", "code inside thinking is not tracked", "<think>use `</think>A`", {}),
    ("S4", "never closed, at the head", "  <think>R only", {}),
    ("S4", "never closed, in mid-text", "A <think>not closed", {}),
    ("S5", "a closer alone, long enough before it", "I should look at this carefully first.</think>A", {}),
    ("S5", "a closer alone, too little before it", "R</think>A", {}),
    ("S5", "a closer alone, of a tag that the model's card names", "Simple sum.</think>4", {"model": "qwen3:8b"}),
    ("S5", "a closer alone, of another tag", "Simple sum.</reasoning>4", {"model": "qwen3:8b"}),
    ("S5", "the prompt opened the tag", "R</think>A", {"prefix_open": True}),
    ("S5", "the prompt opened it, and it never closed", "R only", {"prefix_open": True}),
    ("S5", "a model whose prompt opens it", "R\n</think>\n\nA", {"model": "qwq-32b"}),
    ("S5", "such a model that did not think", "A plain answer.", {"model": "qwq-32b", "finish_reason": "stop"}),
    ("S6", "a repeated opener and its spare closer", "<think>a<think>b</think>c</think>d", {}),
    ("S6", "a doubled opener", "<think><think>a</think>b", {}),
    ("S6", "a spare closer", "<think>R</think>A</think> and more", {}),
    ("S7", "white space at the head", "<think>R</think>\n\n    indented\nA", {}),
    ("S7", "words are not glued", "one<think>R</think>two", {}),
    ("S7", "punctuation needs no blank", "one<think>R</think>, two", {}),
    ("S7", "white space at the end", "A\n\n<think>R</think>\n", {}),
    ("S8", "a call ends thinking that is never closed", '<think>R<tool_call>{"name": "f"}</tool_call>', {"model": "qwen3:8b"}),
    ("S8", "a call that was only drafted", '<think>R<tool_call>{"name": "f"}</tool_call> no</think>A', {"model": "qwen3:8b"}),
    ("S9", "the second message of a tool loop", "still thinking</think>A", {"prefix_open": True}),
    ("S10", "switched off", "<think>R</think>A", {"inline": "off"}),
    ("S4", "a byte order mark is blank", "\ufeff<think>R only", {}),
    ("I8", "many openers", "<think>" * 50 + "R</think>A", {}),
    ("I9", "a lone surrogate", "<think>\ud83d</think>A", {}),
    ("-", "nothing at all", "", {}),
    ("-", "only white space", " \n ", {}),
    ("-", "half a tag at the end", "A <thi", {}),
    ("-", "half a control token where the limit cut the text off", "<|channel|>analysis<|message|>R<|end|><|start|>assi", {"markup": ["harmony"], "finish_reason": "length"}),
    ("-", "half a control token whatever ended the text", "<|channel|>final<|message|>A<|retu", {"markup": ["harmony"], "finish_reason": "stop"}),
    ("S3", "half a control token in a fence is text", "```\n<|retu", {"markup": ["harmony"]}),
    ("S1", "a stray word between a call and the answer", "<|channel|>commentary to=f<|message|>{}<|call|>commentary<|start|>assistant<|channel|>final<|message|>A", {"markup": ["harmony"]}),
    ("S1", "a preamble without its control tokens is text", "commentary I will look. assistantfinal A", {"markup": ["harmony"]}),
    ("S1", "reasoning without its control tokens, after a blank", "analysis We need 4. assistantfinal A", {"markup": ["harmony"]}),
    ("S1", "reasoning without its control tokens, in upper case", "ANALYSIS we need 4. ASSISTANTFINAL A", {"markup": ["harmony"]}),
    ("S1", "an answer that begins with the name of a channel", "analysis shows that A", {"markup": ["harmony"]}),
    ("S1", "a closer without its last token", "<|open|>think<|sep|>R<|close|>think<|open|>response<|sep|>A", {"markup": ["kimi_k3"]}),
    ("-", "an emoji at every edge", "🙂<think>🙂</think>🙂", {}),
]  # fmt: skip
# A text in each further format that the vocabulary has.
SAMPLES = {
    "mistral": "[THINK]R[/THINK]A",
    "kimi_vl": "◁think▷R◁/think▷A",
    "openthinker": "<|begin_of_thought|>R<|end_of_thought|>\n\n<|begin_of_solution|>A<|end_of_solution|>",
    "thought_tokens": "<|thought_start|>R<|thought_end|>\n\nA",
    "cohere": "<|START_THINKING|>R<|END_THINKING|><|START_RESPONSE|>A<|END_RESPONSE|>",
    "apertus": "<|inner_prefix|>R<|inner_suffix|>A",
    "harmony": "<|channel|>analysis<|message|>R<|end|><|start|>assistant<|channel|>final<|message|>A<|return|>",
    "glm_echoes": "<user>Ann</user><analysis>R</analysis>A",
    "gemma": "<|channel>thought\nR<channel|>A",
    "kimi_k3": "<|open|>think<|sep|>R<|close|>think<|sep|><|open|>response<|sep|>A<|close|>response<|sep|>",
    "inkling": "<|message_model|><|content_thinking|>R<|end_message|><|message_model|><|content_text|>A<|end_message|>",
    "muse": "to=self<|message|>R<|eom|>to=user<|message|>A<|eot|>",
    "granite": "Here is my thought process: R Here is my response: A",
    "answer": "<reasoning>R</reasoning><answer>A</answer>",
    "response": "<think>R</think><response>A</response>",
    "lmstudio": "A thought that is long enough.__LM_STUDIO_INTERNAL_LSEP_SYNTHETIC_REASONING_END_0a1b2c__A",
    "reason": "<reason>R</reason>A",
}


def vectors() -> list[dict[str, Any]]:
    """Every vector."""
    formats: list[tuple[str, str, str, dict[str, Any]]] = [
        ("S1", ROWS[name].models, text, {"markup": [name]}) for name, text in SAMPLES.items()
    ]
    return [_vector(*entry) for entry in (*INPUTS, *formats)]


def _vector(rule: str, why: str, text: str, hints: dict[str, Any]) -> dict[str, Any]:
    result = iv.split(text, **hints)
    return {
        "rule": rule,
        "why": why,
        "input": text,
        "hints": hints,
        "text": result.text,
        "thinking": result.thinking,
        "parts": [
            {"type": part.type, "text": getattr(part, "text", None), "complete": part.complete}
            for part in result.parts
        ],
        "notes": [note.code for note in result.notes],
    }


def page() -> str:
    """The file as it should be."""
    lines = (json.dumps(vector, ensure_ascii=True) for vector in vectors())
    return "[\n" + ",\n".join(lines) + "\n]\n"


if __name__ == "__main__":
    FILE.write_text(page(), "utf-8")
