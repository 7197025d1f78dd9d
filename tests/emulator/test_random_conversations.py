"""Random conversations with switches, cut streams and edits: the plan is always accepted.

And what the emulator refuses of the unplanned history, lint has said before.
"""

from typing import Any

from hypothesis import given, note, settings
from hypothesis import strategies as st

import innervoice as iv
from emulator.talk import TOOL, Refused, send, weather
from innervoice.emulator import Emulator
from innervoice.emulator.naive import naive_wire

MODELS = [
    "anthropic/claude-opus-5-5",
    "anthropic/claude-sonnet-4-5",
    "anthropic/claude-fable-5-1",
    "anthropic/claude-opus-5",
    "bedrock/us.anthropic.claude-sonnet-4-5-v1:0",
    "gemini/gemini-3.5-flash",
    "gemini/gemini-2.5-flash",
    "openai/gpt-5.6",
    "xai/grok-4.5",
    "deepseek/deepseek-v4-pro",
    "moonshot/kimi-k3",
    "openrouter/anthropic/claude-sonnet-4.5",
    "groq/openai/gpt-oss-120b",
    "cerebras/zai-glm-4.7",
    "mistral/mistral-small-latest",
    "minimax/MiniMax-M2",
    "cohere/command-a-reasoning-08-2025",
    "ollama/qwen3",
]
QUESTIONS = [
    "What is 17 * 3?",
    "The weather in Paris and Rome, please",
    "The weather in Oslo, then the weather in 'New York'",
]
BEHAVIOURS = ["", "", "redact", "pieces=3", "silent", "summarise", "hide"]

asks = st.fixed_dictionaries(
    {
        "step": st.just("ask"),
        "model": st.sampled_from(MODELS),
        "question": st.sampled_from(QUESTIONS),
        "stream": st.booleans(),
        "behave": st.sampled_from(BEHAVIOURS),
        "cut": st.none() | st.floats(0, 1),
        "reasoning": st.sampled_from([None, "high", "none", "low"]),
        "leave": st.booleans(),
    }
)
edits = st.fixed_dictionaries(
    {
        "step": st.sampled_from(["system", "edit", "forget", "store"]),
        "number": st.integers(0, 20),
    }
)


class Conversation:
    """One conversation with everything that happens to it."""

    def __init__(self) -> None:
        self.emulator = Emulator()
        self.history: list[iv.Message] = []
        self.system: str | None = None

    def ask(self, step: dict[str, Any]) -> None:
        self.history.append(iv.user(step["question"]))
        for round_number in range(4):
            response = self.turn(step, cut=step["cut"] if round_number == 0 else None)
            self.history.append(response.message)
            whole = [call for call in response.tool_calls if call.complete]
            if not whole or step["leave"] or response.status == "interrupted":
                return
            self.history += map(weather, whole)

    def turn(self, step: dict[str, Any], *, cut: float | None) -> iv.Response:
        model = step["model"]
        request = iv.Request(
            model,
            self.history,
            system=self.system,
            tools=[TOOL],
            stream=step["stream"],
            reasoning=step["reasoning"],
            max_tokens=4000,
        )
        self.check_lint(request)
        turn = send(self.emulator, model, iv.encode(request), behave=step["behave"])
        if cut is None or not step["stream"]:
            return turn.response
        provider, _, name = model.partition("/")
        events = iv.decode_stream(
            [turn.raw[: int(len(turn.raw) * cut)]], provider=provider, model=name, request=turn.wire
        )
        return iv.fold(events)

    def check_lint(self, request: iv.Request) -> None:
        refusal = None
        try:
            send(self.emulator, request.model, naive_wire(request))
        except Refused as refused:
            refusal = refused
        problems = iv.lint(
            request.messages,
            request.model,
            system=request.system,
            tools=request.tools,
            reasoning=request.reasoning,
            max_tokens=request.max_tokens,
        )
        note(f"unplanned: {refusal}")
        assert refusal is None or "refused" in {problem.severity for problem in problems}, refusal

    def change(self, step: dict[str, Any]) -> None:
        number = step["number"]
        match step["step"]:
            case "system":
                self.system = f"You are number {number}."
            case "store":
                self.history = iv.from_json(iv.to_json(self.history))
            case "forget":
                self.history = iv.trim(self.history, keep=1 + number % 3)
            case "edit":
                said = [n for n, item in enumerate(self.history) if item.role == "user"]
                if said:
                    self.history[said[number % len(said)]] = iv.user(f"Edited: {number} + 1")


@given(st.lists(asks | edits, min_size=1, max_size=7))
@settings(max_examples=250, deadline=None)
def test_random_conversations(steps):
    conversation = Conversation()
    for step in steps:
        if step["step"] == "ask":
            conversation.ask(step)
        else:
            conversation.change(step)
