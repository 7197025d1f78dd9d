"""Each way of the official SDKs to lead a tool loop, through the gateway to five kinds of models, by programs that keep reasoning and that drop it.

By default a covering selection: each program with each model, and each of whole, streamed, keeps and drops with each program and each model.
`scripts/test sdk-matrix` runs all of it.
"""

import os
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from gateway.harness import UPSTREAMS
from gateway.witness import Witness, noted, proofs, reasoning_is_back
from innervoice.client.embedded import embedded_async_http
from innervoice.emulator.routes import base_urls
from innervoice.gateway.app import Gateway, create_app
from innervoice.gateway.config import GatewayConfig, NamedModel
from innervoice.gateway.in_thread import GatewayInThread
from sdk import helper_loops
from sdk.loops import ANSWER, CALLS, unchanged
from sdk.test_emulator_loops import CONVERSE, OPUS, claude_loop, converse_loop, without_thinking
from sdk.test_emulator_loops_chat import chat_loop, responses_loop, without_reasoning
from sdk.test_emulator_loops_others import cohere_loop, gemini_loop, mistral_loop, ollama_loop
from sdk.test_gateway_loops import Behind
from sdk.test_interactions import REFUSED, interactions_loop

pytestmark = pytest.mark.filterwarnings("ignore:The model 'claude:DeprecationWarning")

MODELS = {
    "claude": "anthropic/claude-opus-5-5",
    "gpt": "openai/gpt-5.6",
    "gemini": "gemini/gemini-3.5-flash",
    "deepseek": "deepseek/deepseek-v4-pro",
    "minimax": "minimax/MiniMax-M3",  # its reasoning is in tags
}
_STAND_INS = {"signature_filled", "reasoning_filled", "thinking_omitted", "reasoning_off_for_loop", "recovered_after_refusal", "turn_not_stored", "envelope_unreadable", "envelope_outdated"}  # fmt: skip
"""Notes of what takes the place of reasoning, or is sent without it."""


# ---- what programs send that know nothing of reasoning -----------------------------------------------


def plain_items(items):
    return [item for item in items if isinstance(item, dict) or item.type != "reasoning"]


def plain_contents(contents):
    plain = [
        content.model_copy(
            update={
                "parts": [
                    part.model_copy(update={"thought_signature": None})
                    for part in content.parts
                    if not part.thought
                ]
            }
        )
        for content in contents
    ]
    return [content for content in plain if content.parts]


def plain_blocks(messages):
    return [
        {**message, "content": [block for block in message["content"] if "reasoningContent" not in block]}
        for message in messages
    ]  # fmt: skip


def plain_chunks(messages):
    """Mistral's and Cohere's turns without their thinking."""
    return [
        message
        if isinstance(message, dict)
        else {
            "role": "assistant",
            "content": "".join(chunk.text for chunk in message.content or () if chunk.type == "text")
            if not isinstance(message.content, str)
            else message.content,
            **({"tool_calls": message.tool_calls} if message.tool_calls else {}),
        }
        for message in messages
    ]  # fmt: skip


def plain_words(messages):
    return [
        message if isinstance(message, dict) else message.model_copy(update={"thinking": None})
        for message in messages
    ]


# ---- the programs -------------------------------------------------------------------------------------


class Program(NamedTuple):
    """A way to lead a loop with an SDK."""

    loop: Callable[..., Any]
    model: str
    """The model that it names."""
    word: str
    """The path at which it looks for its provider."""
    dialect: str
    drop: Callable[[Any], Any] | None = None
    """What it sends if it drops reasoning; None if the SDK leads the loop itself and keeps everything."""
    modes: tuple[bool, ...] = (False, True)
    """Whether it asks for whole answers, for streams, or for both."""


def named(loop, model):
    return lambda place, **how: loop(place, model=model, **how)


PROGRAMS = {
    "anthropic": Program(lambda place, **how: claude_loop(place, OPUS, **how), "claude-opus-5-5", "anthropic", "anthropic", without_thinking),
    "anthropic tool runner": Program(named(helper_loops.tool_runner_loop, "claude-opus-5-5"), "claude-opus-5-5", "anthropic", "anthropic"),
    "openai chat": Program(lambda place, **how: chat_loop(place, "deepseek", **how), "deepseek-v4-pro", "deepseek", "openai-chat", without_reasoning),
    "openai chat stream helper": Program(named(helper_loops.chat_helper_loop, "gpt-5.6"), "gpt-5.6", "openai", "openai-chat", without_reasoning, (True,)),
    "openai chat parse": Program(named(helper_loops.chat_parse_loop, "gpt-5.6"), "gpt-5.6", "openai", "openai-chat", without_reasoning, (False,)),
    "openai responses": Program(lambda place, **how: responses_loop(place, store=False, **how), "gpt-5.6", "openai", "openai-responses", plain_items),
    "openai responses stored": Program(lambda place, **how: responses_loop(place, store=True, **how), "gpt-5.6", "openai", "openai-responses"),
    "openai responses parse": Program(named(helper_loops.responses_parse_loop, "gpt-5.6"), "gpt-5.6", "openai", "openai-responses", plain_items, (False,)),
    "google": Program(gemini_loop, "gemini-3.5-flash", "gemini", "gemini", plain_contents),
    "google chats": Program(named(helper_loops.gemini_chat_loop, "gemini-3.5-flash"), "gemini-3.5-flash", "gemini", "gemini"),
    "google interactions": Program(interactions_loop, "gemini-3.5-flash", "gemini", "gemini-interactions", REFUSED["dropped"]),
    "mistral": Program(mistral_loop, "mistral-small-latest", "mistral", "mistral", plain_chunks),
    "cohere": Program(cohere_loop, "command-a-reasoning-08-2025", "cohere", "cohere", plain_chunks),
    "ollama": Program(ollama_loop, "qwen3", "ollama", "ollama", plain_words),
    "boto3": Program(converse_loop, CONVERSE["modelId"], "bedrock", "bedrock-converse", plain_blocks),
}  # fmt: skip

ALL = [
    (name, model, streamed, keeps)
    for name, program in PROGRAMS.items()
    for model in MODELS
    for streamed in program.modes
    for keeps in ((True, False) if program.drop else (True,))
]


def covering(cases):
    """One case of each program and model, such that all four of whole, streamed, keeps and drops meet each of both."""
    chosen = {}
    for case in cases:
        chosen.setdefault(case[:2], []).append(case)
    rows, columns = list(PROGRAMS), list(MODELS)
    return [
        among[(rows.index(name) + columns.index(model)) % len(among)]
        for (name, model), among in chosen.items()
    ]


CASES = ALL if os.environ.get("INNERVOICE_ALL_SDKS") else covering(ALL)


class Recorder(Behind):
    """The gateway where the SDK looks for its provider, and the headers of its answers."""

    def __init__(self, app, word, dialect) -> None:
        super().__init__(app, word, dialect)
        self.headers: list[dict[str, str]] = []

    async def __call__(self, scope, receive, send):
        async def recorded(message):
            if message["type"] == "http.response.start":
                pairs = message["headers"]
                self.headers.append({name.decode(): value.decode() for name, value in pairs})
            await send(message)

        await super().__call__(scope, receive, recorded)


@pytest.mark.parametrize(
    ("name", "model", "streamed", "keeps"),
    CASES,
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_a_loop_gets_its_answer_and_the_model_its_reasoning(name, model, streamed, keeps):
    program = PROGRAMS[name]
    upstream, reports = Witness(), []
    gateway = Gateway(
        GatewayConfig(models=(NamedModel(name=program.model, to=(MODELS[model],)),), upstreams=UPSTREAMS),
        {},
        http=embedded_async_http(upstream),
        base_url_of=base_urls("http://emulator").get,
        log=reports.append,
    )  # fmt: skip
    app = Recorder(create_app(gateway), program.word, program.dialect)
    with GatewayInThread(app) as server:
        send = {} if program.drop is None else {"send": unchanged if keeps else program.drop}
        ended = program.loop(server, streamed=streamed, **send)

    assert (ANSWER, CALLS) == (ended.text, ended.calls)
    assert (ended.text, ended.thoughts[-1]) == (ended.response.text, ended.response.thinking or "")
    assert [200] * 3 == upstream.statuses, "the emulator refused nothing"
    assert not _STAND_INS & set().union(*map(noted, reports))
    turns = [proofs(answer.message) for answer in upstream.answers[:2]]
    assert all(turns), "both turns with calls have reasoning"
    last = reports[-1]
    assert 0 == last.omitted
    if not upstream.requests[-1].get("previous_response_id"):  # otherwise the provider has it
        # The first turn goes back into the second request, and both into the third.
        assert reasoning_is_back(upstream) == 2 * len(turns[0]) + len(turns[1])
    assert last.reasoning == app.headers[-1]["x-innervoice-reasoning"]
    if not keeps:
        assert last.restored == last.kept >= 2
