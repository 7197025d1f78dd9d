"""Request logs made by hand, in the form that the gateway writes: for sums that a test can do itself."""

import json
import random
from decimal import Decimal
from types import ModuleType, SimpleNamespace

HOUR, DAY = 3600, 86_400


def ended(number, begun, **facts):
    """The records of a request that ended; `facts` are what its report says."""
    given = {
        "tenant": "alice", "caller": "a1", "provider": "anthropic", "model": "claude-opus-5-5", "status": 200, "error": None,
        "kept": 0, "restored": 0, "omitted": 0, "received": 0, "input": 100, "output": 50, "reasoning": 30, "cached": 0, "first": 0.5,
    } | facts  # fmt: skip
    name = f"iv_{number:024x}"
    request = {"record": "request", "id": name, "at": begun, "level": "full", "tenant": given["tenant"], "caller": given["caller"]}  # fmt: skip
    request |= {"dialect": "anthropic", "asked": given["model"], "kept": 0, "answer": False}
    words = given.get("text", f"Question {number} of {given['tenant']}")
    request["new"] = [{"type": "message", "role": "user", "parts": [{"type": "text", "text": words}]}]  # fmt: skip
    usage = {
        "input_tokens": given["input"], "output_tokens": given["output"],
        "reasoning_tokens": given["reasoning"], "cached_input_tokens": given["cached"],
    }  # fmt: skip
    report = {name: given[name] for name in ("tenant", "caller", "provider", "model", "status", "error")}  # fmt: skip
    report |= {"id": name, "begun": begun, "asked": given["model"], "way": "canon"}
    report["reasoning"] = {one: given[one] for one in ("kept", "restored", "omitted", "received")}
    report["usage"] = {one: count for one, count in usage.items() if count is not None}
    report["seconds"] = {"first": given["first"], "total": 2.0}
    report = {name: value for name, value in report.items() if value is not None}
    end = {"record": "end", "id": name, "at": begun + 2, "report": report}
    if given["status"] == 200:
        parts = [{"type": "text", "text": f"Answer {number} to {given['tenant']}"}]
        end["response"] = {"type": "response", "ended": True, "parts": parts}
    return [request, end]


def lines(records):
    return b"".join(json.dumps(one, separators=(",", ":")).encode() + b"\n" for one in records)


def log(*requests):
    """A whole file."""
    head = {
        "record": "log",
        "format": "innervoice.requests",
        "version": 1,
        "by": "gateway",
        "at": 1.0,
    }
    return lines([head, *(record for request in requests for record in request)])


MODELS = [
    ("anthropic", "claude-opus-5-5", 0.62, 5), ("anthropic", "claude-haiku-5", 0.3, 3), ("openai", "gpt-5.6", 0.7, 4),
    ("gemini", "gemini-3.5-flash", 0.45, 4), ("deepseek", "deepseek-v4-pro", 0.8, 2), ("mistral", "mistral-large-latest", None, 1),
]  # fmt: skip
KEYS = [("alice", "5a9476428571"), ("ben", "77c0f21b9e04"), ("nightly-agent", "c3d1a8e7b652")]


def month(now, days=30, seed=7):
    """Requests of three callers in the days before a moment, more on working days, as a file."""
    chance = random.Random(seed)
    requests = []
    for day in range(days):
        midnight = now // DAY * DAY - day * DAY
        weekend = int(midnight // DAY + 4) % 7 in (0, 6)
        for _ in range(chance.randint(4, 9) if weekend else chance.randint(18, 40)):
            begun = midnight + min(
                chance.triangular(6, 23, 14) * HOUR, now - midnight - 1 if day == 0 else DAY
            )
            provider, model, share, _ = chance.choices(MODELS, [one[3] for one in MODELS])[0]
            tenant, caller = chance.choices(KEYS, [5, 3, 4])[0]
            output = int(chance.lognormvariate(7.4, 0.8))
            kept = chance.randint(0, 9)
            failed = chance.random() < 0.03
            facts = {
                "tenant": tenant, "caller": caller, "provider": provider, "model": model, "kept": kept,
                "restored": chance.randint(0, kept) if chance.random() < 0.4 else 0, "omitted": int(chance.random() < 0.15), "received": 1,
                "input": int(chance.lognormvariate(9.5, 0.9)), "output": output,
                "reasoning": None if share is None else int(output * min(0.97, max(0.02, chance.gauss(share, 0.12)))),
                "first": round(chance.lognormvariate(0.3, 0.7), 3),
            }  # fmt: skip
            if failed:
                facts |= {
                    "status": 529,
                    "error": "overloaded",
                    "input": None,
                    "output": None,
                    "reasoning": None,
                    "first": None,
                }
            requests.append(ended(len(requests), round(begun, 3), **facts))
    return log(*requests)


PRICES = {
    "claude-opus-5-5": (5, 25), "claude-haiku-5": (1, 5), "gpt-5.6": (2, 12), "gemini-3.5-flash": (1, 3), "deepseek-v4-pro": (1, 2),
}  # fmt: skip
"""Dollars for a million tokens, input and output; made up."""


def sample_prices():
    """A module like genai-prices, with made-up prices for the models of `month`."""
    module = ModuleType("genai_prices")
    module.Usage = SimpleNamespace

    def calc_price(usage, *, model_ref, provider_id):
        if model_ref not in PRICES:
            raise LookupError(model_ref)
        dollars = [Decimal(one) / 1_000_000 for one in PRICES[model_ref]]
        parts = usage.input_tokens * dollars[0], usage.output_tokens * dollars[1]
        model = SimpleNamespace(id=model_ref)
        return SimpleNamespace(
            input_price=parts[0], output_price=parts[1], total_price=sum(parts), model=model
        )

    module.calc_price = calc_price
    return module
