"""What is sent to local servers counts: the vendors' own chat templates keep the reasoning, and each prompt begins with the one before.

The templates are `.jinja` files as the vendors publish them; where they are not at hand, these are skipped.
"""

import json

import pytest

import innervoice as iv
from innervoice.catalog.lookup import all_hosts
from shared import SHARED

TEMPLATES = SHARED / "templates"
KEEPING = {
    "GLM-4.7-Flash": "zai-org/GLM-4.7-Flash",
    "NVIDIA-Nemotron-3-Nano-30B-A3B-BF16": "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16",
    "deepseek-ai-DeepSeek-V4": "deepseek-ai/DeepSeek-V4",
    "deepseek-ai-DeepSeek-V4-Flash-0731": "deepseek-ai/DeepSeek-V4-Flash-0731",
    "MiniMax-M3": "MiniMaxAI/MiniMax-M3",
    "ByteDance-Seed-OSS": "ByteDance-Seed/Seed-OSS-36B",
    "Kimi-K3": "moonshotai/Kimi-K3",
    "muse-glimmer": "muse-glimmer",
}
# Their templates keep the thoughts of the last loop alone, whatever is sent: a fact about them.
FORGETTING = {
    "Qwen-Qwen3-0.6B": "Qwen/Qwen3-0.6B",
    "GLM-4.6": "zai-org/GLM-4.6",
    "MiniMax-M2": "MiniMaxAI/MiniMax-M2",
}
SERVERS = [host.id for host in all_hosts() if host.template_arguments and host.id != "gpustack"]


def rendered(name, body):
    """The prompt, as a server renders it."""
    jinja2 = pytest.importorskip("jinja2", reason="needs jinja2")
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    file = TEMPLATES / f"{name}.jinja"
    if not file.is_file():
        pytest.skip("the vendors' templates are not here")
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    environment.filters["tojson"] = lambda value, **_: json.dumps(value, ensure_ascii=False)

    def fail(message):
        raise jinja2.TemplateError(message)

    environment.globals.update(raise_exception=fail, strftime_now=lambda _: "2026-11-17")
    # vLLM accepts either name, and gives templates both.
    messages = [{**one, **({"reasoning_content": one["reasoning"]} if "reasoning" in one else {})} for one in body["messages"]]  # fmt: skip
    return environment.from_string(file.read_text("utf-8")).render(
        messages=messages, add_generation_prompt=True, bos_token="<s>", eos_token="</s>", **body.get("chat_template_kwargs", {})
    )  # fmt: skip


def body_after(turns, server, model):
    """The request after so many turns."""
    field = "reasoning" if server == "vllm" else "reasoning_content"
    history = []
    for number in range(turns):
        message = {"role": "assistant", "content": f"Answer {number}.", field: f"Thought {number}."}
        answer = {"id": "c", "object": "chat.completion", "model": model, "choices": [{"index": 0, "finish_reason": "stop", "message": message}]}  # fmt: skip
        history += [iv.user(f"Question {number}?"), iv.decode(answer, provider=server, model=model).message]  # fmt: skip
    history.append(iv.user("And?"))
    request = iv.Request(f"{server}/{model}", tuple(history), reasoning="high", base_url="http://127.0.0.1:1/v1")  # fmt: skip
    return iv.encode(request).body


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("name", KEEPING)
def test_every_thought_counts_and_the_prompt_only_grows(name, server):
    """Seen failing: without its switch the template of GLM-4.7 and of Nemotron 3 dropped the thoughts of earlier turns."""
    model = KEEPING[name]
    one, other = (rendered(name, body_after(turns, server, model)) for turns in (1, 2))
    assert "Thought 0." in one
    assert "Thought 0." in other
    assert "Thought 1." in other
    assert other.startswith(one[: one.index("And?")])


@pytest.mark.parametrize("name", FORGETTING)
def test_templates_that_keep_only_the_last_loop(name):
    """If one of these fails, the family has a switch now, and needs a row."""
    assert "Thought 0." not in rendered(name, body_after(2, "vllm", FORGETTING[name]))
