"""An effort that is set inside a conversation counts, whatever model the conversation goes to; where the model reads that, the prompt cache stays valid."""

import asyncio
import json
from itertools import pairwise

import pytest

import innervoice as iv
from gateway.harness import BEHIND, URLS, Served, Upstream
from innervoice.client.embedded import embedded_async_http, embedded_http
from innervoice.planning.encode import decode_request
from innervoice.show.forms import render_plain

ASKED = "Why is the sky blue?"
ITEM = {"type": "configuration_update", "reasoning": {"effort": "low"}}
CLAUDE = {"role": "system", "content": [], "output_config": {"effort": "low"}}
CHAT = {"role": "system", "content": "", "configuration_update": {"reasoning": {"effort": "low"}}}
FORMS = {
    "openai-responses": {"model": "m", "reasoning": {"effort": "high"}, "input": [{"role": "user", "content": ASKED}, {"role": "assistant", "content": "So."}, ITEM, {"role": "user", "content": "And?"}]},
    "anthropic": {"model": "m", "max_tokens": 8000, "output_config": {"effort": "high"}, "thinking": {"type": "adaptive"}, "messages": [{"role": "user", "content": ASKED}, {"role": "assistant", "content": "So."}, {"role": "user", "content": "And?"}, CLAUDE]},
    "openai-chat": {"model": "m", "reasoning_effort": "high", "messages": [{"role": "user", "content": ASKED}, {"role": "assistant", "content": "So."}, CHAT, {"role": "user", "content": "And?"}]},
}  # fmt: skip
CARRIED = {
    "openai/gpt-6-sol": ("input", ITEM, "before"),
    "openai/gpt-6-astra": ("input", ITEM, "before"),
    "azure/gpt-6-sol": ("input", ITEM, "before"),
    "anthropic/claude-opus-5-5": ("messages", CLAUDE, "behind"),
    "anthropic/claude-opus-5": ("messages", CLAUDE, "behind"),
    "anthropic/claude-fable-5-2": ("messages", CLAUDE, "behind"),
    "vertex/claude-sonnet-5-5": ("messages", CLAUDE, "behind"),
    "azure/claude-haiku-5-5": ("messages", CLAUDE, "behind"),
    "bedrock-invoke/claude-opus-5-5": ("messages", CLAUDE, "behind"),
    "openrouter/openai/gpt-6-sol": ("messages", CHAT, "before"),
    "openrouter/anthropic/claude-opus-5.5": ("messages", CHAT, "before"),
}
"""Models that read where the effort changes: their history, their form, and where it stands."""
FLAG = "mid-conversation-output-config-2026-07-01"
TOP = {
    **BEHIND,
    "openai-responses": "openai/gpt-5.6",
    "anthropic": "anthropic/claude-fable-5",
    "openrouter": "openrouter/openai/gpt-5.6",
}
HISTORY = (iv.user(ASKED), iv.assistant("So."), iv.user("And?", effort="low"))


def sent_to(model, form):
    request = decode_request(FORMS[form], form) if form else iv.Request("m", HISTORY, reasoning="high", max_tokens=8000)  # fmt: skip
    model = model.replace("interactions/", "gemini/")
    return iv.encode(request.replace(model=model, dialect=None))


@pytest.mark.parametrize("form", [*FORMS, None])
@pytest.mark.parametrize("model", TOP.values())
def test_elsewhere_the_last_effort_is_in_force(form, model):
    """Seen failing: the effort stayed high, and the notes did not say that an effort was lost."""
    sent = sent_to(model, form)
    assert "effort_from_history" in {note.code for note in sent.notes}
    low = iv.encode(iv.Request(model.replace("interactions/", "gemini/"), (iv.user(ASKED),), reasoning="low", max_tokens=FORMS[form].get("max_tokens") if form else 8000))  # fmt: skip
    expected, effective = low.reasoning_report.effective, sent.reasoning_report.effective
    assert (expected.effort, expected.budget) == (effective.effort, effective.budget)
    assert "configuration_update" not in str(sent.body)
    assert not any("output_config" in one for one in sent.body.get("messages", ()))


EDITS = {"context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]}}


@pytest.mark.parametrize("model", CARRIED)
def test_what_claude_does_with_its_context_changes_nothing(model):
    """Claude Code always sends `context_management`, which is Anthropic's; that its namesake at OpenAI excludes such items is a rule of OpenAI alone."""
    request = decode_request({**FORMS["anthropic"], **EDITS}, "anthropic")
    sent = iv.encode(request.replace(model=model, dialect=None))
    expected = sent_to(model, "anthropic")

    history = CARRIED[model][0]
    assert expected.body[history] == sent.body[history]
    assert "effort_from_history" not in {note.code for note in sent.notes}


@pytest.mark.parametrize("model", CARRIED)
def test_beside_compaction_openai_has_the_effort_at_the_top(model):
    """OpenAI refuses the item beside its own `context_management`; models of other APIs are not sent that member, and keep the change."""
    members = {"context_management": [{"type": "compaction", "compact_threshold": 100000}]}
    request = decode_request({**FORMS["openai-responses"], **members}, "openai-responses")
    sent = iv.encode(request.replace(model=model, dialect=None))

    is_at_top = "effort_from_history" in {note.code for note in sent.notes}
    assert is_at_top == (sent.dialect == "openai-responses") == ("context_management" in sent.body)


@pytest.mark.parametrize("form", [*FORMS, None])
@pytest.mark.parametrize("model", CARRIED)
def test_each_form_becomes_the_form_of_the_target(form, model):
    """A change reaches a model that has a form for it in that form, at its place, with its flag; and the emulator accepts it."""
    history, change, place = CARRIED[model]
    sent = sent_to(model, form)
    items = sent.body[history]
    assert change == items[-2 if place == "before" else -1]
    assert "And?" in str(items[-1 if place == "before" else -2])
    assert 4 == len(items)
    assert "high" in str({name: value for name, value in sent.body.items() if name != history})
    assert not {"effort_from_history", "opaque_dropped", "extra_dropped"} & {
        note.code for note in sent.notes
    }
    if change is CLAUDE:
        flags = sent.headers.get("anthropic-beta", ""), sent.body.get("anthropic_beta", [])
        assert (("", [FLAG]) if model.startswith("bedrock") else (FLAG, [])) == flags
    upstream = Upstream()
    with iv.Client(http=embedded_http(upstream), base_urls=URLS, api_key="any", retries=0) as client:  # fmt: skip
        client.ask(model, HISTORY, reasoning="high")
    assert [200] == upstream.statuses


@pytest.mark.parametrize("form", FORMS)
def test_a_form_goes_home_as_it_came(form):
    home = {"openai-responses": "openai/gpt-6-sol", "anthropic": "anthropic/claude-opus-5-5", "openai-chat": "openrouter/openai/gpt-6-sol"}  # fmt: skip
    request = decode_request(FORMS[form], form)
    stored = iv.from_json(iv.to_json(list(request.messages)))
    sent = iv.encode(request.replace(model=home[form], dialect=None, messages=tuple(stored)))
    history = "input" if form == "openai-responses" else "messages"
    roles = [(one.get("role"), one.get("type")) for one in FORMS[form][history]]
    assert [role for role, _ in roles] == [one.get("role") for one in sent.body[history]]
    change = {"openai-responses": ITEM, "anthropic": CLAUDE, "openai-chat": CHAT}[form]
    assert FORMS[form][history].index(change) == sent.body[history].index(change)


@pytest.mark.parametrize("model", ["openai/gpt-6-sol", "anthropic/claude-opus-5-5"])
def test_nothing_is_written_for_an_effort_that_is_in_force(model):
    history = (*HISTORY, iv.assistant("Thus."), iv.user("So?", effort="low"))
    body = iv.encode(iv.Request(model, history, reasoning="high", max_tokens=8000)).body
    assert 1 == str(body.get("input", body.get("messages"))).count("'low'")


@pytest.mark.parametrize("model", ["openai/gpt-6-sol", "anthropic/claude-opus-5-5"])
def test_before_the_first_answer_it_is_the_effort_at_the_top(model):
    body = iv.encode(iv.Request(model, (iv.user(ASKED, effort="low"),), reasoning="high", max_tokens=8000)).body  # fmt: skip
    assert "high" not in str(body)
    assert "low" in str(body.get("reasoning", body.get("output_config")))
    assert 1 == len(body.get("input", body.get("messages")))


def test_of_several_before_the_first_answer_the_last_counts():
    history = (iv.user("Hi.", effort="max"), iv.user(ASKED, effort="low"))
    body = iv.encode(iv.Request("openai/gpt-6-sol", history, reasoning="high")).body
    assert ["user", "user"] == [item.get("role") for item in body["input"]]
    assert "low" == body["reasoning"]["effort"]


def test_results_stay_at_their_calls():
    """A turn of the user with results and a question: the change stands between them."""
    call = iv.Message("assistant", (iv.ToolCall("call_1", "look", "{}"),))
    both = iv.Message("user", (iv.ToolResult("call_1", "blue"), iv.Text("And?")), effort="low")
    body = iv.encode(iv.Request("openai/gpt-6-sol", (iv.user(ASKED), call, both), reasoning="high")).body  # fmt: skip
    kinds = [item.get("type", item.get("role")) for item in body["input"]]
    assert ["user", "function_call", "function_call_output", ITEM["type"], "user"] == kinds


def test_a_change_behind_results_waits_for_the_next_question():
    """Claude's form behind results counts from the user's next message on; OpenAI's stands before that message."""
    body = {**FORMS["anthropic"], "messages": [
        {"role": "user", "content": ASKED},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "look", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "blue"}]},
        CLAUDE,
    ]}  # fmt: skip
    request = decode_request(body, "anthropic").replace(model="openai/gpt-6-sol", dialect=None)
    sent = iv.encode(request)
    assert ITEM not in sent.body["input"]
    assert "effort_later" in {note.code for note in sent.notes}
    more = (*request.messages, iv.assistant("Blue."), iv.user("And?"))
    items = iv.encode(request.replace(messages=more)).body["input"]
    assert ITEM == items[-2]


def test_pro_mode_and_compaction_have_no_item():
    for extra in ({"reasoning": {"mode": "pro"}}, {"context_management": [{"type": "compaction", "compact_threshold": 9000}]}):  # fmt: skip
        sent = iv.encode(iv.Request("openai/gpt-6-sol", HISTORY, reasoning="high", extra=extra))
        assert "low" == sent.body["reasoning"]["effort"]
        assert "effort_from_history" in {note.code for note in sent.notes}


def test_a_history_that_is_trimmed_keeps_the_effort():
    history = (*HISTORY, iv.assistant("Thus."), iv.user("So?"))
    body = iv.encode(iv.Request("openai/gpt-6-sol", tuple(iv.trim(history, keep=1)), reasoning="high")).body  # fmt: skip
    assert "low" == body["reasoning"]["effort"]


def test_lint_and_plan_say_where_it_changes():
    (problem,) = iv.lint(HISTORY, "openai/gpt-5.6", reasoning="high")
    assert ("effort_from_history", 2, "degraded") == (problem.code, problem.message, problem.severity)  # fmt: skip
    assert [] == iv.lint(HISTORY, "openai/gpt-6-sol", reasoning="high")
    assert "2      effort     low from here on" in str(iv.plan(HISTORY, "openai/gpt-6-sol"))
    assert "effort low from here on" in render_plain(list(HISTORY))


@pytest.mark.parametrize("edit", ["remove", "move", "insert"])
def test_thinking_is_bound_to_the_changes_before_it(edit):
    """Claude refuses thinking whose history had the effort elsewhere; lint says so before."""
    _, _, chat = talk("anthropic/claude-opus-5-5", "sync", ["high", "low", "low"])
    history = [*chat.history, iv.user("More?")]
    assert [] == iv.lint(history, "anthropic/claude-opus-5-5", reasoning="high")
    if edit == "insert":
        history[4] = history[4].replace(effort="max")
    else:
        history[2] = history[2].replace(effort=None)
    if edit == "move":
        history[4] = history[4].replace(effort="low")
    problems = iv.lint(history, "anthropic/claude-opus-5-5", reasoning="high")
    assert {"prefix_changed"} == {problem.code for problem in problems}
    assert {5} | ({3} if edit != "insert" else set()) == {one.message for one in problems}
    repaired = iv.repair(history, "anthropic/claude-opus-5-5", reasoning="high")
    assert [one.effort for one in history] == [one.effort for one in repaired]


# ---- a conversation of the library

KEEPS = ["openai/gpt-6-sol", "openai/gpt-6-astra", "anthropic/claude-opus-5-5", "anthropic/claude-haiku-5-5", "openrouter/openai/gpt-6-sol"]  # fmt: skip
LOSES = ["openai/gpt-5.6", "anthropic/claude-fable-5"]
LEVELS = ["high", "low", "low", "max", "high"]


def talk(model, kind, levels, **options):
    """The requests, their lost bytes, and the responses of a conversation that asks for these efforts."""
    upstream = Upstream()
    settings = {"base_urls": URLS, "api_key": "any", "retries": 0}
    if kind == "sync":
        with iv.Client(http=embedded_http(upstream), **settings) as client:
            chat = client.conversation(model, **options)
            responses = [chat.ask(f"Question {n}?", reasoning=level) for n, level in enumerate(levels)]  # fmt: skip
        return upstream, responses, chat

    async def main():
        async with iv.AsyncClient(http=embedded_async_http(upstream), **settings) as client:
            chat = client.conversation(model, **options)
            return [await chat.ask(f"Question {n}?", reasoning=level) for n, level in enumerate(levels)], chat  # fmt: skip

    responses, chat = asyncio.run(main())
    return upstream, responses, chat


@pytest.mark.parametrize("kind", ["sync", "async"])
@pytest.mark.parametrize("model", KEEPS)
def test_a_conversation_that_changes_the_effort_keeps_the_cache(model, kind):
    upstream, responses, _ = talk(model, kind, LEVELS)
    assert [0] * len(LEVELS) == upstream.lost
    assert [False, True, False, True, True] == [
        "effort_in_place" in {note.code for note in response.notes} for response in responses
    ]
    history = "input" if "input" in upstream.requests[0] else "messages"
    for before, after in pairwise(upstream.requests):
        same = {name: value for name, value in before.items() if name != history}
        assert same == {name: value for name, value in after.items() if name != history}
        assert before[history] == after[history][: len(before[history])]
    words = [word for word in LEVELS if f"'{word}'" in str(upstream.requests[-1][history])]
    assert {"low", "max", "high"} == set(words)


@pytest.mark.parametrize("model", LOSES)
def test_elsewhere_the_effort_at_the_top_changes_and_a_note_says_so(model):
    upstream, responses, _ = talk(model, "sync", LEVELS)
    assert [False, True, False, True] == [lost > 0 for lost in upstream.lost[:4]]
    assert [False, True, False, True, True] == [
        "effort_at_top" in {note.code for note in response.notes} for response in responses
    ]
    expected = [str(one.get("reasoning", one.get("output_config"))) for one in upstream.requests]
    assert all(level in text for level, text in zip(LEVELS, expected, strict=True))


def test_a_call_without_an_effort_goes_back_to_the_default():
    upstream, _, _ = talk("openai/gpt-6-sol", "sync", [None, "low", None])
    assert [0, 0, 0] == upstream.lost
    items = [one for one in upstream.requests[-1]["input"] if one.get("type") == ITEM["type"]]
    assert ["low", "medium"] == [item["reasoning"]["effort"] for item in items]


def test_a_request_that_failed_changes_nothing():
    upstream = Upstream()
    with iv.Client(http=embedded_http(upstream), base_urls=URLS, api_key="any", retries=0) as client:  # fmt: skip
        chat = client.conversation("openai/gpt-6-sol")
        chat.ask("Question?", reasoning="high")
        with pytest.raises(iv.InnervoiceError):
            chat.ask("More?", reasoning="low", headers={"x-innervoice-emulate": "fail=0"})
        response = chat.ask("More?", reasoning="low")
    assert "effort_in_place" in {note.code for note in response.notes}
    assert ITEM in upstream.requests[-1]["input"]


def test_a_saved_conversation_goes_on_where_it_was(tmp_path):
    upstream, _, chat = talk("openai/gpt-6-sol", "sync", ["high", "low"])
    chat.save(tmp_path / "talk.json")
    with iv.Client(http=embedded_http(upstream), base_urls=URLS, api_key="any") as client:
        again = client.conversation("openai/gpt-6-sol").load(tmp_path / "talk.json")
        again.ask("More?", reasoning="low")
        again.ask("And more?", reasoning="max")
    assert [0] * 4 == upstream.lost


def test_an_item_that_sets_only_a_format_goes_to_models_that_have_it():
    item = {"type": "configuration_update", "text": {"format": {"type": "text"}}}
    body = {**FORMS["openai-responses"], "input": [*FORMS["openai-responses"]["input"][:2], item, {"role": "user", "content": "And?"}]}  # fmt: skip
    request = decode_request(body, "openai-responses")
    assert item in iv.encode(request.replace(model="openai/gpt-6-sol", dialect=None)).body["input"]
    sent = iv.encode(request.replace(model="openai/gpt-5.6", dialect=None))
    assert item not in sent.body["input"]
    assert "opaque_dropped" in {note.code for note in sent.notes}


# ---- what the emulator refuses


def refusal(model, body):
    provider, _, name = model.partition("/")
    path = {"openai": "/openai/v1/responses", "anthropic": "/anthropic/v1/messages", "openrouter": "/openrouter/api/v1/chat/completions"}[provider]  # fmt: skip
    headers = {"authorization": "Bearer k", "x-api-key": "k", "anthropic-version": "2023-06-01"}
    reply = Upstream().emulator.reply("POST", path, {**headers, **body.pop("headers", {})}, json.dumps({**body, "model": name}).encode())  # fmt: skip
    return reply.status, reply.body


QUESTION, ANSWER = FORMS["openai-responses"]["input"][:2]


@pytest.mark.parametrize(
    ("model", "body"),
    [
        ("openai/gpt-5.6", FORMS["openai-responses"]),
        ("openai/gpt-6-sol", {**FORMS["openai-responses"], "reasoning": {"effort": "high", "mode": "pro"}}),
        ("openai/gpt-6-sol", {"input": [QUESTION, ANSWER, ITEM, ITEM, QUESTION]}),
        ("openai/gpt-6-sol", {"input": [QUESTION, ITEM, ANSWER, QUESTION]}),
        ("anthropic/claude-opus-5-5", FORMS["anthropic"]),
        ("anthropic/claude-fable-5", {**FORMS["anthropic"], "headers": {"anthropic-beta": FLAG}}),
        ("openrouter/openai/gpt-5.6", FORMS["openai-chat"]),
    ],
)  # fmt: skip
def test_the_emulator_refuses_a_form_where_the_provider_does(model, body):
    """Not at other models, not in pro mode, not twice in a row, only before the user's message, and only with the flag."""
    status, text = refusal(model, dict(body))
    assert 400 == status, text
    assert b"configuration_update" in text or b"output_config" in text


def test_the_emulator_accepts_the_forms():
    for model, form, headers in (
        ("openai/gpt-6-sol", "openai-responses", {}),
        ("anthropic/claude-opus-5-5", "anthropic", {"anthropic-beta": FLAG}),
        ("openrouter/openai/gpt-6-sol", "openai-chat", {}),
    ):
        status, text = refusal(model, {**FORMS[form], "headers": headers})
        assert 200 == status, text


def test_a_client_of_another_api_through_the_gateway():
    served = Served()
    body = {**FORMS["openai-responses"], "model": BEHIND["openai-chat"], "store": False}
    reply = served.ask("POST", "/v1/responses", body)
    assert 200 == reply.status, reply.body
    assert "low" == served.upstream.requests[-1].get("reasoning_effort", "low")
    assert "effort_from_history" in {note.code for note in served.reports[-1].notes}
