"""`/view` on the gateway's port: who may look, and what they see."""

import asyncio
import importlib
import json
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import innervoice as iv
from gateway.harness import Served, body_of
from innervoice.gateway.callers import Caller, CallerKeys
from innervoice.gateway.config import GatewayConfig, ServerSettings
from innervoice.gateway.operations.request_log import GatewayLog
from innervoice.gateway.operations.viewing import is_view
from innervoice.memory.sealed_store import SealedStore
from innervoice.memory.stores.ram import RamStore
from innervoice.sources.request_log.files import LogBounds

GATEWAY_KEY = b"g" * 32
HERE = {"host": "127.0.0.1:8807"}


class Place:
    """A gateway with a log; with `keys`, one key of an owner and one of another caller."""

    def __init__(self, folder, *, keys=False, level="full", exposed=False, store=None):
        self.folder = folder
        self.store = RamStore() if store is None else store
        self.keys = CallerKeys(SealedStore(self.store, GATEWAY_KEY), GATEWAY_KEY)
        self.owner = self.other = None
        if keys:
            made = [
                asyncio.run(self.keys.add(Caller(name="root", owns_gateway=True))),
                asyncio.run(self.keys.add(Caller(name="alice"))),
            ]
            self.owner, self.other = (one.key for one in made)
        host = "0.0.0.0" if exposed else "127.0.0.1"
        config = GatewayConfig(server=ServerSettings(log=level, host=host))
        self.served = Served(
            config,
            key=GATEWAY_KEY,
            store=self.store,
            request_log=GatewayLog(folder, level, LogBounds(), lambda _: None),
        )

    def get(self, path="/view/", headers=HERE, method="GET"):
        """Asks as a browser does; `headers` are all that it sends."""
        return self.served.ask(method, path, None, {"content-type": "", **headers})

    def ask(self, text, key=None):
        path, body = body_of("anthropic", "gemini/gemini-3.5-flash", [iv.user(text)])
        reply = self.served.ask("POST", path, body, {**HERE, **({"x-api-key": key} if key else {})})
        assert reply.status == 200
        assert self.served.gateway.request_log.flush()


def cookie_of(reply):
    return reply.headers["set-cookie"].partition(";")[0]


WHO = {
    "nobody": lambda place: {},
    "a wrong key": lambda place: {"x-api-key": "iv-" + "x" * 43},
    "another caller": lambda place: {"x-api-key": place.other},
    "the owner": lambda place: {"x-api-key": place.owner},
    "the owner's cookie": lambda place: {"cookie": cookie_of(place.get(f"/view?key={place.owner}"))},
    "another caller's cookie": lambda place: {"cookie": cookie_of(place.get(f"/view?key={place.other}"))},
    "a made-up cookie": lambda place: {"cookie": "innervoice-view-0=" + "QUJD" * 30},
    "another caller's key as a cookie": lambda place: {"cookie": f"innervoice-view-0={place.other}"},
}  # fmt: skip
MAY = {"the owner", "the owner's cookie", "another caller", "another caller's cookie"}


@pytest.mark.parametrize("path", ["/view/", "/view/api/sources", "/view/api/about"])
@pytest.mark.parametrize("exposed", [False, True], ids=["loopback", "exposed"])
@pytest.mark.parametrize("who", WHO)
def test_with_keys_only_callers_look(tmp_path, who, exposed, path):
    place = Place(tmp_path, keys=True, exposed=exposed)
    place.ask("What is 15 * 23?", place.other)
    reply = place.get(path, {**HERE, **WHO[who](place)})

    if who in MAY:
        assert reply.status == 200
        return
    assert reply.status == 401
    assert reply.headers["content-type"].startswith("text/plain")
    assert b"15" not in reply.body
    assert b"key" in reply.body


@pytest.mark.parametrize("path", ["/view/", "/view/api/sources"])
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        (HERE, 200),
        ({"host": "localhost:8807"}, 200),
        ({"host": "evil.example"}, 403),
        ({"host": "evil.example:8807"}, 403),
        ({**HERE, "origin": "http://evil.example"}, 403),
        ({**HERE, "sec-fetch-site": "cross-site"}, 403),
        ({**HERE, "sec-fetch-site": "same-site"}, 403),
        ({**HERE, "sec-fetch-site": "same-origin"}, 200),
    ],
)
def test_without_keys_this_machine_looks_and_foreign_pages_do_not(tmp_path, headers, status, path):
    assert Place(tmp_path).get(path, headers).status == status


def test_where_others_can_reach_it_a_key_is_needed_even_if_there_is_none(tmp_path):
    assert Place(tmp_path, exposed=True).get().status == 401


def test_it_only_reads(tmp_path):
    reply = Place(tmp_path).get("/view/api/sources", method="POST")

    assert reply.status == 405


def test_the_key_is_in_the_address_once(tmp_path):
    place = Place(tmp_path, keys=True)
    reply = place.get(f"/view?key={place.owner}&q=x")
    told = reply.headers["set-cookie"]

    assert reply.status == 303
    assert reply.headers["location"] == "/view/?q=x"
    assert reply.headers["referrer-policy"] == "no-referrer"
    assert place.owner not in json.dumps(reply.headers)
    assert {"HttpOnly", "SameSite=Strict", "Path=/view"} <= set(told.split("; "))
    assert place.get("/view/", {**HERE, "cookie": cookie_of(reply)}).status == 200
    assert not place.served.reports
    files = [file.read_bytes() for file in tmp_path.glob("*")]
    assert not any(place.owner.encode() in data for data in files)


def test_any_worker_knows_the_cookie_and_a_revoked_key_ends_it(tmp_path):
    first = Place(tmp_path, keys=True)
    second = Place(tmp_path, store=first.store)
    cookie = {**HERE, "cookie": cookie_of(first.get(f"/view?key={first.owner}"))}
    before = second.get("/view/", cookie).status
    owner = asyncio.run(first.keys.found(first.owner))
    asyncio.run(first.keys.revoke([owner], 2.0))
    third = Place(tmp_path, store=first.store)

    assert before == 200
    assert third.get("/view/", cookie).status == 401


def test_a_cookie_ends(tmp_path, monkeypatch):
    place = Place(tmp_path, keys=True)
    cookie = {**HERE, "cookie": cookie_of(place.get(f"/view?key={place.owner}"))}
    monkeypatch.setattr("innervoice.gateway.operations.viewing.time.time", lambda: 4e9)

    assert place.get("/view/", cookie).status == 401


def test_it_shows_what_was_asked(tmp_path):
    place = Place(tmp_path)
    place.ask("What is 15 * 23?")
    (source,) = place.get("/view/api/sources").json["sources"]
    rows = place.get(f"/view/api/c/{source['first']}").json

    assert source["title"] == "What is 15 * 23?"
    shown = [(row["kind"], row["text"]) for row in rows["rows"] if row["kind"] == "text"]
    assert shown == [("text", "What is 15 * 23?"), ("text", "15 * 23 = 345.")]
    seals = [seal for row in rows["rows"] for seal in row["seals"]]
    assert [seal["state"] for seal in seals] == ["present"]
    (log,) = tmp_path.glob("*.jsonl")
    assert f'"hash":"{seals[0]["hash"]}"' in log.read_text()
    assert any("only its size and a hash" in sentence for sentence in rows["head"]["cannot_know"])


def test_shape_shows_lengths_and_no_words(tmp_path):
    place = Place(tmp_path, level="shape")
    place.ask("What is 15 * 23?")
    (source,) = place.get("/view/api/sources").json["sources"]
    reply = place.get(f"/view/api/c/{source['first']}")

    assert b"15 *" not in reply.body
    assert b"16 characters" in reply.body or b"[not kept]" in reply.body


def test_the_page_loads_below_its_prefix(tmp_path):
    """All that the page names is below /view/, so that it works on a port that is not its own."""
    place = Place(tmp_path)
    page = place.get("/view/")
    named = [word.partition('"')[0] for sign in ('src="', 'href="') for word in page.body.decode().split(sign)[1:]]  # fmt: skip

    assert page.status == 200
    named = [name for name in named if not name.startswith("data:")]
    assert named
    assert not any(name.startswith("/") or urlsplit(name).netloc for name in named)
    for name in named:
        assert place.get(f"/view/{name}").status == 200


def test_without_its_packages_it_says_which(tmp_path, monkeypatch):
    place, real = Place(tmp_path), importlib.import_module

    def without(name, *rest):
        if name == "innervoice.view.app":
            raise ModuleNotFoundError("no starlette", name="starlette")
        return real(name, *rest)

    monkeypatch.setattr("innervoice.gateway.operations.viewing.import_module", without)
    reply = place.get("/view/")

    assert reply.status == 501
    assert b"the extra [view]" in reply.body
    assert str(Path(__file__).parents[2]).encode() not in reply.body, "callers learn no paths"


def test_a_gateway_that_keeps_nothing_says_so():
    reply = Served().ask("GET", "/view/", None, HERE)

    assert reply.status == 404
    assert b"keeps no requests" in reply.body


@pytest.mark.parametrize(
    ("path", "belongs"),
    [("/view", True), ("/view/", True), ("/view/api/live", True), ("/viewer", False), ("/v1", False)],
)  # fmt: skip
def test_which_paths_are_the_viewers(path, belongs):
    assert is_view(path) == belongs


# ---- usage, and callers who see their own


def usage_of(place, key=None):
    headers = {**HERE, **({"x-api-key": key} if key else {})}
    return place.get("/view/api/usage", headers).json


def test_usage_is_what_the_reports_say(tmp_path):
    """Real requests of two callers: the sums are those of the reports that the gateway made."""
    place = Place(tmp_path, keys=True, level="shape")
    for number in range(3):
        place.ask(f"What is 15 * {number}?", place.other)
    place.ask("What is 15 * 23?", place.owner)
    view = usage_of(place, place.owner)
    reports = place.served.reports

    assert len(reports) == 4
    for name in ("input_tokens", "output_tokens", "reasoning_tokens"):
        assert view["total"][name] == sum(getattr(one.usage, name) for one in reports)
    assert view["total"]["received"] == sum(one.received for one in reports)
    assert view["total"]["first"]["max"] == max(one.first_byte for one in reports)
    names = {one.caller: one.tenant for one in reports}
    assert {one["name"]: one["requests"] for one in view["keys"]} == {
        f"{tenant}/{caller}": 3 if tenant == "alice" else 1 for caller, tenant in names.items()
    }
    (name,) = [one["name"] for one in view["models"]]
    assert name == reports[0].model


@pytest.mark.parametrize("level", ["shape", "full"])
def test_a_caller_sees_its_own_requests_and_no_others(tmp_path, level):
    """With one beginning: what the other asked is in no answer of any route."""
    place = Place(tmp_path, keys=True, level=level)
    place.ask("What is 15 * 23?", place.other)
    place.ask("A secret of root", place.owner)
    place.ask("What is 15 * 23?", place.owner)
    owner, caller = ({**HERE, "x-api-key": key} for key in (place.owner, place.other))
    ids = [lane["id"] for source in place.get("/view/api/sources", owner).json["sources"] for lane in place.get(f"/view/api/c/{source['first']}", owner).json["head"]["lanes"]]  # fmt: skip
    (own,) = (source["first"] for source in place.get("/view/api/sources", caller).json["sources"])
    reports = {one.tenant: one for one in place.served.reports}
    told = b""
    for path in ("sources", "search?q=secret", "search?q=what", "usage", "usage.csv", f"c/{own}", f"export/{own}?form=json"):  # fmt: skip
        told += place.get(f"/view/api/{path}", caller).body

    assert len(ids) == 3
    assert len(place.get(f"/view/api/c/{own}", caller).json["head"]["lanes"]) == 1
    for word in (b"secret of", b"root", reports["root"].caller.encode(), reports["root"].id.encode()):  # fmt: skip
        assert word not in told
    assert usage_of(place, place.other)["total"]["requests"] == 1
    for id_ in ids:
        expected = 200 if id_ == own else 404
        for path in (f"c/{id_}", f"part/{id_}/0", f"plan/{id_}?for=openai/gpt-5.6", f"diff?a={id_}:0&b={own}:0", f"diff?a={own}:0&b={id_}:0", f"search?q=x&in={id_}", f"export/{id_}?form=json"):  # fmt: skip
            assert place.get(f"/view/api/{path}", caller).status == expected, path


def test_a_caller_who_asked_nothing_sees_nothing(tmp_path):
    place = Place(tmp_path, keys=True)
    place.ask("What is 15 * 23?", place.owner)
    caller = {**HERE, "x-api-key": place.other}

    assert place.get("/view/api/sources", caller).json == {"sources": [], "total": 0, "next": None, "unknown": 0}  # fmt: skip
    assert usage_of(place, place.other)["words"] == []


def test_viewers_of_many_callers_are_bounded(tmp_path, monkeypatch):
    """The one that was used longest ago ends, and is created again when its caller comes back."""
    monkeypatch.setattr("innervoice.gateway.operations.viewing._MOST_APPS", 2)
    place = Place(tmp_path, keys=True)
    keys = [asyncio.run(place.keys.add(Caller(name=f"caller{number}"))).key for number in range(4)]
    for key in keys:
        place.ask("What is 15 * 23?", key)
    for key in (*keys, *keys):
        assert usage_of(place, key)["total"]["requests"] == 1
    assert len(place.served.gateway.viewing._apps) == 2


def test_without_a_log_owners_see_what_was_counted_and_others_nothing(tmp_path):
    place = Place(tmp_path, keys=True, level="none")
    place.ask("What is 15 * 23?", place.other)
    view = usage_of(place, place.owner)
    (report,) = place.served.reports
    (counts,) = view["metrics"]["providers"]

    assert view["metrics"]["since"] <= report.begun
    share = round(100 * report.usage.reasoning_tokens / report.usage.output_tokens)
    assert view["words"] == [f"Thinking was at least {share} % of the output tokens since the start."]  # fmt: skip
    assert counts == {
        "provider": "gemini",
        "requests": 1,
        "input": report.usage.input_tokens,
        "output": report.usage.output_tokens,
        "reasoning": report.usage.reasoning_tokens,
        "received": 1,
    }
    owner, caller = ({**HERE, "x-api-key": key} for key in (place.owner, place.other))
    assert place.get("/view/usage", owner).status == 200
    assert place.get("/view/assets/usage.js", owner).status == 200
    assert b"/view/usage" in place.get("/view/", owner).body
    for path in ("/view/", "/view/usage", "/view/api/usage", "/view/api/usage.csv"):
        assert place.get(path, caller).status == 404


def test_with_a_log_the_counts_of_the_process_are_not_shown(tmp_path):
    place = Place(tmp_path)
    place.ask("What is 15 * 23?")

    assert usage_of(place)["metrics"] is None
