"""Who may see the page: names, origins, the token, methods, files, and what every response says to a browser."""

import pytest

from innervoice.view.guard import is_loopback
from innervoice.view.library import Library
from view.calling import COOKIE, TOKEN, app_of, call, get
from view.session_files import session

OWN = "127.0.0.1:8809"


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    folder = tmp_path_factory.mktemp("named")
    (folder / "session.jsonl").write_bytes(session())
    (folder.parent / "secret.jsonl").write_bytes(session("never shown"))
    return Library([folder])


@pytest.fixture
def app(shelf):
    return app_of(shelf)


HOSTS = {
    "127.0.0.1:8809": True,
    "localhost:8809": True,
    "LOCALHOST:8809": True,
    "[::1]:8809": True,
    "127.0.0.1": True,
    "127.0.0.1:9999": False,
    "evil.example": False,
    "evil.example:8809": False,
    "localhost.evil.example:8809": False,
    "127.0.0.1.evil.example": False,
    "192.168.1.7:8809": False,
    "0.0.0.0:8809": False,
    "": False,
    "127.0.0.1:8809@evil.example": False,
    "[::1": False,
}


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("path", ["/", "/assets/main.js", "/api/sources", "/nothing"])
def test_only_its_own_names(app, host, path):
    answer = call(app, path, headers={"host": host, "cookie": COOKIE})
    assert HOSTS[host] == (answer.status != 403)


@pytest.mark.parametrize("other", [OWN, "evil.example"])
def test_a_request_with_two_hosts(app, other):
    """A proxy may look at one of them, and the viewer at the other."""
    for hosts in ((OWN, other), (other, OWN)):
        headers = [*(("host", host) for host in hosts), ("cookie", COOKIE)]
        assert 403 == call(app, "/api/about", headers=headers).status


def test_a_request_without_a_host(app):
    assert 403 == call(app, "/api/about", headers={"cookie": COOKIE}).status


@pytest.mark.parametrize(
    ("host", "is_own"),
    [("192.168.1.7:8809", True), ("box.lan:8809", True), ("evil.example:8809", False)],
)
def test_on_another_address_numbers_and_the_given_name(shelf, host, is_own):
    app = app_of(shelf, hosts=("localhost", "box.lan"), only_loopback=False)
    status = call(app, "/api/about", headers={"host": host, "cookie": COOKIE}).status
    assert (200 if is_own else 403) == status


ORIGINS = {
    "http://127.0.0.1:8809": 200,
    "http://127.0.0.1:1234": 403,
    "https://127.0.0.1:8809": 403,
    "http://localhost:8809": 403,
    "http://evil.example": 403,
    "null": 403,
    "": 403,
}


@pytest.mark.parametrize("origin", ORIGINS)
def test_only_its_own_origin(app, origin):
    headers = {"host": OWN, "cookie": COOKIE, "origin": origin}
    assert ORIGINS[origin] == call(app, "/api/about", headers=headers).status


@pytest.mark.parametrize(
    ("site", "status"),
    [("same-origin", 200), ("none", 200), ("same-site", 403), ("cross-site", 403), ("odd", 403)],
)
def test_only_its_own_pages(app, site, status):
    headers = {"host": OWN, "cookie": COOKIE, "sec-fetch-site": site}
    assert status == call(app, "/api/about", headers=headers).status


PATHS = ["/", "/assets/main.js", "/api/about", "/api/sources", "/api/live", "/api/c/x", "/api/export/x", "/nothing"]  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "cookie",
    [None, "innervoice-view-8809=", "innervoice-view-8809=wrong", f"innervoice-view-1={TOKEN}", f"token={TOKEN}", "ü=1"],
)  # fmt: skip
def test_without_the_token_nothing_is_told(app, path, cookie):
    headers = {"host": OWN} | ({} if cookie is None else {"cookie": cookie})
    answer = call(app, path, headers=headers)
    assert 403 == answer.status
    assert "token" in answer.json["error"]


def test_the_first_address_gives_a_cookie_and_leads_to_the_page(app):
    answer = call(app, "/", query=f"token={TOKEN}&q=a%20b", headers={"host": OWN})
    assert 303 == answer.status
    assert "/?q=a+b" == answer.headers["location"]
    cookie, *rules = answer.headers["set-cookie"].split("; ")
    assert COOKIE == cookie
    assert {"HttpOnly", "Path=/", "SameSite=strict"} == set(rules)


@pytest.mark.parametrize("query", ["token=wrong", "token=", "Token=" + TOKEN])
def test_a_wrong_token(app, query):
    assert 403 == call(app, "/", query=query, headers={"host": OWN}).status


def test_the_token_counts_at_the_first_address_only(app):
    answer = call(app, "/api/about", query=f"token={TOKEN}", headers={"host": OWN})
    assert 403 == answer.status


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "odd"])
@pytest.mark.parametrize("path", PATHS)
def test_it_only_reads(app, method, path):
    answer = get(app, path, method=method)
    assert 405 == answer.status
    assert "GET, HEAD" == answer.headers["allow"]
    assert answer.json["error"]


def test_head_is_get_without_a_body(app):
    whole = get(app, "/api/sources")
    head = get(app, "/api/sources", method="HEAD")
    assert (whole.status, whole.headers["content-length"]) == (head.status, head.headers["content-length"])  # fmt: skip


@pytest.mark.parametrize(
    "path",
    ["/assets/../app.py", "/assets/..", "/assets/.", "/assets/%2e%2e%2fapp.py", "/assets/..%2fapp.py", "/assets//etc/passwd",
     "/assets/app.py", "/assets/", "/assets/main.js/../../app.py", "/../secret.jsonl", "/api/c/..", "/api/c/../../secret.jsonl",
     "/api/c/secret.jsonl", "/api/c/%2e%2e%2fsecret.jsonl", "/api/export/..%2fsecret.jsonl", "/api/part/../0", "/assets/\x00", "/assets/main.js\x00.css"],
)  # fmt: skip
def test_no_way_out_of_the_named_paths(app, path):
    answer = get(app, path)
    assert 404 == answer.status
    assert b"never shown" not in answer.body
    assert answer.json["error"]


def test_a_link_out_of_a_folder_is_not_followed(tmp_path):
    folder = tmp_path / "named"
    folder.mkdir()
    (tmp_path / "secret.jsonl").write_bytes(session("never shown"))
    (folder / "own.jsonl").write_bytes(session("shown"))
    (folder / "link.jsonl").symlink_to(tmp_path / "secret.jsonl")
    (folder / "up").symlink_to(tmp_path)
    app = app_of(Library([folder]))
    listed = get(app, "/api/sources").json
    assert ["named/own.jsonl"] == [source["path"] for source in listed["sources"]]
    # A file that was listed, and became a link afterwards.
    (folder / "own.jsonl").unlink()
    (folder / "own.jsonl").symlink_to(tmp_path / "secret.jsonl")
    answer = get(app, f"/api/c/{listed['sources'][0]['first']}")
    assert 404 == answer.status
    assert b"never shown" not in answer.body


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("host", [OWN, "evil.example"])
@pytest.mark.parametrize("method", ["HEAD", "POST"])
def test_every_response_says_what_a_browser_may_do(app, path, host, method):
    headers = call(app, path, method=method, headers={"host": host, "cookie": COOKIE}).headers
    assert {
        "default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "img-src 'self' data:", "base-uri 'none'",
        "form-action 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'", "trusted-types 'none'",
    } == set(headers["content-security-policy"].split("; "))  # fmt: skip
    assert "nosniff" == headers["x-content-type-options"]
    assert "no-referrer" == headers["referrer-policy"]
    assert "same-origin" == headers["cross-origin-opener-policy"]
    assert "same-origin" == headers["cross-origin-resource-policy"]
    assert "no-store" == headers["cache-control"]
    assert "access-control-allow-origin" not in headers


def test_where_somebody_else_asks_who_it_is(shelf):
    """As below the gateway's own address."""
    app = app_of(shelf, token=None, hosts=None)
    assert 200 == call(app, "/api/about", headers={"host": "gateway.example"}).status
    foreign = {"host": "gateway.example", "origin": "http://evil.example"}
    assert 403 == call(app, "/api/about", headers=foreign).status


@pytest.mark.parametrize(
    ("host", "is_own"),
    [("127.0.0.1", True), ("127.8.8.8", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("::", False), ("box", False)],
)  # fmt: skip
def test_what_is_this_machine(host, is_own):
    assert is_own == is_loopback(host)
