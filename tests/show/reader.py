"""HTML as a browser would parse it."""

from html.parser import HTMLParser

__all__ = ["Reader"]


class Reader(HTMLParser):
    """The elements of a document, and the text in each."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements = []
        self.open = []
        self.texts = {}
        self.attributes = set()
        self.other = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append(tag)
        self.open.append(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_endtag(self, tag):
        assert tag == self.open.pop()

    def handle_data(self, data):
        where = "/".join(self.open)
        self.texts[where] = self.texts.get(where, "") + data

    def handle_comment(self, data):
        self.other.append(data)

    handle_decl = handle_pi = unknown_decl = handle_comment
