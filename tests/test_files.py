"""`iv.file`: a path, a URL or bytes as a part, for every target that accepts it."""

import base64
import json
import mimetypes
from io import BytesIO
from zipfile import ZipFile

import pytest

import innervoice as iv
from innervoice.emulator.core import Emulator
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


# ---- types that an API accepts ------------------------------------------------------------------------


FOUR = {"image/jpeg", "image/png", "image/gif", "image/webp"}
GEMINIS = {"image/jpeg", "image/png", "image/webp", "image/heic", "image/heif"}
PICTURES = {
    "anthropic": FOUR,
    "openai-chat": FOUR,
    "openai-responses": FOUR,
    "gemini": GEMINIS,
    "gemini-interactions": GEMINIS,
    "bedrock-converse": FOUR,
    "mistral": FOUR,
    "cohere": FOUR,
    "ollama": None,
}
IMAGES = [*sorted(FOUR | GEMINIS), "image/svg+xml", "image/bmp", "image/tiff", "image/avif"]


@pytest.mark.parametrize("mime", IMAGES)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_type_of_image_to_every_dialect(dialect, mime):
    """Seen failing: SVG, HEIC, BMP and TIFF went to Anthropic and Converse, which refuse them."""
    part = iv.Media(mime, base64.b64encode(b"hello").decode())
    request = iv.Request(MODELS[dialect], [iv.user(["look", part])], dialect=dialect)
    accepted = PICTURES[dialect]
    if accepted is None or mime in accepted:
        assert iv.encode(request).body
        return
    with pytest.raises(iv.RuleError) as caught:
        iv.encode(request)
    assert "file_refused" == caught.value.rule
    assert all(word in str(caught.value) for word in (*accepted, f"not {mime}"))


def test_hosts_that_are_compatible_may_accept_more():
    part = iv.Media("image/bmp", "aGVsbG8=")
    wire = iv.encode(iv.Request("vllm/qwen3-vl-8b", [iv.user(["look", part])]))
    assert "data:image/bmp;base64,aGVsbG8=" in str(wire.body)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("mime", ["image/jpg", "IMAGE/JPEG", "image/jpeg; q=1"])
def test_a_type_in_another_spelling(dialect, mime):
    part = iv.Media(mime, "aGVsbG8=")
    wire = iv.encode(iv.Request(MODELS[dialect], [iv.user(["look", part])], dialect=dialect))
    assert "aGVsbG8=" in str(wire.body)
    assert "jpg" not in str(wire.body)


# An image of another type in a request, and what the API answers.
REFUSALS = {
    "anthropic": ("/anthropic/v1/messages", {"model": "claude-opus-4-6", "max_tokens": 9, "messages": [{"role": "user", "content": [{"type": "image", "source": {"type": "base64", "media_type": "image/svg+xml", "data": "aGVsbG8="}}]}]}, "messages.0.content.0.image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'"),
    "in a result": ("/anthropic/v1/messages", {"model": "claude-opus-4-6", "max_tokens": 9, "messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]}, {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": [{"type": "image", "source": {"type": "base64", "media_type": "image/heic", "data": "aGVsbG8="}}]}]}]}, "messages.2.content.0.content.0.image.source.base64.media_type"),
    "bedrock-converse": ("/bedrock/model/us.anthropic.claude-sonnet-4-5-v1:0/converse", {"messages": [{"role": "user", "content": [{"text": "x"}, {"image": {"format": "tiff", "source": {"bytes": "aGVsbG8="}}}]}]}, "Value 'tiff' at 'messages.1.member.content.2.member.image.format' failed to satisfy constraint: Member must satisfy enum value set: [gif, jpeg, png, webp]"),
    "gemini": ("/gemini/v1beta/models/gemini-3.5-flash:generateContent", {"contents": [{"role": "user", "parts": [{"inlineData": {"mimeType": "image/gif", "data": "aGVsbG8="}}]}]}, "Unsupported MIME type: image/gif"),
    "openai-chat": ("/openai/v1/chat/completions", {"model": "gpt-4o", "messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/bmp;base64,aGVsbG8="}}]}]}, "You uploaded an unsupported image."),
    "openai-responses": ("/openai/v1/responses", {"model": "gpt-5.6", "input": [{"role": "user", "content": [{"type": "input_image", "image_url": "data:image/bmp;base64,aGVsbG8="}]}]}, "You uploaded an unsupported image."),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSALS)
def test_the_emulator_refuses_what_the_api_refuses(name):
    path, body, words = REFUSALS[name]
    reply = Emulator().reply("POST", path, {}, json.dumps(body).encode())
    text = reply.body.decode()
    assert (400, True) == (reply.status, words in text), text


# ---- documents and texts -------------------------------------------------------------------------------


def archive(*names):
    data = BytesIO()
    with ZipFile(data, "w") as written:
        for name in ("[Content_Types].xml", *names):
            written.writestr(name, "x")
    return data.getvalue()


WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"


@pytest.mark.parametrize(
    ("data", "name", "mime"),
    [
        (archive("word/document.xml"), None, WORD),
        (archive("word/document.xml"), "report.docx", WORD),
        (archive("word/document.xml"), "report.bin", WORD),
        (archive("xl/workbook.xml"), "a.xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
        (archive("ppt/presentation.xml"), "a.pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
        (b"PK\x03\x04 cut off", "report.docx", WORD),
        (b"\0\0\0\x18ftypheic", None, "image/heic"),
        (b"\0\0\0\x18ftypisom", None, "video/mp4"),
        (b"II*\0aaaa", None, "image/tiff"),
        (b"BMaaaa\0\0\0\0", None, "image/bmp"),
        (b"<svg xmlns", None, "image/svg+xml"),
    ],
)  # fmt: skip
def test_the_type_without_the_table_of_the_system(monkeypatch, data, name, mime):
    """Seen failing: a document whose suffix the system does not know had no type."""
    monkeypatch.setattr(mimetypes, "types_map", {})
    assert mime == iv.file(data, name=name).mime


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_text_that_is_not_utf8_is_noted(dialect):
    """Seen failing: the bytes became replacement characters without a note."""
    part = iv.file(b"caf\xe9", mime="text/plain", name="menu.txt")
    fine = iv.file("caf\ufffd".encode(), mime="text/plain", name="menu.txt")

    def codes(part):
        wire = iv.encode(iv.Request(MODELS[dialect], [iv.user(["look", part])], dialect=dialect))
        return [note.code for note in wire.notes]

    # The others send the bytes as they are.
    decodes = dialect not in (
        "openai-responses",
        "gemini",
        "gemini-interactions",
        "bedrock-converse",
    )
    assert decodes is ("invalid_utf8" in codes(part))
    assert "invalid_utf8" not in codes(fine)


@pytest.mark.parametrize("mime", ["text/plain", "text/csv", "text/html", "text/markdown", WORD, "application/msword"])  # fmt: skip
def test_documents_of_converse(mime):
    part = iv.Media(mime, "aGVsbG8=", name="a")
    wire = iv.encode(iv.Request(MODELS["bedrock-converse"], [iv.user(["look", part])]))
    assert "document" in wire.body["messages"][0]["content"][1]


def test_what_converse_has_no_format_for():
    source = iv.Media("text/x-python", "aGVsbG8=", name="a.py")
    wire = iv.encode(iv.Request(MODELS["bedrock-converse"], [iv.user(["look", source])]))
    assert "file_as_text" in [note.code for note in wire.notes]
    slides = iv.Media("application/vnd.ms-powerpoint", "aGVsbG8=")
    with pytest.raises(iv.RuleError, match=r"not application/vnd\.ms-powerpoint"):
        iv.encode(iv.Request(MODELS["bedrock-converse"], [iv.user(["look", slides])]))
