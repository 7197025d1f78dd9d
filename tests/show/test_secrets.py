"""What looks like a key or a seal is taken out of a text, and nothing else."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from innervoice.show.secrets import redacted
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


@pytest.mark.parametrize(
    "piece",
    ["sk-", "eyJ", "eyJa.", "-----BEGIN PRIVATE KEY-----", "-----BEGIN ", "Bearer ", "api_key=", "api_key", '":"', "://a:", "://", "a:b@", "A_", "a", "aB3", "aB3-", "=", "xox", "AKIA ", "\\", " ", "token : "],
)  # fmt: skip
@pytest.mark.parametrize("wary", [False, True])
def test_hostile_texts_take_time_in_proportion(piece, wary):
    started = time.process_time()
    redacted(piece * (100_000 // len(piece)), wary=wary)

    assert time.process_time() - started < 2
