"""The page for Prometheus: its format, its numbers, and what never becomes a label."""

import contextlib
import os
import re
import signal
import time
from collections import Counter
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.test_server import WAIT, listening
from innervoice.canon.usage import Usage
from innervoice.gateway.operations.metrics import Metrics, retire
from innervoice.gateway.report import Report

# ---- a strict reader of the text format, version 0.0.4 ---------------------------------------------

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"'
SAMPLE = re.compile(rf"({NAME})(?:\{{({LABEL}(?:,{LABEL})*)\}})? (-?[0-9.e+-]+|\+Inf|NaN)")


class Sample(NamedTuple):
    name: str
    labels: tuple
    value: float


def parsed(page):
    """Family -> (kind, samples); every rule that is broken is an error."""
    assert page.endswith("\n")
    families = {}
    current = None
    for line in page.removesuffix("\n").split("\n"):
        if line.startswith("# HELP "):
            name, text = line.removeprefix("# HELP ").split(" ", 1)
            assert re.fullmatch(NAME, name)
            assert text
            assert name not in families
            current = name
        elif line.startswith("# TYPE "):
            name, kind = line.removeprefix("# TYPE ").split(" ")
            assert name == current
            assert kind in ("counter", "gauge", "histogram")
            families[name] = (kind, [])
        else:
            kind, samples = families[current]
            samples.append(sample(line, current, kind))
    for name, (kind, samples) in families.items():
        assert len(samples) == len({(one.name, one.labels) for one in samples})
        if kind == "histogram":
            check_histogram(name, samples)
    return families


def sample(line, family, kind):
    found = SAMPLE.fullmatch(line)
    assert found, line
    name = found[1]
    endings = ("_bucket", "_sum", "_count") if kind == "histogram" else ("",)
    assert name in [family + ending for ending in endings]
    unescaped = {"\\\\": "\\", '\\"': '"', "\\n": "\n"}
    labels = tuple(
        (label, re.sub(r"\\[\\\"n]", lambda match: unescaped[match[0]], value))
        for label, value in re.findall(LABEL, found[2] or "")
    )
    return Sample(name, labels, float(found[found.lastindex]))


def check_histogram(name, samples):
    rows = {}
    for one in samples:
        labels = tuple(pair for pair in one.labels if pair[0] != "le")
        rows.setdefault(labels, []).append(one)
    for row in rows.values():
        *buckets, total, count = row
        assert [f"{name}_sum", f"{name}_count"] == [total.name, count.name]
        bounds = [float(dict(bucket.labels)["le"]) for bucket in buckets]
        counts = [bucket.value for bucket in buckets]
        assert bounds == sorted(set(bounds))
        assert float("inf") == bounds[-1]
        assert counts == sorted(counts)
        assert count.value == counts[-1]


def value(page, name, **labels):
    """One number of a page; 0 if it is not there."""
    samples = [one for _, samples in parsed(page).values() for one in samples]
    return sum(one.value for one in samples if one.name == name and dict(one.labels) == labels)


def report(**fields):
    return Report(
        **{"id": "id", "tenant": "t", "dialect": "anthropic", "provider": "openai", **fields}
    )


# ---- one worker ------------------------------------------------------------------------------------


def test_an_empty_page():
    page = Metrics().page()
    assert 0 == value(page, "innervoice_open_streams")
    assert 1 == value(page, "innervoice_workers")
    assert 18 == len(parsed(page))


def test_what_a_report_adds():
    metrics = Metrics()
    for _ in range(2):
        usage = Usage(
            input_tokens=1204, output_tokens=310, reasoning_tokens=96, cached_input_tokens=1000
        )
        metrics.add(
            report(
                status=200, way="bytes", attempts=2, kept=3, restored=2, omitted=1,
                first_byte=0.42, total=3.1, usage=usage,
            )
        )  # fmt: skip
    metrics.add(report(dialect="gemini", status=429, error="rate_limit", store="degraded"))
    metrics.add(report(provider="", status=404, error="unknown_model", store="off"))
    page = metrics.page()

    requests = "innervoice_requests_total"
    assert 2 == value(page, requests, dialect="anthropic", provider="openai", status="2xx", way="bytes")  # fmt: skip
    assert 1 == value(page, requests, dialect="gemini", provider="openai", status="4xx", way="canon")  # fmt: skip
    assert 1 == value(page, requests, dialect="anthropic", provider="none", status="4xx", way="canon")  # fmt: skip
    assert 1 == value(page, "innervoice_errors_total", provider="openai", kind="rate_limit")
    assert 1 == value(page, "innervoice_errors_total", provider="none", kind="unknown_model")
    assert 4 == value(page, "innervoice_attempts_total", provider="openai")
    tokens = {"input": 2408, "output": 620, "reasoning": 192, "cached": 2000}
    assert tokens == {
        kind: value(page, "innervoice_tokens_total", provider="openai", kind=kind)
        for kind in tokens
    }
    outcomes = {"kept": 6, "restored": 4, "omitted": 2}
    assert outcomes == {
        outcome: value(page, "innervoice_reasoning_total", provider="openai", outcome=outcome)
        for outcome in outcomes
    }
    states = {"ok": 2, "off": 1, "degraded": 1}
    assert states == {state: value(page, "innervoice_store_total", state=state) for state in states}
    assert 0 == value(page, "innervoice_store_degraded")  # the last one did not need it
    first = "innervoice_first_piece_seconds"
    assert 0 == value(page, f"{first}_bucket", provider="openai", le="0.25")
    assert 2 == value(page, f"{first}_bucket", provider="openai", le="0.5")
    assert 2 == value(page, f"{first}_count", provider="openai")
    assert 0.84 == pytest.approx(value(page, f"{first}_sum", provider="openai"))
    assert 6.2 == pytest.approx(value(page, "innervoice_request_seconds_sum", provider="openai"))


def test_a_bound_belongs_to_its_bucket():
    metrics = Metrics()
    for seconds in (0.1, 0.1000001, 1e9):
        metrics.add(report(first_byte=seconds))
    page = metrics.page()
    name = "innervoice_first_piece_seconds_bucket"
    found = [value(page, name, provider="openai", le=le) for le in ("0.1", "0.25", "600", "+Inf")]
    assert [1, 2, 2, 3] == found


@pytest.mark.parametrize(
    ("status", "expected"),
    [(0, "none"), (204, "2xx"), (302, "3xx"), (404, "4xx"), (499, "left"), (529, "5xx"), (-7, "none"), (9999, "none")],
)  # fmt: skip
def test_classes_of_status(status, expected):
    metrics = Metrics()
    metrics.add(report(status=status))
    labels = {"dialect": "anthropic", "provider": "openai", "way": "canon"}
    assert 1 == value(metrics.page(), "innervoice_requests_total", status=expected, **labels)


def test_open_streams():
    metrics = Metrics()
    metrics.stream_opened()
    metrics.stream_opened()
    metrics.stream_closed()
    assert 1 == value(metrics.page(), "innervoice_open_streams")


# ---- labels ----------------------------------------------------------------------------------------


def test_the_models_of_callers_are_no_labels():
    metrics = Metrics()
    metrics.add(report(asked="asked-name", model="model-name", account="env:A", tenant="somebody"))
    for secret in ("asked-name", "model-name", "env:A", "somebody"):
        assert secret not in metrics.page()


def test_how_many_values_a_label_has_is_bounded():
    metrics = Metrics()
    for number in range(1000):
        metrics.add(report(provider=f"p{number}", dialect=f"d{number}", error=f"e{number}"))
    samples = parsed(metrics.page())["innervoice_errors_total"][1]
    assert 201 == len({dict(one.labels)["provider"] for one in samples})
    assert 1000 == sum(one.value for one in samples)
    assert {"other"} == {
        dict(one.labels)["dialect"]
        for one in parsed(metrics.page())["innervoice_requests_total"][1]
    }
    metrics.add(report(provider="x" * 65))
    assert "x" * 65 not in metrics.page()


@given(provider=st.text(max_size=20), kind=st.text(max_size=20))
def test_whatever_a_value_is_the_page_can_be_read(provider, kind):
    metrics = Metrics()
    metrics.add(report(provider=provider, error=kind or "x", first_byte=1))
    samples = parsed(metrics.page())["innervoice_errors_total"][1]
    assert [{"provider": provider or "none", "kind": kind or "x"}] == [
        dict(one.labels) for one in samples
    ]


def test_a_half_character_does_not_break_the_page():
    metrics = Metrics()
    metrics.add(report(provider="\ud800"))
    assert 1 == value(metrics.page(), "innervoice_store_total", state="ok")
    metrics.page().encode("utf-8")


# ---- several workers -------------------------------------------------------------------------------


def test_counts_of_two_workers_are_added_and_those_of_the_dead_stay(tmp_path):
    requests = {"dialect": "anthropic", "provider": "openai", "status": "2xx", "way": "canon"}
    with listening(workers=2, metrics=str(tmp_path)) as served:
        asked = Counter()

        def ask(path):
            with contextlib.closing(served.connect()) as connection:
                connection.request("GET", "/pid")
                asked[int(connection.getresponse().read())] += 1
                connection.request("GET", path)
                return connection.getresponse().read().decode()

        while len(asked) < 2 or asked.total() < 30:
            assert "counted" == ask("/count")
        time.sleep(1.3)  # a worker writes its file within a second

        pages = [served.get("/metrics") for _ in range(20)]
        assert {asked.total()} == {value(page, "innervoice_requests_total", **requests) for page in pages}  # fmt: skip
        assert {2} == {value(page, "innervoice_workers") for page in pages}

        os.kill(next(iter(asked)), signal.SIGKILL)
        served.line()
        served.streams_of_both(0)
        deadline = time.monotonic() + WAIT
        while 2 != value(page := served.get("/metrics"), "innervoice_workers"):
            assert time.monotonic() < deadline
        assert asked.total() == value(page, "innervoice_requests_total", **requests)


def test_gauges_of_the_dead_do_not_stay(tmp_path):
    metrics = Metrics()
    metrics.share(tmp_path)
    metrics.add(report(total=1.0, store="degraded"))
    metrics.stream_opened()
    assert 1 == value(metrics.page(), "innervoice_open_streams")
    retire(tmp_path, os.getpid())
    other = Metrics()
    other.share(tmp_path)
    page = other.page()
    assert 1 == value(page, "innervoice_request_seconds_count", provider="openai")
    assert 1 == value(page, "innervoice_store_total", state="degraded")
    gauges = ("innervoice_open_streams", "innervoice_store_degraded", "innervoice_workers")
    assert [0, 0, 1] == [value(page, name) for name in gauges]


def test_a_folder_that_somebody_removed_is_made_again(tmp_path):
    metrics = Metrics()
    metrics.share(tmp_path / "shared")
    metrics.add(report(total=1.0))
    for file in (tmp_path / "shared").iterdir():
        file.unlink()
    (tmp_path / "shared").rmdir()
    assert 1 == value(metrics.page(), "innervoice_request_seconds_count", provider="openai")
