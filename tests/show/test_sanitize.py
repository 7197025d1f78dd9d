"""A model's Markdown that is safe before any other text."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from innervoice.show.forms import sanitize

UNCHANGED = [
    "It is **345**, 1 < 2 and 3 > 2.",
    "Use `<details>` and ``<b>`</b>``.",
    "```html\n<details>\n```\nafter",
    "~~~\n<b>\n~~~",
    "1. First:\n   ```html\n   <div>\n   ```\n2. Second",
    "a | b<br>c | d<br/>e",
    "| 1<br>2 |",
    "a <- b, a <= b, x<3",
    '[a](b) and `<b>`, [c](d "e") and `<b>`, [`<b>`](c).',
    "See https://a.b/ or `<b>`.",
    "At `https://a.b/<c>`, a: `<b>`.",
]


@pytest.mark.parametrize("markdown", UNCHANGED)
def test_what_is_harmless_stays(markdown):
    assert markdown == sanitize(markdown)


@pytest.mark.parametrize(
    ("markdown", "sanitized"),
    [
        ("a <details> b", "a &lt;details> b"),
        ("<!-- gone", "&lt;!-- gone"),
        ("<br>\n```\n<b>", "&lt;br>\n```\n<b>\n```"),
        ("```python\nx = 1", "```python\nx = 1\n```"),
        ("a ` b\n`<b>`", "a ` b\n`&lt;b>`"),
        ("| `<b> | ` |", "| `&lt;b> | ` |"),
        # The address or the title of a link takes a backtick before a code span does.
        ("[x](`)<script>`", "[x](`)&lt;script>`"),
        ('[x](a "`)<script>`")', '[x](a "`)&lt;script>`")'),
        ("![x](<`>)<script>`", "![x](<`>)&lt;script>`"),
        ("[x](\n`)<script>`", "[x](\n`)&lt;script>`"),
        ("https://a.b/`<script>`", "https://a.b/`&lt;script>`"),
        ("www.a.b/`<script>`", "www.a.b/`&lt;script>`"),
        ("a\\\\`<script>`", "a\\\\`&lt;script>`"),
        ("~~``</script>~~``", "~~``&lt;/script>~~``"),
        # Not every parser takes these for a fence, or for its inside.
        ("```a b\n<b>\n```", "```a b\n&lt;b>\n```"),
        ("[a]:\n~~~\n<b>\n~~~", "[a]:\n~~~\n&lt;b>\n~~~"),
        ("[a]: b '\n~~~\n<b>\n'\n\n<b>", "[a]: b '\n~~~\n&lt;b>\n'\n\n&lt;b>\n~~~"),
        ("```\na\n```<b>", "```\na\n```&lt;b>\n```"),
        # The list ends, and the fence with it, as CommonMark has it.
        ("- a\n  ```\n<b>", "- a\n  ```\n  ```\n&lt;b>"),
        # Perhaps a fence in a list, perhaps indented code: shown in any case, harmless in any case.
        ("1. a\n    ```\n    <b>\n    ```", "1. a\n    ```\n    &lt;b>\n    ```"),
        ("> ```\n> <b>", "> ```\n> &lt;b>"),
        # The second may end the first or be one of its own; what ends it either way is a comment.
        (
            "- ```\n  ```\n<b>",
            "- ```\n  ```\n<!--\n```\n-->\n\n<!--\n~~~\n-->\n\n&lt;b>",
        ),
    ],
)
def test_what_could_swallow_the_rest_does_not(markdown, sanitized):
    assert sanitized == sanitize(markdown)


MARKUP = st.sampled_from(
    ["```", "````", "~~~", "`", "``", "\\", "<b>", "</details>", "<!--", "<br>", "<script>", "<?x", "<a\n", "|", "x", "é", "\xa0",
     "\n", "\n", "\n\n", " ", "  ", "   ", "    ", "\t", "- ", "* ", "1. ", "12) ", "> ", "# ", "---", "[a]: ", "|---|---|\n", "[a](", "](", ")", '"', "https://a.b/"]
)  # fmt: skip


@settings(max_examples=500, deadline=None)
@given(st.lists(MARKUP, max_size=16).map("".join))
def test_commonmark_finds_no_html_and_no_open_fence(markdown):
    markdown_it = pytest.importorskip("markdown_it")
    reader = markdown_it.MarkdownIt("commonmark").enable("table")

    tokens = reader.parse(sanitize(markdown) + "\n\n<hr>\n\nEND")

    assert ["html_block", "paragraph_open", "inline", "paragraph_close"] == [
        token.type for token in tokens[-4:]
    ]
    assert 0 == tokens[-4].level
    inner = [child for token in tokens[:-4] for child in [token, *(token.children or [])]]
    html = [token.content for token in inner if token.type.startswith("html")]
    assert all(re.fullmatch(r"<br>|<!--\n(`+|~+)\n-->\n?", piece) for piece in html)
