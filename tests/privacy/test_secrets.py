"""What looks like a key or a seal is taken out of a text, and nothing else."""

from string import ascii_uppercase, digits

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from innervoice.privacy import secrets
from innervoice.privacy.secrets import redacted, secrets_in
from show.hostile import hostile

MIXED = "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7"
KEYS = {
    "Anthropic": f"sk-ant-api03-{MIXED}-{MIXED}",
    "OpenAI": f"sk-proj-{MIXED}_{MIXED}",
    "OpenAI, older": f"sk-{MIXED}",
    "OpenRouter": f"sk-or-v1-{'0123456789abcdef' * 4}",
    "Google": f"AIzaSy{MIXED}_x",
    "Google OAuth": f"ya29.{MIXED}",
    "AWS": "AKIAIOSFODNN7EXAMPLE",
    "AWS, for a while": "ASIAIOSFODNN7EXAMPLE",
    "GitHub": f"ghp_{MIXED}{MIXED}"[:40],
    "GitHub, fine-grained": f"github_pat_{MIXED}_{MIXED}",
    "GitLab": f"glpat-{MIXED}"[:26],
    "Slack": "xoxb-123456789012-123456789012-abcdefghijklmnop",
    "Groq": f"gsk_{MIXED}",
    "Hugging Face": f"hf_{MIXED}",
    "xAI": f"xai-{MIXED}",
    "NVIDIA": f"nvapi-{MIXED}",
    "Together": f"tgp_v1_{MIXED}",
    "Fireworks": f"fw_{MIXED}",
    "Perplexity": f"pplx-{MIXED}",
    "innervoice": f"iv-{MIXED}{MIXED}"[:46],
    "Stripe": f"sk_live_{MIXED}",
    "npm": f"npm_{MIXED}",
    "a JSON web token": f"eyJhbGciOiJIUzI1NiJ9.eyJ{MIXED}.{MIXED}",
}
PEM = f"-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n{MIXED}\n{MIXED}==\n-----END RSA PRIVATE KEY-----"
WITH_NAME = {
    "a header": ("Authorization: Bearer {}", MIXED),
    "a header in JSON": ('{{"authorization": "Bearer {}"}}', MIXED),
    "basic": ("Authorization: Basic {}", "dXNlcjpwYXNzd29yZDEyMw=="),
    "the environment": ("export DEEPSEEK_API_KEY={} && run", "abcdef0123456789"),
    "the environment, in quotes": ('MY_SECRET="{}"', "correct-horse-1"),
    "JSON": ('{{"api_key": "{}", "n": 1}}', "abcdef0123456789"),
    "JSON in JSON": ('{{\\"access_key\\": \\"{}\\"}}', "abcdef0123456789"),
    "a header of a key": ("x-api-key: {}", "abcdef0123456789"),
    "a password in a URL": ("postgres://me:{}@db.example/x", "hunter2-pass"),
    "a number": ("password={}", "123456789012"),
    "a query": ("https://x.example/?token={}&a=b", "abcdef0123456789"),
    "a signature": ('{{"type":"thinking","signature":"{}"}}', "EqQBCkgIARAB" + MIXED),
    "a signature of Gemini": ('"thoughtSignature": "{}"', "CiQB" + MIXED),
    "encrypted reasoning": ('"encrypted_content":"{}"', "gAAAAAB" + MIXED),
}  # fmt: skip
PLAIN = [
    "The token limit is 4096; max_tokens: 12345678, reasoning_tokens=20000000.",
    "git checkout 9d7d82c0b1a2c3d4e5f60718293a4b5c6d7e8f90",
    "def sk_learn_pipeline_builder(hf_tokenizer_config_path, fw_something_long_name): ...",
    "password: required, secret: whatever-you-like, token = parser.next_token()",
    "https://example.org/a/very/long/path/with/many/segments/and/words/that/go/on?x=1",
    "Bearer of bad news. A bearer token is needed. Basic arithmetic-operations",
    "disk_partition_number_1, task-risk-assessment-2026, halfkey_hf-aB3dE6gH9jK2",
    "sk-learn, sk-SK, AKI, eyJ, xox, pk_id",
    "x" * 500,
    "aGVsbG8gd29ybGQ=",
    "/home/user/projects/innervoice/src/innervoice/view/row_types.py",
]


@pytest.mark.parametrize("name", KEYS)
@pytest.mark.parametrize(
    "around", ["{}", "key {} here", '"{}"', "({})", "a={}", "\n{}\n", "`{}`", "key:{}."]
)
def test_a_key_is_taken_out_wherever_it_stands(name, around):
    key = KEYS[name]
    shown = redacted(around.format(key))

    assert key[6:] not in shown
    assert "redacted" in shown


def test_a_private_key_is_taken_out_whole_even_if_its_end_is_missing():
    assert f"a [redacted, {len(PEM)} characters] b" == redacted(f"a {PEM} b")
    cut = PEM[:90]
    assert MIXED[:20] not in redacted(cut)


@pytest.mark.parametrize("name", WITH_NAME)
def test_of_a_named_value_only_the_value_is_taken_out(name):
    form, value = WITH_NAME[name]

    assert form.format(f"[redacted, {len(value)} characters]") == redacted(form.format(value))


@pytest.mark.parametrize("text", PLAIN)
def test_words_names_paths_and_numbers_stay(text):
    assert text == redacted(text)


@pytest.mark.parametrize("name", KEYS)
def test_what_is_taken_out_once_is_not_taken_out_again(name):
    once = redacted(f"x {KEYS[name]} y")

    assert once == redacted(once)


def test_a_wary_reader_takes_out_every_long_run():
    commit = "9d7d82c0b1a2c3d4e5f60718293a4b5c6d7e8f90"

    assert "[redacted, 40 characters]" == redacted(commit, wary=True)
    assert "claude-opus-4-6" == redacted("claude-opus-4-6", wary=True)
    assert "meta-llama/Llama-4-Maverick-17B" == redacted(
        "meta-llama/Llama-4-Maverick-17B", wary=True
    )


@settings(deadline=None)
@given(hostile, st.sampled_from(sorted(KEYS)), hostile)
def test_a_key_between_any_texts_is_taken_out(before, name, after):
    key = KEYS[name]

    assert key[6:] not in redacted(f"{before} {key} {after}")


KEY_PIECES = [
    "-----BEGIN PRIVATE KEY-----", "-----BEGIN RSA PRIVATE KEY-----", "-----END PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----",
    "-----BEGIN ", "-----END ", "-----", "----", "-", "PRIVATE KEY", "MII", "\n", " ", "==",
]  # fmt: skip


def private_keys(text: str) -> list[tuple[int, int]]:
    """Where private keys are: each from its first line to five dashes, and to the end of the line that these begin if it ends a key."""
    keys, position = [], 0
    while (start := text.find("-----BEGIN ", position)) >= 0:
        position = _line_end(text, start, "-----BEGIN ")
        if position < 0:
            position = start + 1
            continue
        dashes = text.find("-----", position)
        end = dashes if dashes >= 0 else len(text)
        position = max(_line_end(text, end, "-----END "), end)
        keys.append((start, position))
    return keys


def _line_end(text: str, start: int, beginning: str) -> int:
    """Where a line like `-----BEGIN RSA PRIVATE KEY-----` ends; -1 if none is here."""
    inside = start + len(beginning)
    end = text.find("PRIVATE KEY-----", inside)
    kind = text[inside:end]
    is_kind = len(kind) <= 40 and set(kind) <= set(f"{ascii_uppercase}{digits} ")
    return (
        end + len("PRIVATE KEY-----")
        if text.startswith(beginning, start) and end >= 0 and is_kind
        else -1
    )


@settings(max_examples=500)
@given(st.lists(st.sampled_from(KEY_PIECES), max_size=14).map("".join))
def test_a_private_key_is_taken_out_whole(text):
    assert private_keys(text) == [(secret.start, secret.end) for secret in secrets_in(text)]


SHORTEST = [f"{beginning}{'a' * 11}1" for beginning in ["sk-", "pk_", "rk-", "iv-", "AQ.", "tgp_", "fw_", "gsk_", "csk-", "xai-", "hf_", "pplx-", "r8_", "npm_", "AIza", "AKIA", "ya29.", "nvapi-", "ghp_", "github_pat_", "glpat-", "xoxb-", "xapp-", "dop_v1_", "pypi-AgE", "SG.", "eyJ"]]  # fmt: skip


@pytest.mark.parametrize("key", SHORTEST)
def test_the_shortest_key_is_found(key):
    """Most texts are told from those with keys by their longest run of characters."""
    assert [("key", 2, 2 + len(key))] == [tuple(secret) for secret in secrets_in(f"a {key} b")]
    assert [] == secrets_in(f"a {key[:-2]}1 b"), "it is too short"


@settings(deadline=None)  # the machine may be busy
@given(
    st.lists(
        st.sampled_from([*KEYS.values(), *SHORTEST, PEM, MIXED * 5, *(form.format(value) for form, value in WITH_NAME.values())])
        | st.sampled_from([" ", "\n", ":", "=", '"', "/", "é", "key", "Token: ", "\ud800"])
        | st.text(max_size=4)
    ).map("".join)
)  # fmt: skip
def test_a_text_that_is_not_searched_has_no_secret(text):
    found = secrets_in(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(secrets, "_may_match", lambda *_: True)
        assert found == secrets_in(text)
