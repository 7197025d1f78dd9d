"""A small terminal emulator: reads the output and shows what a user would see."""

import re

_SEQUENCE = re.compile(r"\x1b\[([?0-9;]*)([A-Za-z])")


class Terminal:
    """Understands the escape sequences of rich: colors, cursor up and left, clearing a line."""

    def __init__(self, width=60, height=20):
        self.width = width
        self.height = height
        self.rows = [""]
        self.row = 0
        self.column = 0
        self.highest = 0
        """The row at the top of the screen; rows above it cannot be reached."""
        self.unknown = []

    def write(self, text):
        position = 0
        while position < len(text):
            match = _SEQUENCE.match(text, position)
            if match:
                self._obey(match[1], match[2])
                position = match.end()
                continue
            self._put(text[position])
            position += 1
        return len(text)

    def flush(self):
        pass

    def isatty(self):
        return True

    @property
    def seen(self):
        return "\n".join(row.rstrip() for row in self.rows).rstrip("\n")

    def _put(self, character):
        if character == "\n":
            self._down()
            self.column = 0
        elif character == "\r":
            self.column = 0
        elif ord(character) < 32:
            self.unknown.append(character)
        else:
            if self.column == self.width:
                self._down()
                self.column = 0
            row = self.rows[self.row].ljust(self.column)
            self.rows[self.row] = row[: self.column] + character + row[self.column + 1 :]
            self.column += 1

    def _down(self):
        self.row += 1
        if self.row == len(self.rows):
            self.rows.append("")
        self.highest = max(self.highest, self.row - self.height + 1)

    def _obey(self, arguments, command):
        match command:
            case "A":
                self.row = max(self.highest, self.row - int(arguments or 1))
            case "K":
                self.rows[self.row] = ""
            case "m" | "h" | "l":
                pass
            case _:
                self.unknown.append(arguments + command)
