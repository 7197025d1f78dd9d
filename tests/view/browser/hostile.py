"""What a model, a tool or a web page might write to do harm where it is shown."""

ATTACKS = {
    "image": "<img src=x onerror=\"globalThis.harmed = 'image'; fetch('https://evil.invalid/1')\">",
    "script": "</script><script>globalThis.harmed = 'script'</script>",
    "comment": "<!--<script>globalThis.harmed = 'comment'</script>",
    "svg": '<svg onload="globalThis.harmed = \'svg\'"><use href="https://evil.invalid/2#x"/></svg>',
    "frame": "<iframe srcdoc=\"<script>parent.harmed = 'frame'</script>\"></iframe>",
    "link": "<a href=\"javascript:globalThis.harmed = 'link'\">click</a> javascript:globalThis.harmed='link'",
    "style": "<style>@import 'https://evil.invalid/3.css'; body { display: none }</style>",
    "bidi": "\u202egnp.exe\u202c \u2066hidden\u2069 \u200f\u200e",
    "ansi": "\x1b[2J\x1b]8;;https://evil.invalid/4\x07link\x1b]8;;\x07 \x00\x08\x7f",
    "markdown": "![x](https://evil.invalid/5.png) [y](javascript:globalThis.harmed='markdown')",
    "template": "${globalThis.harmed = 'template'} {{constructor.constructor('globalThis.harmed=1')()}} `",
    "base": '<base href="https://evil.invalid/"><meta http-equiv=refresh content="0;url=https://evil.invalid/6">',
    "form": '<form action="https://evil.invalid/7"><input autofocus onfocus="globalThis.harmed = \'form\'"></form>',
    "object": '<object data="data:text/html,<script>top.harmed=1</script>"></object><embed src="https://evil.invalid/8">',
    "clobber": "<input id=status name=body><img name=getElementById>__proto__",
    "surrogate": "\ud800 lone, \uffff, \u2028 and \u2029",
}
LINKS = (
    "javascript:globalThis.harmed='url'",
    "data:text/html,<script>top.harmed=1</script>",
    "https://evil.invalid/9.png",
)
