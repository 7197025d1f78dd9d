"""What is too large, too deep or no JSON is refused, in words and before any work is done with it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.harness import Served
from innervoice.gateway.config import GatewayConfig
from innervoice.gateway.incoming import check_head, checked_body
from innervoice.gateway.limits import Limits
from innervoice.wire.refusals import Refused

LIMITS = Limits(body_bytes=1000, depth=5, messages=3, header_bytes=500)


def refusal(body, limits=LIMITS):
    with pytest.raises(Refused) as raised:
        checked_body(body, limits)
    return raised.value.refusal


def head_refusal(**headers):
    with pytest.raises(Refused) as raised:
        check_head({name.replace("_", "-"): value for name, value in headers.items()}, LIMITS)
    return raised.value.refusal


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'{"a": 1,\n "b" 2}', "line 2 column 6 (char 14)"),
        (b'{"a": ', "line 1 column 7 (char 6)"),
        (b'{"a": "\xff"}', "byte 7 is not UTF-8"),
        (b"model=a&stream=1", "line 1 column 1 (char 0)"),
        (b'{"a": 1} {"b": 2}', "char 9"),
        (b"", "empty"),
        (b" \n", "empty"),
        (b"[]", "a JSON object, not a list"),
        (b'"a"', "a JSON object, not a string"),
        (b"3", "a JSON object, not a number"),
        (b"1.5", "a JSON object, not a number"),
        (b"true", "a JSON object, not a boolean"),
        (b"null", "a JSON object, not null"),
    ],
)
def test_a_body_that_is_no_json_object_and_where(body, words):
    refused = refusal(body)
    assert 400 == refused.status
    assert words in refused.text


def test_nothing_of_the_body_is_repeated():
    """Errors are logged, and a body may hold anything."""
    assert "secret" not in refusal(b'{"key": secret-words}').text


def test_the_largest_body():
    filled = b'{"a": "' + b"x" * (1000 - 9) + b'"}'
    assert 1000 == len(filled)
    assert {"a"} == checked_body(filled, LIMITS).keys()
    refused = refusal(filled + b" ")
    assert (413, True) == (refused.status, "1000 bytes" in refused.text)


def test_the_deepest_body():
    assert checked_body(b'{"a":' * 4 + b"{}" + b"}" * 4, LIMITS)
    refused = refusal(b'{"a":' * 5 + b"{}" + b"}" * 5)
    assert (400, True) == (refused.status, "5 levels" in refused.text)


@pytest.mark.parametrize("opening", [b"[", b'{"a":'])
def test_a_body_too_deep_to_be_read_at_all(opening):
    closing = b"]" if opening == b"[" else b"}"
    body = b'{"a":' + opening * 200_000 + b"1" + closing * 200_000 + b"}"
    assert "levels deep" in refusal(body, Limits()).text


@pytest.mark.parametrize("member", ["messages", "contents", "input"])
def test_too_many_messages(member):
    assert checked_body(json.dumps({member: [1, 2, 3]}).encode(), LIMITS)
    refused = refusal(json.dumps({member: [1, 2, 3, 4]}).encode())
    assert (413, member) == (refused.status, refused.param)
    assert f"{member} has 4 items; at most 3" in refused.text


@pytest.mark.parametrize(
    "kind",
    [
        "application/json", "application/json; charset=utf-8", "Application/JSON", "application/vnd.api+json", "text/json",
        # Programs that do not say what they send: curl -d, and HTTP libraries with their default.
        "", "text/plain", "text/plain; charset=utf-8", "application/x-www-form-urlencoded", "application/octet-stream",
    ],
)  # fmt: skip
def test_content_types_that_are_read(kind):
    check_head({"content-type": kind}, LIMITS)


def test_no_content_type():
    check_head({}, LIMITS)


@pytest.mark.parametrize(
    "kind", ["multipart/form-data; boundary=a", "application/xml", "image/png", "jsonx/a", "x"]
)
def test_content_types_that_are_not(kind):
    refused = head_refusal(content_type=kind)
    assert 415 == refused.status
    assert f"must be application/json, not '{kind}'" in refused.text


@pytest.mark.parametrize("length", ["1001", "9" * 5000, "0" * 30 + "2000"])
def test_a_length_that_is_too_large_is_refused_before_the_body_comes(length):
    with pytest.raises(Refused) as raised:
        check_head({"content-length": length}, Limits(body_bytes=1000))
    assert 413 == raised.value.refusal.status


@pytest.mark.parametrize("length", ["-1", "1e3", "x", "", "²", "+5"])
def test_a_length_that_is_no_number(length):
    assert 400 == head_refusal(content_length=length).status


def test_two_ways_to_say_where_the_body_ends():
    assert 400 == head_refusal(content_length="3", transfer_encoding="chunked").status
    check_head({"transfer-encoding": "chunked"}, LIMITS)


def test_a_compressed_body():
    assert 415 == head_refusal(content_encoding="gzip").status
    check_head({"content-encoding": "identity"}, LIMITS)


def test_large_headers():
    assert 431 == head_refusal(cookie="a" * 500).status


@given(st.binary(max_size=80))
def test_any_bytes_are_an_object_or_refused(body):
    try:
        status, value = 200, checked_body(body, LIMITS)
    except Refused as refused:
        status, value = refused.refusal.status, {}
    assert status in (200, 400, 413)
    assert isinstance(value, dict)


HOSTS = {
    "127.0.0.1:8807": 200, "localhost": 200, "localhost:8807": 200, "[::1]:8807": 200, "127.1.2.3": 200, "me.localhost:1": 200,
    "evil.example": 403, "evil.example:8807": 403, "127.0.0.1.evil.example": 403, "10.0.0.1": 403, "localhost.evil.example": 403,
    "[::1": 403, "127.0.0.1@evil.example": 403, "a" * 300: 403,
}  # fmt: skip


@pytest.mark.parametrize("host", HOSTS)
def test_without_keys_a_request_names_this_machine(host):
    """A page whose name is made to point at this machine sends its own name."""
    reply = Served().ask("GET", "/v1/models", None, {"host": host})
    assert HOSTS[host] == reply.status


@pytest.mark.parametrize("host", ["gateway.example", "127.0.0.1"])
def test_with_keys_any_name_is_served(host):
    config = GatewayConfig(keys={"alice": "env:ALICE"})
    served = Served(config, environ={"ALICE": "alice's own key, which is long"})
    headers = {"host": host, "x-api-key": "alice's own key, which is long"}
    assert 200 == served.ask("GET", "/v1/models", None, headers).status
