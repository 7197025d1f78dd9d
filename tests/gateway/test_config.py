"""gateway.toml -> a config, or all of its problems at once, without a secret in them."""

import pickle
import string
from base64 import b64encode
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innervoice.errors import UsageError
from innervoice.gateway.config import (
    ConfigError,
    GatewayConfig,
    checked_tables,
    exposure_problem,
    load_config,
    secret,
    text_or_secret,
)
from innervoice.gateway.config.reading import Problems
from innervoice.gateway.config.secrets import key_bytes_of

SECRET = "sk-proj-AbCdEfGh1234567890"
ENVIRON = {"A": SECRET, "B": "sk-other-000000000000", "EMPTY": "  \n", "SHORT": "abc", "ODD": "kéy"}


@pytest.fixture
def load(tmp_path):
    def load(text, environ=ENVIRON, **options):
        path = tmp_path / "gateway.toml"
        path.write_text(text, "utf-8")
        return load_config(path, environ, **options)

    return load


@pytest.fixture
def problems_of(load):
    def problems_of(text, environ=ENVIRON, **options):
        with pytest.raises(ConfigError) as caught:
            load(text, environ, **options)
        for value in environ.values():
            assert value.strip() not in str(caught.value) or not value.strip()
        return list(caught.value.problems)

    return problems_of


EXAMPLE = """
[server]
store = "sqlite:gateway.db"
remember = "full"
log = "none"
ping_seconds = 5
[[models]]
name = "sonnet"
to = ["anthropic/claude-sonnet-5-5", "bedrock/anthropic.claude-sonnet-5-5"]
reasoning = { at_most = "high" }
[[models]]
name = "claude-*"
to = "anthropic/claude-*"
[upstreams.openai]
keys = ["env:A", "env:B"]
[upstreams.box]
base_url = "http://10.0.0.5:8000/v1"
dialect = "openai-responses"
headers = { x-team = "research", authorization = "env:A" }
[keys]
team = "env:B"
"""


def test_a_good_file(load):
    config = load(EXAMPLE)

    assert ("sqlite:gateway.db", "full", "none", 5) == (
        config.server.store,
        config.server.remember,
        config.server.log,
        config.server.ping_seconds,
    )
    assert 8807 == config.server.port
    sonnet, claude = config.models
    assert ("anthropic/claude-sonnet-5-5", "bedrock/anthropic.claude-sonnet-5-5") == sonnet.to
    assert "high" == sonnet.reasoning.at_most
    assert (("anthropic/claude-*",), True, None) == (
        claude.to,
        claude.is_glob,
        claude.reasoning.at_most,
    )
    assert ("env:A", "env:B") == config.upstreams["openai"].keys
    assert "http://10.0.0.5:8000/v1" == config.upstreams["box"].base_url
    assert {"team": "env:B"} == config.keys


def test_what_is_done_about_running_answers(load):
    config = load("""
[[models]]
name = "coder"
to = "vllm/qwen3"
reasoning = { at_most = "high", limit = 8000, loops = "answer" }
continue = true
[[models]]
name = "plain"
to = "vllm/qwen3"
""")
    coder, plain = (model.steering for model in config.models)

    assert (8000, "answer", True) == coder
    assert (None, None, False) == plain


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("reasoning = { limit = 0 }", "models[0].reasoning.limit: expected a number of tokens, 1 or more, got 0"),
        ("reasoning = { limit = true }", "models[0].reasoning.limit: expected a number of tokens, 1 or more, got true"),
        ('reasoning = { loops = "answr" }', "models[0].reasoning.loops: expected one of answer, stop, note, got 'answr'; did you mean 'answer'?"),
        ('continue = "yes"', "models[0].continue: expected true or false, got 'yes'"),
    ],
)  # fmt: skip
def test_what_is_no_setting_of_running_answers(problems_of, line, problem):
    assert [problem] == problems_of(f'[[models]]\nname = "m"\nto = "vllm/qwen3"\n{line}')


def test_a_config_holds_no_secret(load):
    config = load(EXAMPLE)

    assert SECRET not in repr(config)
    assert SECRET.encode() not in pickle.dumps(config)


def test_without_a_file_there_are_defaults():
    config = load_config(None, {})

    assert GatewayConfig() == config
    assert ("127.0.0.1", 8807, 32 * 1024 * 1024) == (
        config.server.host,
        config.server.port,
        config.server.body_bytes,
    )
    assert exposure_problem(config.server.host, config.keys) is None


SERVER_PROBLEMS = [
    ("prot = 1", "server.prot: unknown setting; did you mean 'port'?"),
    ("port = 70000", "server.port: expected a port from 0 to 65535, got 70000"),
    ("port = true", "server.port: expected a port from 0 to 65535, got true"),
    ("port = 80.5", "server.port: expected a port from 0 to 65535, got 80.5"),
    (
        'remember = "seal"',
        "server.remember: expected one of off, ram, seals, full, got 'seal'; did you mean 'seals'?",
    ),
    (
        'idle_seconds = "10"',
        "server.idle_seconds: expected a number of seconds above 0, got '10'",
    ),
    ("idle_seconds = nan", "server.idle_seconds: expected a number of seconds above 0, got nan"),
    ("retries = -1", "server.retries: expected a whole number from 0 to 10, got -1"),
    (
        'store = "redis://:hunter2@cache/0"',
        "server.store: expected a URL without a password; write 'env:NAME' for a URL with one",
    ),
    ('store = "env:NOPE"', "server.store: the environment variable NOPE is not set"),
    (
        'store = "mysql://x"',
        "server.store: expected 'ram', 'sqlite:FILE', 'redis://...', 'postgresql://...' or a reference, got 'mysql://x'",
    ),
]


@pytest.mark.parametrize(("line", "problem"), SERVER_PROBLEMS)
def test_a_problem_of_the_server(problems_of, line, problem):
    assert [problem] == problems_of(f"[server]\n{line}\n")


MODEL_PROBLEMS = [
    (
        'name = "a"\nto = "antropic/x"',
        "models[0].to: expected a provider or one of [upstreams], got 'antropic'; did you mean 'anthropic'?",
    ),
    (
        'name = "a"\nto = ["openai/x", "mene/x"]',
        "models[0].to[1]: expected a provider or one of [upstreams], got 'mene'; did you mean 'mine'?",
    ),
    (
        'name = "a"\nto = "claude-opus-5-5"',
        "models[0].to: expected 'provider/model', got 'claude-opus-5-5'; did you mean 'anthropic/claude-opus-5-5'?",
    ),
    (
        'name = "a"\nto = []',
        "models[0].to: expected 'provider/model' or a list of these, got a list of 0",
    ),
    ('name = "a"\nto = [3]', "models[0].to[0]: expected 'provider/model', got 3"),
    ('name = "a"', "models[0].to: expected 'provider/model' or a list of these, got nothing"),
    ('name = ""\nto = "openai/x"', "models[0].name: expected a name, got ''"),
    (
        'name = "a"\nto = "openai/x"\nreasoning = { at_most = "hihg" }',
        "models[0].reasoning.at_most: expected one of none, minimal, low, medium, high, xhigh, max, got 'hihg'; did you mean 'high'?",
    ),
    (
        'name = "a"\nto = "openai/x"\nreasoning = "high"',
        "models[0].reasoning: expected a table, got 'high'",
    ),
    ('name = "a"\nto = "openai/*"', "models[0].to: expected no `*`: the name has none, got '*'"),
    (
        'name = "a-*"\nto = "openai/*-*"',
        "models[0].to: expected no `*`, or 1 as in the name, got '*-*'",
    ),
    (
        'name = "a"\nto = ["openai/x", "openai/x"]',
        "models[0].to[1]: 'openai/x' is in the list twice",
    ),
    (
        'name = "a"\nto = "openai/https://evil"',
        "models[0].to: expected a model name of letters, digits and ._:/@+~=,-, got 'https://evil'",
    ),
    (
        'name = "a**"\nto = "openai/x"',
        "models[0].name: expected one `*` for any text; other wildcards are unknown",
    ),
    (
        'nam = "a"\nname = "b"\nto = "openai/x"',
        "models[0].nam: unknown setting; did you mean 'name'?",
    ),
]


@pytest.mark.parametrize(("lines", "problem"), MODEL_PROBLEMS)
def test_a_problem_of_a_model(problems_of, lines, problem):
    mine = '[upstreams.mine]\nbase_url = "http://127.0.0.1:9/v1"\n'

    assert [problem] == problems_of(f"[[models]]\n{lines}\n{mine}")


def test_an_entry_cannot_lead_to_another(problems_of):
    text = '[[models]]\nname = "a"\nto = "b"\n[[models]]\nname = "b"\nto = "openai/x"\n'

    assert [
        "models[0].to: 'b' is models[1]; an entry cannot point to another one; write the provider and the model"
    ] == problems_of(text)


def test_an_entry_may_have_the_name_of_what_it_leads_to(load):
    """A provider's model gets a second candidate without another name."""
    text = '[[models]]\nname = "openai/gpt-5.6"\nto = ["openai/gpt-5.6", "azure/gpt-5.6"]\n'

    assert 2 == len(load(text).models[0].to)


def test_names_and_globs_are_unique(problems_of):
    entry = '[[models]]\nname = "{}"\nto = "openai/x"\n'
    text = "".join(entry.format(name) for name in ("a", "b-*", "a", "b-*"))

    assert [
        "models[2].name: the name is not unique: models[0] is also 'a'",
        "models[3].name: this glob can never match: models[1] is also 'b-*'",
    ] == problems_of(text)


UPSTREAM_PROBLEMS = [
    (
        f'openai]\nkeys = ["{SECRET}"]',
        "upstreams.openai.keys[0]: expected a reference, 'env:NAME' or 'file:PATH', got another text; secrets are not written into the file",
    ),
    (
        f'openai]\nkeys = ["env:{SECRET}"]',
        "upstreams.openai.keys[0]: expected the name of an environment variable after 'env:'",
    ),
    (
        'openai]\nkeys = ["env:NOPE"]',
        "upstreams.openai.keys[0]: the environment variable NOPE is not set",
    ),
    ('openai]\nkeys = ["env:EMPTY"]', "upstreams.openai.keys[0]: the secret of env:EMPTY is empty"),
    (
        'openai]\nkeys = ["env:ODD"]',
        "upstreams.openai.keys[0]: expected printable ASCII characters in env:ODD, got others",
    ),
    (
        'openai]\nkeys = ["env:A", "env:A"]',
        "upstreams.openai.keys[1]: this reference is in the list twice",
    ),
    (
        'openai]\nkeys = ["file:/nowhere/key"]',
        "upstreams.openai.keys[0]: the file /nowhere/key cannot be read: No such file or directory",
    ),
    (
        "openai]\nkeys = []",
        "upstreams.openai.keys: expected a list of references, such as ['env:NAME'], or 'caller', got a list of 0",
    ),
    (
        f'openai]\nkeys = "{SECRET}"',
        f"upstreams.openai.keys: expected a list of references, such as ['env:NAME'], or 'caller', got a text of {len(SECRET)} characters",
    ),
    (
        'opnai]\nkeys = ["env:A"]',
        "upstreams.opnai.base_url: expected a URL, since 'opnai' is not a provider; did you mean 'openai'?",
    ),
    (
        'mine]\nprovider = "vlm"',
        "upstreams.mine.provider: expected a provider, got 'vlm'; did you mean 'vllm'?",
    ),
    (
        'openai]\nprovider = "azure"',
        "upstreams.openai.provider: 'openai' is the name of a provider, so it cannot stand for 'azure'; choose another name",
    ),
    (
        'mine]\nbase_url = "ftp://host"',
        "upstreams.mine.base_url: expected a URL, such as 'https://host/v1', got 'ftp://host'",
    ),
    (
        'mine]\nbase_url = "https:///v1"',
        "upstreams.mine.base_url: expected a URL, such as 'https://host/v1', got 'https:///v1'",
    ),
    (
        'mine]\nbase_url = "http://host:no/v1"',
        "upstreams.mine.base_url: expected a URL, such as 'https://host/v1', got 'http://host:no/v1'",
    ),
    (
        f'mine]\nbase_url = "https://me:{SECRET}@host"',
        "upstreams.mine.base_url: expected a URL without a key or a password; put the key into `keys`",
    ),
    (
        f'mine]\nbase_url = "https://host/v1?api_key={SECRET}"',
        "upstreams.mine.base_url: expected a URL without a key or a password; put the key into `keys`",
    ),
    (
        'mine]\nbase_url = "http://h"\ndialect = "openai"',
        "upstreams.mine.dialect: expected one of openai-chat, anthropic, openai-responses, gemini, gemini-interactions, bedrock-converse, mistral, cohere, ollama, got 'openai'; did you mean 'openai-chat'?",
    ),
    (
        f'openai]\nheaders = {{ Authorization = "Bearer {SECRET}" }}',
        "upstreams.openai.headers.Authorization: expected a reference, 'env:NAME' or 'file:PATH', got another text; secrets are not written into the file",
    ),
    (
        f'openai]\nheaders = {{ x-my-token = "{SECRET}" }}',
        "upstreams.openai.headers.x-my-token: expected a reference, 'env:NAME' or 'file:PATH', got another text; secrets are not written into the file",
    ),
    (
        'openai]\nheaders = { Host = "evil" }',
        "upstreams.openai.headers.Host: the gateway sets this header itself; it cannot be configured",
    ),
    (
        'openai]\nheaders = { x-a = "a\\nb" }',
        "upstreams.openai.headers.x-a: expected a text of printable ASCII characters, or a reference",
    ),
    (
        "claude]\n[upstreams.anthropic]",
        "upstreams.anthropic: this provider already has a table: upstreams.claude",
    ),
]


@pytest.mark.parametrize(("lines", "problem"), UPSTREAM_PROBLEMS)
def test_a_problem_of_an_upstream(problems_of, lines, problem):
    assert [problem] == problems_of(f"[upstreams.{lines}\n")


def test_with_the_emulator_no_upstream_needs_a_key(load, problems_of):
    assert ("env:NOPE",) == load(
        '[upstreams.openai]\nkeys = ["env:NOPE"]', emulated=True
    ).upstreams["openai"].keys
    assert 1 == len(problems_of(f'[upstreams.openai]\nkeys = ["{SECRET}"]', emulated=True))


# ---- callers ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.4", "gateway.example.org"])
def test_other_machines_need_keys(problems_of, load, host):
    (problem,) = problems_of(f'[server]\nhost = "{host}"\n')

    assert problem.startswith(f"server.host: other machines can reach {host!r}")
    assert "[keys]" in problem
    assert host == load(f'[server]\nhost = "{host}"\n[keys]\nteam = "env:A"').server.host


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "localhost", "LOCALHOST"])
def test_this_machine_needs_none(load, host):
    assert host == load(f'[server]\nhost = "{host}"\n').server.host


def test_problems_of_callers(problems_of):
    text = f'[keys]\na = "env:EMPTY"\nb = "{SECRET}"\nc = 3\nd = "env:A"\ne = "env:A"\n{SECRET} = "env:B"\n'

    assert [
        "keys.a: the secret of env:EMPTY is empty",
        "keys.b: expected a reference, 'env:NAME' or 'file:PATH', got another text; secrets are not written into the file",
        "keys.c: expected a reference, 'env:NAME' or 'file:PATH', got 3",
        "keys.e: the key is the same as that of keys.d",
        f"keys.a text of {len(SECRET)} characters: expected a caller's name of letters, digits, '.', '_', '@' and '-'",
    ] == problems_of(text)


def test_a_key_is_long_where_others_can_try_it(problems_of, load):
    short = '[keys]\na = "env:SHORT"\n'

    assert [
        "keys.a: expected a key of 16 characters or more, since other machines can reach the gateway"
    ] == problems_of(short + '[server]\nhost = "0.0.0.0"')
    assert {"a": "env:SHORT"} == load(short).keys


# ---- the file --------------------------------------------------------------------------------------


def test_every_problem_is_said_at_once(problems_of):
    text = (
        '[server]\nprot = 1\n[[models]]\nname = "a"\nto = ["opnai/x"]\n'
        '[upstreams.openai]\nkeys = ["env:NOPE"]\n[keys]\nb = "env:EMPTY"\n[modles]\n'
    )

    places = [problem.partition(":")[0] for problem in problems_of(text)]
    assert [
        "modles",
        "server.prot",
        "upstreams.openai.keys[0]",
        "models[0].to[0]",
        "keys.b",
    ] == places


def test_the_error_names_the_file_and_counts(tmp_path):
    path = tmp_path / "my.toml"
    path.write_text("[server]\nport = 1\nprot = 2\nhots = 3\n")

    with pytest.raises(
        ConfigError, match=r"my\.toml: 2 problems\n  server\.prot: .*\n  server\.hots: "
    ):
        load_config(path, {})


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(ConfigError, match="the file cannot be read: No such file"):
        load_config(tmp_path / "none.toml", {})


def test_a_file_that_is_not_toml(problems_of, tmp_path):
    (problem,) = problems_of("[server\nport = 1")
    assert problem.startswith("expected TOML: ")
    assert "line 1" in problem

    path = tmp_path / "bytes.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="expected TOML in UTF-8"):
        load_config(path, {})


VALUES = st.recursive(
    st.one_of(
        st.booleans(),
        st.integers(-10, 100_000),
        st.floats(),
        st.sampled_from(["env:A", "file:/x", "openai/gpt-5.6", "a", "a-*", "http://h/v1", SECRET]),
        st.text(string.printable, max_size=8),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(
                [
                    "server",
                    "models",
                    "upstreams",
                    "keys",
                    "name",
                    "to",
                    "reasoning",
                    "at_most",
                    "base_url",
                    "provider",
                    "dialect",
                    "headers",
                    "host",
                    "port",
                    "x",
                    "openai",
                ]
            ),
            inner,
            max_size=4,
        ),
    ),
    max_leaves=20,
)


@given(st.dictionaries(st.sampled_from(["server", "models", "upstreams", "keys", "x"]), VALUES))
def test_any_tables_are_either_used_or_refused(tables):
    """Whatever the file says: there are problems, or the rows accept it; and no secret is shown."""
    problems = Problems()
    checked = checked_tables(tables, ENVIRON, problems, emulated=False)

    assert SECRET not in "\n".join(problems.found)
    if not problems.found:
        assert isinstance(GatewayConfig.from_row(checked), GatewayConfig)


# ---- secrets ---------------------------------------------------------------------------------------


def test_secrets_of_the_environment_and_of_files(tmp_path):
    path = tmp_path / "key"
    path.write_text(f" {SECRET}\n")

    assert SECRET == secret("env:A", ENVIRON) == secret(f"file:{path}", {})
    assert "research" == text_or_secret("research", {})
    assert SECRET == text_or_secret("env:A", ENVIRON)


@pytest.mark.parametrize("key", [SECRET, "AIzaSyA1234567890", "0123456789abcdef0123456789abcdef"])
def test_a_key_behind_env_is_not_shown(key):
    with pytest.raises(UsageError) as caught:
        secret(f"env:{key}", {})

    assert "expected the name of an environment variable after 'env:'" == str(caught.value)


def test_long_names_of_variables():
    name = "OUR_TEAM_AZURE_OPENAI_PRODUCTION_API_KEY"

    assert "x" == secret(f"env:{name}", {name: "x"})
    with pytest.raises(UsageError, match=f"the environment variable {name} is not set"):
        secret(f"env:{name}", {})


@pytest.mark.parametrize("reference", [SECRET, "", "env:", "file:", "ENV:A", "http://x"])
def test_a_value_is_not_a_reference(reference):
    with pytest.raises(UsageError, match="expected a reference") as caught:
        secret(reference, ENVIRON)

    assert SECRET not in str(caught.value)


def test_a_file_of_bytes_or_blanks(tmp_path):
    path = Path(tmp_path / "key")
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="cannot be read: it is not text"):
        secret(f"file:{path}", {})
    path.write_bytes(b" \n")
    with pytest.raises(UsageError, match="is empty"):
        secret(f"file:{path}", {})


# ---- the gateway's own key -------------------------------------------------------------------------

RAW = bytes(range(32))
BASE64 = b64encode(RAW).decode()
WORDS = "correct horse battery staple, and a few words more"


def test_the_gateways_key_is_a_reference(load):
    assert "env:K" == load('[server]\nkey = "env:K"', {"K": BASE64}).server.key


def test_32_bytes_in_base64_are_the_key_itself():
    assert RAW == key_bytes_of(BASE64)


def test_any_other_text_gives_32_bytes_of_its_own():
    made = [key_bytes_of(text) for text in (WORDS, WORDS + "!", b64encode(RAW * 2).decode())]  # fmt: skip

    assert [32, 32, 32] == list(map(len, made))
    assert 3 == len(set(made))


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("env:NOT_THERE", "server.key: the environment variable NOT_THERE is not set"),
        (BASE64, "server.key: expected a reference, 'env:NAME' or 'file:PATH', got another text; secrets are not written into the file"),
        ("env:SHORT", "server.key: expected 32 characters or more, for example from `openssl rand -base64 32`"),
    ],
)  # fmt: skip
def test_problems_of_the_gateways_key(problems_of, written, expected):
    assert [expected] == problems_of(f'[server]\nkey = "{written}"')
