"""Deviations that are planted into the emulator, and the facts by which `innervoice probe` shall find each."""

from typing import Any, NamedTuple

__all__ = ["COLUMNS_NOT_SEEN", "MASKED", "PLANTED", "WORDS", "Planted", "pairs"]


class Planted(NamedTuple):
    """A deviation of one model, and the facts of which at least one must differ."""

    model: str
    table: str
    columns: dict[str, Any]
    facts: tuple[str, ...]
    dialect: str | None = None
    sibling: str | None = None
    """The model that deviates, if it is another one than the one that is probed."""

    @property
    def arguments(self) -> tuple[str, ...]:
        return ("--dialect", self.dialect) if self.dialect else ()

    @property
    def name(self) -> str:
        columns = ",".join(f"{name}={value}" for name, value in self.columns.items())
        return f"{self.model} {self.table} {columns}".replace(" ", "_")

    def row(self) -> dict[str, Any]:
        provider, _, model = self.model.partition("/")
        # What is a fact about the server concerns all of its models.
        is_server = self.table in ("host", "server")
        match = ["*"] if is_server else [self.sibling or model.rpartition("/")[2]]
        return {"hosts": [provider], "match": match, self.table: self.columns}


def _all(
    model: str, rows: list[tuple[str, dict[str, Any], tuple[str, ...] | str]]
) -> list[Planted]:
    return [
        Planted(model, table, columns, (facts,) if isinstance(facts, str) else facts)
        for table, columns, facts in rows
    ]


OPUS = "anthropic/claude-opus-5-5"
HAIKU = "anthropic/claude-haiku-5-5"
ENABLED = "anthropic/claude-sonnet-4-5"
GPT = "openai/gpt-5.6"
GEMINI = "gemini/gemini-3.5-flash"
FLASH = "gemini/gemini-2.5-flash"
DEEPSEEK = "deepseek/deepseek-v4-pro"
QWEN = "alibaba/qwen3.8-max"
KIMI = "moonshot/kimi-k3"
VLLM = "vllm/qwen3-8b"
PERPLEXITY = "perplexity/sonar-reasoning-pro"
BEDROCK = "bedrock/anthropic.claude-opus-5-5"
MISTRAL = "mistral/magistral-medium-latest"
GROQ = "groq/openai/gpt-oss-120b"

PLANTED = [
    *_all(OPUS, [
        ("model", {"efforts": ["low", "high"]}, "efforts"),
        ("model", {"default": "none"}, "default"),
        ("model", {"off": "value"}, "off"),
        ("model", {"control": "anthropic-enabled"}, "kinds"),
        ("model", {"tolerates": ["enabled"]}, "kinds"),
        ("model", {"shown": "summary"}, "shown"),
        ("model", {"showable": []}, "showable"),
        ("model", {"refuses_always": ["top_k"]}, "refuses"),
        ("model", {"forced_tools": True}, "forced-tools"),
        ("model", {"prefill": True}, "prefill"),
        ("model", {"bound": "no"}, "bound"),
        ("model", {"max_output": 64000}, "max-output"),
        ("model", {"reads": ["claude-opus-5-5*"]}, "sibling"),
        ("host", {"strict": []}, "strict"),
        ("host", {"counts": False}, "count"),
        ("host", {"models": ["*"]}, "unknown-model"),
        ("server", {"seals": "unchecked"}, "changed-seal"),
        ("server", {"seals": "ignored"}, "unsigned"),
        ("server", {"seals": "absent"}, "seals"),
        ("server", {"dropped": "refused"}, "dropped"),
        ("host", {"counts_reasoning": False}, "usage"),
        ("server", {"error_shape": "detail"}, "error-shape"),
        ("server", {"stream_event": "message_pause"}, "grammar"),
        ("server", {"parallel_calls": False}, "parallel"),
        ("server", {"accepts_schema": False}, "schema"),
        ("server", {"renames": {"thinking": "deliberation"}}, ("place", "streamed-place")),
    ]),
    *_all(HAIKU, [
        ("model", {"off_up_to": "low"}, "off-up-to"),
        ("model", {"off": "never"}, "off"),
        ("model", {"forced_tools": False}, "forced-tools"),
        ("model", {"refuses_always": []}, ("refuses", "refuses-always")),
        ("server", {"ignores": ["thinking"]}, "off"),
    ]),
    *_all(ENABLED, [
        ("model", {"budget": [512, 128000]}, "budget-least"),
        ("model", {"budget": [2048, 128000]}, "budget-least"),
        ("model", {"prefill_thinking": True}, "prefill"),
        ("model", {"control": "anthropic-adaptive"}, "kinds"),
        ("server", {"dropped": "accepted"}, "dropped"),
    ]),
    *_all(GPT, [
        ("model", {"efforts": ["low", "medium"]}, "efforts"),
        ("model", {"off": "never"}, "off"),
        ("model", {"default": "none"}, "default"),
        ("model", {"showable": []}, "showable"),
        ("model", {"refuses": []}, "refuses"),
        ("host", {"strict": []}, "strict"),
        ("server", {"seals": "unchecked"}, "changed-seal"),
        ("server", {"dropped": "accepted"}, "dropped"),
        ("server", {"stream_event": "response.paused"}, "grammar"),
        ("host", {"sealed_only": False}, ("seals", "changed-seal")),
    ]),
    *_all(GEMINI, [
        ("model", {"efforts": ["low"]}, "efforts"),
        ("model", {"control": "gemini-budget"}, "kinds"),
        ("model", {"showable": []}, "showable"),
        ("server", {"seals": "unchecked"}, "changed-seal"),
        ("server", {"dropped": "accepted"}, "dropped"),
        ("host", {"strict": []}, "strict"),
    ]),
    *_all(FLASH, [
        ("model", {"budget": [1, 12000]}, "budget-most"),
        ("model", {"budget": [256, 24576]}, "budget-least"),
        ("model", {"off": "never"}, "off"),
    ]),
    *_all(DEEPSEEK, [
        ("model", {"efforts": ["high"]}, "efforts"),
        ("model", {"off": "never"}, "off"),
        ("model", {"forced_tools": True}, "forced-tools"),
        ("host", {"fields": ["reasoning"]}, ("place", "streamed-place")),
        ("host", {"strict": ["openai-chat"]}, "strict"),
        ("server", {"dropped": "accepted"}, "dropped"),
        ("markup", {"tags": ["thought"]}, ("place", "inline")),
        ("model", {"replay_field": "reasoning"}, "dropped"),
        ("model", {"replay": "never", "says": {"replay": "reasoning is not allowed here"}}, ("loop", "message-members")),
    ]),
    *_all(QWEN, [
        ("model", {"budget": [64, 38912]}, "budget-least"),
        ("model", {"budget": [1, 20000]}, "budget-most"),
        ("model", {"stream_only": True}, "stream-only"),
        ("model", {"default": "none"}, "default"),
    ]),
    *_all(KIMI, [
        ("host", {"exclusive": []}, "exclusive"),
    ]),
    *_all(VLLM, [
        ("host", {"fields": ["reasoning_details"]}, ("place", "streamed-place")),
        ("markup", {"tags": ["reasoning"]}, ("place", "inline")),
        ("markup", {"prefix_open": True}, ("prefix", "inline")),
    ]),
    *_all(PERPLEXITY, [
        ("host", {"separate_reasoning": False}, "usage-separate"),
        ("host", {"inline": False, "fields": ["reasoning_content"]}, ("place", "inline")),
    ]),
    *_all(BEDROCK, [
        ("model", {"efforts": ["low", "max"]}, "efforts"),
        ("model", {"bound": "no"}, "bound"),
        ("server", {"seals": "unchecked"}, "changed-seal"),
    ]),
    *_all(MISTRAL, [
        ("host", {"strict": []}, "strict"),
    ]),
    *_all(GROQ, [
        ("host", {"refuses": {}}, "message-members"),
        ("model", {"efforts": ["low"]}, "efforts"),
    ]),
    Planted(GPT, "model", {"tools": True}, ("tools",), dialect="openai-chat"),
    Planted(GPT, "model", {"limit": "max_tokens"}, ("limit",), dialect="openai-chat"),
    Planted(OPUS, "model", {"readable_by": ["claude-haiku-4-5"]}, ("sibling",), sibling="claude-haiku-5-5"),
]  # fmt: skip

WORDS = [
    *_all(OPUS, [
        ("server", {"words": "No."}, "changed-seal"),
        ("server", {"status": 422}, "changed-seal"),
        ("server", {"error_shape": "text"}, "error-shape"),
        ("host", {"says": {"unknown_model": "Never heard of {model}."}}, "unknown-model"),
    ]),
    *_all("xai/grok-4.7", [
        ("model", {"says": {"effort": "Try another effort than {word}."}}, "efforts"),
    ]),
]  # fmt: skip
"""Deviations of words: the facts are the same, and the table says that the words differ."""


def _planted(model: str, table: str, column: str) -> Planted:
    return next(one for one in PLANTED if (one.model, one.table) == (model, table) and column in one.columns)  # fmt: skip


def _masked() -> set[tuple[str, str]]:
    absent = next(one for one in PLANTED if one.columns == {"seals": "absent"})
    renamed = _planted(OPUS, "server", "renames")
    bound, reads = _planted(OPUS, "model", "bound"), _planted(OPUS, "model", "reads")
    readable_by = _planted(OPUS, "model", "readable_by")
    seals = [one for one in PLANTED if one.model == OPUS and one.columns in ({"seals": "unchecked"}, {"seals": "ignored"})]  # fmt: skip
    pairs = [
        *((one, absent) for one in (bound, reads, readable_by)),
        *((one, renamed) for one in (bound, reads, readable_by, *seals)),
        (_planted(HAIKU, "model", "off_up_to"), next(one for one in PLANTED if one.model == HAIKU and one.columns == {"off": "never"})),
    ]  # fmt: skip
    pairs += [
        (_planted(HAIKU, "model", "off_up_to"), _planted(HAIKU, "server", "ignores")),
        (_planted(GPT, "server", "seals"), _planted(GPT, "host", "sealed_only")),
    ]
    return {(one.name, other.name) for one, other in pairs}


MASKED = _masked()
"""Deviations that cannot be seen while another one is there: nothing is sealed, the loop is refused as a whole, it is never off, or off is ignored."""

_OURS = "what we call or send, not what the server does"
_ROUTE = "where and how requests are sent: without it nothing can be measured"
COLUMNS_NOT_SEEN = {
    **{("host", name): _OURS for name in ("id", "aliases", "account_headers", "key_queries", "key_starts", "makes", "langchain_name", "otel_name", "otel_operations", "prices_name", "source", "keyed_cache", "billing_line")},
    **{("host", name): _ROUTE for name in ("base_url", "url_variables", "server_variables", "url_rewrites", "keys", "tokens", "key_header", "header_variables", "aws_service", "google_credentials", "token_url", "token_variables", "dialect", "paths", "verbs", "speaks", "places", "envelope", "members", "member_variables", "renames")},
    ("host", "template_arguments"): "the emulator renders no template",
    ("host", "budget_member"): "the emulator's thoughts are shorter than any budget",
    ("host", "continues"): "whether a model goes on with its own words is judged by its words",
    ("host", "compacts"): "an item that only some programs send",
    ("host", "betas"): "flags of features that are not about reasoning",
    ("host", "calls_last"): "only a history that a plan would never send shows it",
    ("host", "cumulative"): "the reader recognizes it by itself, and notes it",
    ("host", "formats"): "measured where the catalog says that schemas are accepted: the manner accepts_schema",
    ("host", "knows"): "members that only some programs send",
    ("host", "lacks"): "members that are not about reasoning",
    ("host", "stops_anywhere"): "needs a stop string that the reasoning is sure to have",
    ("host", "says"): "differs in words",
    **{("markup", name): _OURS for name in ("family", "match", "source")},
    ("markup", "replay_switch"): "the emulator renders no template",
    ("markup", "ends"): "only an answer that breaks off shows it",
    ("markup", "leaks"): "the hosts of other models",
    ("markup", "markup"): "formats that the reader searches for the model, which the emulator does not write",
    ("markup", "stutter"): "only some answers do it",
    **{("model", name): _OURS for name in ("match", "hosts", "dialects", "guess", "source")},
    ("model", "effort_updates"): "an item that only some programs send",
    ("model", "async_tools"): "a flag that only some programs send",
    ("model", "context"): "a request that fills it would be expensive",
    **{("server", name): "differs in words" for name in ("words", "status")},
    **{("server", name): "a failure: not measured" for name in ("fails", "retry_after")},
    ("server", "poses_as"): "what a server of one's own is: test_servers.py",
}  # fmt: skip


def pairs() -> list[tuple[Planted, Planted]]:
    """Every two deviations of one model that are about different columns."""
    return [
        (one, other)
        for number, one in enumerate(PLANTED)
        for other in PLANTED[number + 1 :]
        if (one.model, one.dialect) == (other.model, other.dialect)
        and not (one.table == other.table and one.columns.keys() & other.columns.keys())
    ]
