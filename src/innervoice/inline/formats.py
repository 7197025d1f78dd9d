"""The vocabulary: the markup that models write around their reasoning, one row per format.

The eight names of `DEFAULT_TAGS` are on wherever text is split; every other row is switched on by a
model's card or by `markup=[name]`. A row has some of

  tags      names of tags; they behave like the default ones (any case, attributes, namespaces)
  opens     text that opens reasoning          closes   text that closes it
  heads     openers that count only at the head of the answer
  wrappers  text around the answer, removed
  headers   text that announces what follows it; `channel` finds its name in the header, `kinds`
            maps that name to thinking, text, or a call
  ends      text that ends what a header began

Markers are templates, see `pattern.py`. Where a row is on: `catalog/markup.toml`. Sources, read in
August 2026, by short name: vllm and sglang (the reasoning parsers of the inference servers), openwebui
(the default list of the Open WebUI middleware), tzurot (the extraction of a chat bot), litellm and
any-llm (client libraries), harmony (OpenAI's description of the gpt-oss format).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from innervoice.inline.pattern import Pattern

__all__ = ["DEFAULT_TAGS", "ROWS", "Format", "Kind"]

Kind: TypeAlias = Literal["thinking", "text", "call"]

DEFAULT_TAGS = (
    "think",
    "thinking",
    "ant_thinking",
    "antThinking",
    "reasoning",
    "thought",
    "reflection",
    "scratchpad",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """One format."""

    name: str
    models: str
    """The models that write it."""
    source: str
    tags: tuple[str, ...] = ()
    opens: tuple[str, ...] = ()
    closes: tuple[str, ...] = ()
    heads: tuple[str, ...] = ()
    wrappers: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    ends: tuple[str, ...] = ()
    channel: str = ""
    """Regular expression that finds the channel's name in a header."""
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    otherwise: Kind = "text"
    """The kind of a channel that `kinds` does not name."""
    recipient: str | None = None
    """Regular expression that finds a recipient in a header, which makes it a call."""
    paired: bool = False
    """Whether its closers count only after an opener of this row; elsewhere they are ordinary XML."""
    label: bool = False
    """Whether a head opener that nothing closes is only a label, and what follows is the answer."""
    bare_heads: tuple[Pattern, ...] = ()
    bare_headers: tuple[Pattern, ...] = ()
    """The headers that are left when a server has removed the special tokens."""
    bare_label: str = ""
    """Regular expression for a header at the head of the answer that counts only if another bare header follows."""


def _begun(word: str, rest: str = "") -> str:
    """A regular expression for every beginning of a word, and for what may follow it."""
    for character in reversed(word[1:]):
        rest = f"(?:{character}{rest})?"
    return word[0] + rest


_CHANNELS = (
    "<|channel|>{header}<|constrain|>{header}<|message|>",
    "<|channel|>{header}<|message|>",
)
_CHANNELS_OF_TURNS = (
    *(f"<|start|>{{header}}{channel}" for channel in _CHANNELS),
    "<|start|>{header}<|message|>",
    *_CHANNELS,
)
_BARE_CALL = r" to=[\w.]{1,80}?(?: ?json)?(?=[^\w. ])"


def _bare_header(spell: Callable[[str], str]) -> Pattern:
    """`<|start|>assistant<|channel|>final<|message|>` without its tokens, in lower or in upper case."""
    start, final, analysis, commentary = map(
        spell, ("assistant", "final", "analysis", "commentary")
    )
    call = _begun(f"{start}{commentary} to=", r"[\w.]{0,80} ?\w{0,4}")
    return Pattern(
        rf"{start}(?:{final}|{analysis}|{commentary}(?:{_BARE_CALL}|(?=[^ ]| [A-Z])))",
        rf"(?:{_begun(start + final)}|{_begun(start + analysis)}|{call})\Z",
    )


_K3_CHANNELS: Mapping[str, Kind] = {
    "think": "thinking",
    "response": "text",
    "message": "text",
    "tools": "call",
}

_ALL = (
    Format(
        name="reason",
        models="unknown",
        source="openwebui",
        tags=("reason",),
    ),
    Format(
        name="field_names",
        models="none known; libraries that use their field names as tag names",
        source="any-llm",
        tags=("reasoning_content", "chain_of_thought"),
    ),
    Format(
        name="hermes",
        models="Hermes 3 and 4 harnesses; too common as plain words to be on by default",
        source="tzurot and a public Hermes harness",
        tags=("inner_monologue", "plan", "execution", "solution", "explanation", "unit_test"),
    ),
    Format(
        name="glm_leaks",
        models="GLM-4.5-Air and 4.7, leaking training data",
        source="tzurot",
        tags=("character_analysis", "understanding"),
    ),
    Format(
        name="glm_echoes",
        models="GLM-4.5-Air and 4.7, repeating the scaffolding of the prompt before they think",
        source="tzurot",
        heads=(
            "<from_id>{uuid}</from_id>{blank}<user>{inside}</user>{blank}<message>",
            "<user>{inside}</user>{blank}<character>{inside}</character>{blank}<analysis>",
            "<character>{inside}</character>{blank}<user>{inside}</user>{blank}<analysis>",
            "<character>{inside}</character>{blank}<analysis>",
            "<user>{inside}</user>{blank}<analysis>",
        ),
        closes=("</message>", "</analysis>"),
        paired=True,
        wrappers=("<from_id>{uuid}</from_id>",),
    ),
    Format(
        name="suffixed",
        models="Tencent hy_v3, whose tokenizer adds a suffix to the tag",
        source="vllm",
        tags=(r"think[\w-]{1,40}",),
    ),
    Format(
        name="mistral",
        models="Magistral 2507 and later, Ministral 3, Mistral Small 4",
        source="vllm",
        opens=("[THINK]",),
        closes=("[/THINK]",),
    ),
    Format(
        name="kimi_vl",
        models="Kimi-VL and the first Kimi models",
        source="sglang",
        opens=("◁think▷",),
        closes=("◁/think▷",),
    ),
    Format(
        name="openthinker",
        models="OpenThinker, Sky-T1",
        source="openwebui",
        opens=("<|begin_of_thought|>",),
        closes=("<|end_of_thought|>",),
        wrappers=("<|begin_of_solution|>", "<|end_of_solution|>"),
    ),
    Format(
        name="thought_tokens",
        models="small models tuned on data sets with tokens of their own",
        source="data set cards on Hugging Face, 2026-11-15",
        opens=("<|thought_start|>", "<|think_start|>", "<|thinking_start|>", "<|reasoning_start|>"),
        closes=("<|thought_end|>", "<|think_end|>", "<|thinking_end|>", "<|reasoning_end|>"),
    ),
    Format(
        name="cohere",
        models="Command A reasoning, Command A+",
        source="vllm, sglang",
        opens=("<|START_THINKING|>",),
        closes=("<|END_THINKING|>",),
        wrappers=("<|START_RESPONSE|>", "<|END_RESPONSE|>", "<|START_TEXT|>", "<|END_TEXT|>"),
    ),
    Format(
        name="apertus",
        models="Apertus 2509",
        source="sglang",
        opens=("<|inner_prefix|>",),
        closes=("<|inner_suffix|>",),
    ),
    Format(
        name="harmony",
        models="gpt-oss",
        source="harmony, vllm; without special tokens: sglang",
        headers=(
            *_CHANNELS_OF_TURNS,
            # The recipient first: `<|start|>assistant` was in the prompt.
            *(f"to={{target}}{{blank}}{channel}" for channel in _CHANNELS),
            # A stray word between two calls.
            *(f"<|call|>{{blank}}commentary{{blank}}{header}" for header in _CHANNELS_OF_TURNS),
            *(f"<|call|>{{blank}}assistant{{blank}}{header}" for header in _CHANNELS_OF_TURNS),
        ),
        ends=("<|end|>", "<|return|>", "<|call|>", "<|im_end|>"),
        channel=r"(?:<\|channel\|>\s*|^assistant|^)(\w+)",
        kinds={"analysis": "thinking", "commentary": "text", "final": "text"},
        recipient=r"\bto=([\w.]+)",
        # Left of `<|channel|>analysis<|message|>We need` when the tokens are gone: `analysisWe need`.
        bare_heads=(
            Pattern(r"analysis(?=[^\sa-z]| [A-Z])", _begun("analysis ") + r"\Z"),
            Pattern(
                rf"commentary{_BARE_CALL}",
                _begun("commentary to=", r"[\w.]{0,80} ?\w{0,4}") + r"\Z",
            ),
        ),
        bare_headers=(_bare_header(str.lower), _bare_header(str.upper)),
        bare_label=r"analysis(?=\s)|commentary(?=\s)|ANALYSIS(?=\s)|COMMENTARY(?=\s)",
    ),
    Format(
        name="gemma",
        models="Gemma 4",
        source="vllm, sglang; the label also leads answers without reasoning",
        opens=("<|channel>thought", "<|channel>"),
        closes=("<channel|>",),
        heads=("thought\n",),
        label=True,
    ),
    Format(
        name="kimi_k3",
        models="Kimi K3",
        source="vllm",
        headers=("<|open|>{blank}{word}{blank}<|sep|>",),
        ends=(
            "<|close|>{blank}{word}{blank}<|sep|>",
            *(f"<|close|>{{blank}}{name}{{blank}}<|sep|>" for name in _K3_CHANNELS),
            *(
                f"<|close|>{{blank}}{name}" for name in _K3_CHANNELS
            ),  # some answers lack the last token
        ),
        channel=r"<\|open\|>\s*(\w+)",
        kinds=_K3_CHANNELS,
    ),
    Format(
        name="inkling",
        models="Inkling",
        source="vllm",
        headers=(
            "<|message_model|>{blank}<|content_{word}|>",
            "<|message_model|>{header}<|content_{word}|>",
            "<|content_{word}|>",  # `<|message_model|>` was in the prompt
        ),
        ends=("<|end_message|>", "<|content_model_end_sampling|>"),
        channel=r"<\|content_(\w+)",
        kinds={"thinking": "thinking", "text": "text", "tool_error": "text"},
        otherwise="call",
    ),
    Format(
        name="muse",
        models="Muse Glimmer",
        source="vllm",
        headers=("to={word}<|message|>",),
        ends=("<|eom|>", "<|eot|>"),
        channel=r"to=(\w+)",
        kinds={"self": "thinking", "user": "text"},
        otherwise="call",
    ),
    Format(
        name="granite",
        models="IBM Granite 3.2",
        source="vllm",
        opens=("Here is my thought process:", "Here's my thought process:"),
        closes=("Here is my response:", "Here's my response:"),
    ),
    Format(
        name="answer",
        models="Hunyuan A13B, models trained with <reasoning> and <answer>",
        source="vllm",
        wrappers=("<answer>", "</answer>"),
    ),
    Format(
        name="response",
        models="Ernie 4.5 thinking, Granite 3.3",
        source="vllm",
        wrappers=("<response>", "</response>"),
    ),
    Format(
        name="lmstudio",
        models="any model of LM Studio asked for structured output",
        source="any-llm",
        closes=("__LM_STUDIO_INTERNAL_LSEP_SYNTHETIC_REASONING_END_{hex}__",),
    ),
)

ROWS: Mapping[str, Format] = {row.name: row for row in _ALL}
