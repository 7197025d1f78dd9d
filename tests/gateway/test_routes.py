"""A model's name -> its candidates. No caller can name a host, and no key is shown."""

import pickle
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

import innervoice as iv
from innervoice.client.auth import Outgoing
from innervoice.errors import UsageError
from innervoice.gateway.config import GatewayConfig, NamedModel, ServerSettings, UpstreamSettings
from innervoice.gateway.config.names import filled, matched
from innervoice.gateway.routes import (
    AmbiguousModelError,
    NotConfiguredError,
    Routes,
    UnknownModelError,
)

ENVIRON = {
    "ANTHROPIC_API_KEY": "key-of-anthropic",
    "OPENAI_API_KEY": "key-of-openai",
    "GEMINI_API_KEY": "key-of-gemini",
    "A": "key-a",
    "B": "key-b",
}


def entry(name, *to, **reasoning):
    return NamedModel.from_row({"name": name, "to": list(to), "reasoning": reasoning})


def routes(*models, environ=ENVIRON, base_url_of=None, **upstreams):
    settings = {name: UpstreamSettings.from_row(row) for name, row in upstreams.items()}
    config = GatewayConfig(models=models, upstreams=settings)
    return Routes(config, environ, base_url_of=base_url_of)


def reached(found, name):
    return [candidate.name for candidate in found.route(name).candidates]


def sent_headers(candidate):
    outgoing = Outgoing("POST", candidate.base_url, {}, b"")
    return candidate.account.keyring.headers(candidate.destination, outgoing)


# ---- which entry -----------------------------------------------------------------------------------


def test_exact_names_win_over_globs_and_longer_globs_over_shorter():
    found = routes(
        entry("*", "openai/any"),
        entry("claude-*", "openai/claude"),
        entry("claude-opus-*", "openai/opus"),
        entry("claude-opus-5-5", "openai/exact"),
    )

    assert ["openai/exact"] == reached(found, "claude-opus-5-5")
    assert ["openai/opus"] == reached(found, "claude-opus-5")
    assert ["openai/claude"] == reached(found, "claude-haiku-4-5")
    assert ["openai/any"] == reached(found, "whatever")


def test_a_name_of_the_config_wins_over_a_provider():
    found = routes(entry("openai/gpt-5.6", "anthropic/claude-opus-5-5"))

    assert ["anthropic/claude-opus-5-5"] == reached(found, "openai/gpt-5.6")
    assert ["openai/gpt-5.5"] == reached(found, "openai/gpt-5.5")


def test_what_a_glob_matched_goes_into_the_target():
    found = routes(entry("my-*", "openai/gpt-*", "anthropic/claude-opus-5-5"))

    assert ["openai/gpt-5.6", "anthropic/claude-opus-5-5"] == reached(found, "my-5.6")


@pytest.mark.parametrize(
    ("glob", "name", "texts"),
    [
        ("*", "abc", ("abc",)),
        ("a*", "a", ("",)),
        ("a*c", "abc", ("b",)),
        ("a*a", "a", None),
        ("*-*", "a-b-c", ("a", "b-c")),
        ("*b*b", "abab", ("a", "a")),
        ("a*b*c", "ac", None),
        ("a", "a", ()),
        ("a", "b", None),
        ("*/x", "p/x", ("p",)),
    ],
)
def test_globs(glob, name, texts):
    assert texts == matched(glob, name)
    if texts is not None:
        assert name == filled(glob, texts)


@given(st.text("ab-", max_size=12), st.text("ab-*", max_size=6).filter(lambda g: "**" not in g))
def test_a_match_fills_the_glob(name, glob):
    """What was matched, put back, is the name; and a name made from a glob matches it."""
    texts = matched(glob, name)

    assert texts is None or name == filled(glob, texts)
    assert matched(glob, filled(glob, ("ab",) * glob.count("*"))) is not None


def test_an_entry_has_its_limit():
    found = routes(entry("a", "openai/gpt-5.6", at_most="low"), entry("b", "openai/gpt-5.6"))

    limits = {
        name: [placed.rule.at_most for placed in found.route(name).rules]
        for name in ("a", "b", "openai/gpt-5.6")
    }
    assert {"a": ["low"], "b": [], "openai/gpt-5.6": []} == limits


def test_words_in_brackets_are_cut():
    """Claude Code asks for `claude-opus-4-6[1m]`."""
    found = routes(entry("sonnet", "anthropic/claude-sonnet-5-5"), entry("big[1m]", "openai/big"))

    assert ["anthropic/claude-opus-4-6"] == reached(found, "claude-opus-4-6[1m]")
    assert ["anthropic/claude-opus-4-6"] == reached(found, "anthropic/claude-opus-4-6[1m]")
    assert ["anthropic/claude-sonnet-5-5"] == reached(found, "sonnet[1m]")
    assert ["openai/big"] == reached(found, "big[1m]")
    assert "sonnet[1m]" == found.route("sonnet[1m]").asked


# ---- bare names ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("claude-opus-5-5", "anthropic/claude-opus-5-5"),
        ("claude-haiku-4-5-20251001", "anthropic/claude-haiku-4-5-20251001"),
        ("gpt-5.6", "openai/gpt-5.6"),
        ("gemini-3.5-flash", "gemini/gemini-3.5-flash"),
    ],
)
def test_a_bare_name_goes_to_the_maker(name, target):
    assert [target] == reached(routes(), name)


def test_a_bare_name_of_many_providers_is_ambiguous():
    found = routes(environ={"GROQ_API_KEY": "x"})

    with pytest.raises(AmbiguousModelError) as caught:
        found.route("gpt-oss-120b")
    assert "groq/gpt-oss-120b" == caught.value.names[0]
    assert 5 == len(caught.value.names)
    assert str(caught.value) == str(pickle.loads(pickle.dumps(caught.value)))


def test_a_model_newer_than_the_catalog_is_unknown_and_its_maker_is_named():
    with pytest.raises(UnknownModelError) as caught:
        routes().route("claude-opus-77")

    assert "anthropic/claude-opus-77" == caught.value.nearest[-1]


# ---- unknown names ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("antropic/claude-opus-5-5", "anthropic/claude-opus-5-5"),
        ("gpt-5,6", "openai/gpt-5.6"),
        ("CLAUDE-OPUS-5.5", "anthropic/claude-opus-5-5"),
        ("sonet", "sonnet"),
    ],
)
def test_unknown_names_are_told_the_nearest(name, nearest):
    with pytest.raises(UnknownModelError) as caught:
        routes(entry("sonnet", "anthropic/claude-sonnet-5-5")).route(name)

    assert nearest == caught.value.nearest[0]
    assert len(caught.value.nearest) <= 3
    assert nearest in str(caught.value)
    assert caught.value.nearest == pickle.loads(pickle.dumps(caught.value)).nearest


ADDRESSES = [
    "https://evil.example/v1",
    "openai/https://evil.example/v1",
    "openai//evil.example",
    "openai/../../v1/files",
    "gemini/../cachedContents?x=",
    "gemini/x?key=1",
    "gemini/x#y",
    "gemini/x%2e%2e/y",
    "gemini/a/./b",
    "http:evil",
    "evil.example/gpt-5.6",
    "openai/",
    "/gpt-5.6",
    "openai/gpt 5",
    "openai/gpt\n",
    "[1m]",
    "",
    "x" * 100_000,
]


@pytest.mark.parametrize("name", ADDRESSES)
def test_a_name_with_an_address_in_it_is_unknown(name):
    with pytest.raises(UnknownModelError) as caught:
        routes().route(name)

    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("name", ["x../y", "x/../y", "x", "x?key=1", "x//evil.example"])
def test_a_glob_opens_no_way_out(name):
    """What is harmless at its place in the name may be `..` at its place in the target."""
    with pytest.raises(UnknownModelError) as caught:
        routes(entry("x*", "gemini/*")).route(name)

    assert name == caught.value.model


@given(
    st.one_of(
        st.text(max_size=40),
        st.lists(
            st.sampled_from(
                [
                    "openai",
                    "gemini",
                    "box",
                    "/",
                    "//",
                    ".",
                    "..",
                    ":",
                    "@",
                    "https://",
                    "evil.example",
                    "?",
                    "#",
                    "%",
                    "[1m]",
                    "*",
                    "claude-opus-5-5",
                    "a",
                ]
            ),
            max_size=6,
        ).map("".join),
    )
)
def test_no_name_leads_to_another_host(name):
    """Whatever a caller writes, requests go below the addresses of the config and the rows."""
    found = routes(
        entry("a*", "gemini/*"), entry("*", "box/x-*"), box={"base_url": "http://10.0.0.5:8000/v1"}
    )
    try:
        candidates = found.route(name).candidates
    except UsageError:
        return
    for candidate in candidates:
        wire = iv.encode(
            iv.Request(
                candidate.name,
                [iv.user("hi")],
                dialect=candidate.target.dialect,
                base_url=candidate.base_url,
                scope=candidate.target.scope,
            )
        )
        assert wire.url.startswith(candidate.base_url + "/")
        path = urlsplit(wire.url)
        assert not {".", ".."} & set(path.path.split("/"))
        assert not path.fragment
        assert "key" not in path.query


# ---- keys and accounts -----------------------------------------------------------------------------


def test_a_missing_key_is_said_with_its_variables():
    found = routes(environ={})

    with pytest.raises(NotConfiguredError) as caught:
        found.route("gemini-3.5-flash")
    assert "GEMINI_API_KEY or GOOGLE_API_KEY" in str(caught.value)
    assert "[upstreams.gemini]" in str(caught.value)
    with pytest.raises(NotConfiguredError, match="AZURE_OPENAI_RESOURCE"):
        found.route("azure/gpt-5.6")
    with pytest.raises(NotConfiguredError, match="AWS_REGION"):
        found.route("bedrock/x")


def test_candidates_without_a_key_are_left_out_while_others_have_one():
    found = routes(entry("a", "mistral/mistral-large-4", "openai/gpt-5.6"))

    assert ["openai/gpt-5.6"] == reached(found, "a")


def test_the_environment_is_an_account():
    (candidate,) = routes().route("claude-opus-5-5").candidates

    assert ("env:ANTHROPIC_API_KEY", None) == (candidate.account.name, candidate.target.scope)
    assert {"x-api-key": "key-of-anthropic"} == sent_headers(candidate)
    assert ("https://api.anthropic.com", True) == (candidate.base_url, candidate.is_default_url)


def test_accounts_of_an_upstream_are_candidates_with_scopes():
    found = routes(openai={"keys": ["env:A", "env:B"]})
    first, second = found.route("openai/gpt-5.6").candidates

    assert ["env:A", "env:B"] == [first.account.name, second.account.name]
    assert ["env:A", "env:B"] == [first.target.scope, second.target.scope]
    assert {"authorization": "Bearer key-a"} == sent_headers(first)
    assert {"authorization": "Bearer key-b"} == sent_headers(second)
    assert first.target.host.id == "openai"


def test_one_account_has_no_scope():
    (candidate,) = routes(openai={"keys": ["env:A"]}).route("gpt-5.6").candidates

    assert ("env:A", None) == (candidate.account.name, candidate.target.scope)


def test_an_alias_is_the_same_upstream():
    found = routes(claude={"keys": ["env:A"]})

    assert {"x-api-key": "key-a"} == sent_headers(found.route("anthropic/x").candidates[0])
    assert {"x-api-key": "key-a"} == sent_headers(found.route("claude/x").candidates[0])
    assert {"x-api-key": "key-a"} == sent_headers(found.route("claude-opus-5-5").candidates[0])


def test_a_server_of_ones_own():
    found = routes(
        box={"base_url": "http://10.0.0.5:8000/v1", "keys": ["env:A"], "headers": {"X-Team": "me"}}
    )
    (candidate,) = found.route("box/org/Some-Model:Q4").candidates

    assert "box/org/Some-Model:Q4" == candidate.name
    assert ("http://10.0.0.5:8000/v1", False) == (candidate.base_url, candidate.is_default_url)
    assert "openai-chat" == candidate.target.dialect
    assert {"authorization": "Bearer key-a"} == sent_headers(candidate)
    assert {"x-team": "me"} == candidate.headers


def test_a_server_that_behaves_like_a_provider():
    found = routes(
        eu={"base_url": "https://eu.example/v1", "provider": "vllm", "dialect": "anthropic"}
    )
    (candidate,) = found.route("eu/qwen3").candidates

    assert ("vllm", "anthropic") == (candidate.target.host.id, candidate.target.dialect)
    assert "eu" == candidate.target.scope, "another server of the same kind cannot read its seals"


def test_a_key_of_the_environment_never_goes_to_another_address():
    found = routes(openai={"base_url": "https://proxy.example/v1"})
    (candidate,) = found.route("gpt-5.6").candidates

    assert ({}, "none") == (sent_headers(candidate), candidate.account.name)


def test_secrets_in_headers_are_read_and_not_shown():
    found = routes(openai={"keys": ["env:A"], "headers": {"x-proxy-key": "env:B"}})
    (candidate,) = found.route("gpt-5.6").candidates

    assert {"x-proxy-key": "key-b"} == candidate.headers
    for secret in ("key-a", "key-b"):
        assert secret not in repr(candidate)
        assert secret not in repr(found.route("gpt-5.6"))


def test_keys_of_files(tmp_path: Path):
    (tmp_path / "key").write_text("key-of-file\n")
    found = routes(openai={"keys": [f"file:{tmp_path}/key"]})

    assert {"authorization": "Bearer key-of-file"} == sent_headers(
        found.route("gpt-5.6").candidates[0]
    )


def test_aws_keys_sign():
    environ = {
        "AWS_ACCESS_KEY_ID": "AKIA",
        "AWS_SECRET_ACCESS_KEY": "hidden",
        "AWS_REGION": "eu-west-1",
    }
    (candidate,) = routes(environ=environ).route("bedrock/anthropic.claude-opus-5-5").candidates

    assert "env:AWS_ACCESS_KEY_ID" == candidate.account.name
    assert "https://bedrock-runtime.eu-west-1.amazonaws.com" == candidate.base_url
    assert "authorization" in {name.lower() for name in sent_headers(candidate)}


def test_cloud_credentials_are_not_looked_for_before_they_are_needed():
    environ = {"AWS_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "AKIA"}
    found = routes(environ=environ)
    (candidate,) = found.route("bedrock/anthropic.claude-opus-5-5").candidates

    assert "AWS credentials" == candidate.account.name
    assert "bedrock" not in found.providers_with_keys


def test_a_secret_that_went_away_is_said_before_anything_changes():
    with pytest.raises(UsageError, match="the environment variable GONE is not set"):
        routes(openai={"keys": ["env:GONE"]})


def test_servers_of_the_own_machine_are_for_callers_of_the_own_machine():
    """Whoever comes from elsewhere cannot reach into the gateway's machine, unless the config says so."""

    def at(host, **upstreams):
        server = ServerSettings(host=host)
        return Routes(
            GatewayConfig(server=server, keys={"team": "env:A"}, upstreams=upstreams), ENVIRON
        )

    assert ["ollama/qwen3:8b"] == reached(at("127.0.0.1"), "ollama/qwen3:8b")
    assert ["ollama/qwen3"] == reached(at("0.0.0.0", ollama=UpstreamSettings()), "ollama/qwen3")
    with pytest.raises(NotConfiguredError, match=r"list it as \[upstreams.ollama\]"):
        at("0.0.0.0").route("ollama/qwen3")
    assert ["openai/x"] == reached(at("0.0.0.0"), "openai/x")


# ---- lists -----------------------------------------------------------------------------------------


def test_names_are_those_that_can_be_asked():
    found = routes(entry("sonnet", "anthropic/claude-sonnet-5-5"), entry("claude-*", "anthropic/x"))
    names = found.names()

    assert "sonnet" == names[0]
    assert {"anthropic/claude-opus-5-5", "openai/gpt-5.6", "gemini/gemini-3.5-flash"} <= set(names)
    assert not [name for name in names if "*" in name or name.startswith("xai/")]
    assert len(set(names)) == len(names)
    for name in names:
        assert found.route(name).candidates


def test_providers_with_keys():
    found = routes(
        environ={**ENVIRON, "XAI_API_KEY": "  "},
        mistral={"keys": ["env:A"]},
        box={"base_url": "http://10.0.0.5/v1"},
    )

    assert ("mistral", "anthropic", "openai", "gemini") == found.providers_with_keys


def test_an_upstream_with_an_address_is_listed_without_a_key():
    found = routes(openai={"base_url": "http://10.0.0.5/v1"})

    assert ("anthropic", "gemini") == found.providers_with_keys
    assert "openai/gpt-5.6" in found.names()


def test_nothing_is_listed_without_keys():
    assert ((), ()) == (routes(environ={}).names(), routes(environ={}).providers_with_keys)


# ---- the emulator ----------------------------------------------------------------------------------


def test_with_the_emulator_any_key_does():
    urls = {"openai": "http://emulator/openai/v1", "custom": "http://emulator/custom"}
    found = routes(
        environ={},
        base_url_of=urls.__getitem__,
        openai={"keys": ["env:NOPE", "env:NADA"]},
        box={"base_url": "http://10.0.0.5/v1", "keys": ["env:NOPE"]},
    )
    first, second = found.route("gpt-5.6").candidates
    (box,) = found.route("box/x").candidates

    assert ("http://emulator/openai/v1", False) == (first.base_url, first.is_default_url)
    assert ["env:NOPE", "env:NADA"] == [first.target.scope, second.target.scope]
    assert sent_headers(first)["authorization"]
    assert "http://emulator/custom" == box.base_url
    assert {"openai/gpt-5.6"} <= set(found.names())
    with pytest.raises(NotConfiguredError):
        found.route("anthropic/x")
