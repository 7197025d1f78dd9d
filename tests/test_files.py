"""`iv.file`: a path, a URL or bytes as a part, for every target that accepts it."""

import base64

import pytest

import innervoice as iv
from innervoice.wire.dialects import DIALECTS, dialect_named

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 8
MODELS = {
    "anthropic": "anthropic/claude-opus-5-5",
    "openai-chat": "openai/gpt-4o",
    "openai-responses": "openai/gpt-5.6",
    "gemini": "gemini/gemini-3.5-flash",
    "gemini-interactions": "gemini/gemini-3.5-flash",
    "bedrock-converse": "bedrock/amazon.nova-2-lite-v1:0",
    "mistral": "mistral/magistral-small-latest",
    "cohere": "cohere/command-a-reasoning-08-2025",
    "ollama": "ollama/qwen3",
}
TYPES = {
    "image": "image/png",
    "audio": "audio/wav",
    "video": "video/mp4",
    "pdf": "application/pdf",
    "text": "text/plain",
    "document": "application/msword",
}
# Where the wire has no place for the type of a file.
TYPELESS = {("ollama", "image"), ("mistral", "audio")}
URLS = {"url": "https://example.org/a", "s3": "s3://bucket/a", "gs": "gs://bucket/a"}


def media(kind, way):
    data = base64.b64encode(b"hello").decode()
    if way == "data":
        return iv.Media(TYPES[kind], data, name="notes.bin")
    return iv.Media(TYPES[kind], url=URLS[way])


class TestSource:
    def test_a_path(self, tmp_path):
        path = tmp_path / "dog.png"
        path.write_bytes(PNG)

        for source in (path, str(path)):
            part = iv.file(source)

            assert ("image/png", PNG, "dog.png") == (
                part.mime,
                base64.b64decode(part.data),
                part.name,
            )

    @pytest.mark.parametrize(
        ("data", "mime"),
        [
            (PNG, "image/png"),
            (b"\xff\xd8\xff\xe0", "image/jpeg"),
            (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
            (b"RIFF\0\0\0\0WAVEfmt ", "audio/wav"),
            (b"%PDF-1.7", "application/pdf"),
        ],
    )
    def test_bytes_tell_their_type(self, data, mime):
        assert mime == iv.file(data).mime

    def test_a_url_is_not_fetched(self):
        part = iv.file("https://example.org/a/report.pdf?x=1")

        assert ("application/pdf", None, "report.pdf") == (part.mime, part.data, part.name)
        assert "https://example.org/a/report.pdf?x=1" == part.url

    def test_a_data_url(self):
        part = iv.file("data:image/gif;base64,R0lGOD")

        assert ("image/gif", "R0lGOD", None) == (part.mime, part.data, part.url)

    @pytest.mark.parametrize(
        ("source", "words"),
        [
            (b"who knows", "mime="),
            ("no/such/file.png", "cannot be read"),
            ("\0", "cannot be read"),
            (3, "a path, a URL or bytes, not int"),
        ],
    )
    def test_what_cannot_be_used(self, source, words):
        with pytest.raises(iv.UsageError, match=words):
            iv.file(source)

    def test_a_type_can_be_given(self):
        assert "text/x-log" == iv.file(b"who knows", mime="text/x-log").mime

    def test_the_data_is_not_printed(self):
        assert "aGVsbG8" not in repr(media("image", "data"))


@pytest.mark.parametrize("way", ["data", *URLS])
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_kind_to_every_dialect(dialect, kind, way):
    """What the dialect accepts arrives as a block that reads back as the same file; all else is text, or refused with words."""
    part = media(kind, way)
    accepted = dialect_named(dialect).files.ACCEPTS.get(kind, ())
    request = iv.Request(MODELS[dialect], [iv.user(["look", part])], dialect=dialect)

    if way in accepted:
        read = iv.decode_request(iv.encode(request).body, dialect=dialect).messages[0].parts[-1]
        assert (kind, part.data, part.url) == (kind, read.data, read.url)
        if way == "data" and (dialect, kind) not in TYPELESS:
            assert part.mime == read.mime
    elif kind == "text" and way == "data":
        wire = iv.encode(request)
        assert "file_as_text" in [note.code for note in wire.notes]
        assert "hello" in iv.to_json(list(_messages(wire, dialect))).decode()
    else:
        with pytest.raises(iv.UsageError, match=f"{dialect} accepts"):
            iv.encode(request)


def _messages(wire, dialect):
    return iv.decode_request(wire.body, dialect=dialect).messages


def test_a_pdf_to_a_chat_host_is_a_file():
    wire = iv.encode(
        iv.Request("openai/gpt-4o", [iv.user(media("pdf", "data"))], dialect="openai-chat")
    )

    (chunk,) = wire.body["messages"][0]["content"]
    assert ("file", "notes.bin") == (chunk["type"], chunk["file"]["filename"])
    assert chunk["file"]["file_data"].startswith("data:application/pdf;base64,")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_image_in_a_tool_result(dialect):
    """The image reaches the model: in the result where that is possible, else in the message behind it, noted."""
    history = [
        iv.user("look"),
        iv.assistant(
            [iv.ToolCall("abcdef123", "shot", "{}"), iv.ToolCall("abcdef124", "shot", "{}")]
        ),
        iv.tool_result("abcdef123", ["a", media("image", "data")]),
        iv.tool_result("abcdef124", "b"),
    ]

    wire = iv.encode(iv.Request(MODELS[dialect], history, dialect=dialect))

    assert base64.b64encode(b"hello").decode() in str(wire.body)
    moved = "result_file_moved" in [note.code for note in wire.notes]
    assert moved is not dialect_named(dialect).files.IN_RESULTS
