"""What a page does with events, in Python."""

import json

__all__ = ["Listener", "plain"]


def plain(rows):
    """Rows as they come out of JSON."""
    return json.loads(json.dumps(rows, default=list))


class Listener:
    """A page: the rows that it fetched, and the events it applied to them."""

    def __init__(self, told):
        self.rows = {row["n"]: json.loads(json.dumps(row)) for row in told.rows}
        self.head = told.head
        self.event = told.event

    def apply(self, name, data):
        match name:
            case "row":
                self.rows[data["n"]] = data
            case "grow":
                row = self.rows[data["n"]]
                before = row["text"].encode("utf-16-le")[: 2 * data["at"]].decode("utf-16-le")
                self.rows[data["n"]] = row | data | {"text": before + data["text"]}
                del self.rows[data["n"]]["at"]
            case "gone":
                del self.rows[data["n"]]
            case "head":
                self.head = data

    def hear(self, happened):
        for event in happened:
            self.apply(event.name, json.loads(event.data))
            self.event = event.id

    @property
    def ordered(self):
        return [self.rows[n] for n in sorted(self.rows)]
