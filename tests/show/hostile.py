"""Texts that try to break out of a renderer."""

from hypothesis import strategies as st

PIECES = [
    "</details>", "<details>", "<summary>", "</summary>", "</div>", "<script>alert(1)</script>",
    "<!--", "-->", "<![CDATA[", "<?php", "<br>", "<br/>", "<b", "&lt;", "&amp;", "&#60;", '"', "'", "</pre>", "<pre>",
    "```", "````", "~~~", "`", "``", "```python\n", "\n```\n", "\n~~~\n", "    ", "\t", "  ```", "> ", ">", "- ", "1. ", "# ", "===", "---",
    "||", "|", "\\", "\\|", "\\`", "*", "**", "_", "~~", "[", "]", "[text](http://evil.example)", "![x](http://evil.example/x.png)",
    "@everyone", "@here", "<@123456789012345678>", "<@&123456789012345678>", "@joe", "-# ", ":::", "$$", "| a | b |\n|---|---|\n", "https://evil.example/",
    "\x1b[31m", "\x1b]0;title\x07", "\x1b[2J", "\x9b2J", "\x00", "\x07", "\x08", "\r", "\r\n", "\x7f", "\x85", "\u2028",
    "\u202e", "\u2066", "\u2069", "\ud83d", "\ude00", "[bold]", "[/bold]", "[link=http://evil.example]", ":smile:",
    "\n", "\n\n", " ", "a", "word ", "héllo", "日本", "🙂", "א",
]  # fmt: skip

hostile = st.lists(st.sampled_from(PIECES), max_size=14).map("".join) | st.text(max_size=60)
"""Pieces with a meaning in some renderer, in any order, or arbitrary text."""
