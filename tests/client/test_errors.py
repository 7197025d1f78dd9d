"""Errors: typed by status, telling what is known, and holding no key."""

import pickle
import traceback

import pytest

import innervoice as iv
from client.faulty import Faulty, whole
from client.harness import KEY, ask
from innervoice.canon.response import Failure
from innervoice.client.deadline import Deadline
from innervoice.client.error_mapping import failure_error, refusal_error, scrubbed, secrets_of


def refused(status, body=b'{"error": {"type": "t", "code": "c", "message": "m"}}', **headers):
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return refusal_error(status, named, body, now=0.0, secrets=())


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, iv.BadRequestError),
        (401, iv.AuthenticationError),
        (402, iv.ProviderError),
        (403, iv.AuthenticationError),
        (404, iv.NotFoundError),
        (413, iv.BadRequestError),
        (422, iv.BadRequestError),
        (429, iv.RateLimitError),
        (500, iv.ServerError),
        (502, iv.ServerError),
        (503, iv.OverloadedError),
        (504, iv.ServerError),
        (529, iv.OverloadedError),
    ],
)
def test_typed_by_status(status, kind):
    error = refused(status)

    assert type(error) is kind
    assert (error.type, error.code, error.message, error.status) == ("t", "c", "m", status)


def test_overloaded_by_its_word():
    error = refused(500, b'{"error": {"type": "overloaded_error", "message": "m"}}')

    assert type(error) is iv.OverloadedError


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        (Failure(type="overloaded_error"), iv.OverloadedError),
        (Failure(type="rate_limit_error"), iv.RateLimitError),
        (Failure(type="ThrottlingException"), iv.RateLimitError),
        (Failure(type="UNAVAILABLE", code=503), iv.OverloadedError),
        (Failure(code="429"), iv.RateLimitError),
        (Failure(type="error", code="server_error"), iv.ServerError),
        (Failure(type="internalServerException"), iv.ServerError),
        (Failure(type="invalid_request_error"), iv.BadRequestError),
        (Failure(message="The model is overloaded"), iv.OverloadedError),
        (Failure(message="odd"), iv.ProviderError),
        (Failure(), iv.ProviderError),
    ],
)
def test_typed_by_words_inside_an_answer(failure, kind):
    assert type(failure_error(failure, ())) is kind


@pytest.mark.parametrize(
    "header", ["x-request-id", "request-id", "x-amzn-requestid", "apim-request-id"]
)
def test_request_id(header):
    assert refusal_error(500, {header: "r1"}, b"{}", now=0.0, secrets=()).request_id == "r1"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>Bad gateway</html>",
        b"null",
        b"[]",
        b'"text"',
        b"\xff\xfe",
        b'{"detail": "Not Found"}',
        b"{",
        b"5",
    ],
)
def test_any_body_of_a_refusal_is_survivable(body):
    error = refused(502, body)

    assert isinstance(error, iv.ServerError)
    assert error.message


def test_it_is_all_in_the_message():
    error = refused(429, retry_after="3", x_request_id="req_1").with_facts(provider="openai")

    assert str(error) == "t: c: m (openai, status 429, request req_1, retry after 3 s)"


def test_errors_can_be_pickled():
    for error in (
        refused(429, retry_after="3"),
        iv.TimedOutError("late", "idle").with_facts(provider="x", response=iv.Response()),
        iv.ProviderError("t", None, "m"),
    ):
        copy = pickle.loads(pickle.dumps(error))

        assert type(copy) is type(error)
        assert str(copy) == str(error)
        assert vars(copy) == vars(error)


def test_kinds_of_bedrock_stand_in_a_header():
    error = refused(400, b'{"message": "m"}', x_amzn_errortype="ValidationException:http://x/")

    assert error.type == "ValidationException"


@pytest.mark.parametrize("status", [200, 401, 500])
def test_a_host_that_repeats_the_key(status, kind):
    """It is in no text of the error, and in no traceback."""
    body = {"error": {"type": "auth", "message": f"bad key {KEY}", "header": f"Bearer {KEY}"}}
    with Faulty(whole(body, status)) as server:
        known = {"provider": "deepseek", "api_key": KEY, "base_url": server.url, "retries": 0}
        error = ask(kind, known).error
    shown = "".join(traceback.format_exception(error)) + repr(error) + str(error.args) + error.body

    assert KEY not in shown
    assert "bad key <key removed>" in shown


@pytest.mark.parametrize("value", [f"{KEY}\nInjected: yes", f"{KEY}\x00", f"{KEY}ü", 5])
def test_a_header_that_cannot_be_sent_is_not_shown(value):
    for kind in (iv.Client, iv.AsyncClient):
        with pytest.raises(iv.UsageError, match="the header 'x-api-key'") as caught:
            kind(headers={"x-api-key": value})

        assert KEY not in "".join(traceback.format_exception(caught.value, chain=True)[-1])


def test_a_key_of_the_environment_that_cannot_be_sent_is_not_shown():
    client = iv.Client(environ={"DEEPSEEK_API_KEY": f"{KEY}\nInjected: yes"})
    with pytest.raises(iv.UsageError, match="DEEPSEEK_API_KEY must be") as caught:
        client.ask("deepseek/deepseek-v4", "Hi")

    assert KEY not in str(caught.value)


def test_objects_hold_no_key_that_is_printed():
    client = iv.Client(keys={"openai": KEY}, headers={"authorization": KEY})

    assert KEY not in repr(client)
    assert KEY not in repr(vars(client))
    assert KEY not in repr(client._settings.keyring)


def test_secrets():
    secrets = secrets_of(
        {"authorization": "Bearer abcdefgh", "x-api-key": "short", "accept": "everything"}
    )

    assert secrets == {"Bearer abcdefgh", "abcdefgh"}
    assert scrubbed("x Bearer abcdefgh y abcdefgh", secrets) == "x <key removed> y <key removed>"


@pytest.mark.parametrize("base_url", ["nonsense", "ftp://x", "http://"])
def test_unusable_address(base_url, kind):
    known = {"provider": "deepseek", "api_key": KEY, "base_url": base_url, "retries": 0}

    assert isinstance(ask(kind, known).error, (iv.UsageError, iv.ConnectionFailedError))


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"timeout": 0}, "timeout must be"),
        ({"idle_timeout": -1}, "idle_timeout must be"),
        ({"retries": -1}, "retries must be"),
        ({"retries": True}, "retries must be"),
    ],
)
def test_settings_are_checked(settings, says):
    for kind in (iv.Client, iv.AsyncClient):
        with pytest.raises(iv.UsageError, match=says):
            kind(**settings)


@pytest.mark.parametrize(
    ("arguments", "fields", "says"),
    [
        (
            ("openai/gpt-5.6", "Hi"),
            {"temprature": 1},
            r"unexpected keyword argument 'temprature' \(did you mean 'temperature'\?\); accepted are system, tools",
        ),
        (("no-such-model", "Hi"), {}, "write 'provider/model'"),
        (("nobody/gpt-5.6", "Hi"), {}, "write 'provider/model'"),
        (("", "Hi"), {}, "model must be"),
        (("openai/gpt-5.6", 5), {}, "messages must be"),
        (("openai/gpt-5.6", [5]), {}, "messages must be"),
        (("openai/gpt-5.6", {"role": "user"}), {}, "messages must be"),
        (("openai/gpt-5.6", "Hi"), {"max_tokens": 0}, "max_tokens must be"),
    ],
)
def test_what_cannot_be_asked(arguments, fields, says):
    """It is said before anything is sent, and before a stream is entered."""
    client = iv.Client(keys={"openai": KEY})
    with pytest.raises(iv.UsageError, match=says):
        client.ask(*arguments, **fields)
    with pytest.raises(iv.UsageError, match=says):
        client.stream(*arguments, **fields)


def test_stream_cannot_be_told_not_to():
    with pytest.raises(iv.UsageError, match="unexpected keyword argument 'stream'"):
        iv.Client(keys={"openai": KEY}).stream("openai/gpt-5.6", "Hi", stream=False)


# ---- deadline --------------------------------------------------------------------------------------


def test_patience_counts_waiting_alone():
    """The time between two waits is the reader's own."""
    now = [0.0]
    deadline = Deadline(10.0, 5.0, 4.0, clock=lambda: now[0])
    with deadline:
        now[0] += 3
    now[0] += 1000
    assert deadline.left == 7
    assert deadline.limit() == 4
    assert deadline.timed_out(connecting=False).limit == "idle"
    deadline.spend(5)
    assert deadline.limit() == 2
    assert deadline.timed_out(connecting=False).limit == "total"
    assert deadline.timeouts() == {"connect": 2, "read": 2, "write": 2, "pool": 2}
    deadline.spend(50)
    assert deadline.limit() == 0


def test_patience_without_limits():
    deadline = Deadline(None, None, None)

    assert deadline.limit() is None
    assert deadline.timeouts() == {"connect": None, "read": None, "write": None, "pool": None}
    assert Deadline(None, 5.0, None).timeouts()["connect"] == 5
