"""Secrets are taken out of hostile texts: how many times as long ten times the text takes."""

from __future__ import annotations

from statistics import median
from time import process_time

from innervoice.privacy.secrets import redacted

# Beginnings of secrets, and runs that nearly are some.
PIECES = (
    "sk-", "eyJ", "eyJa.", "-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\na-", "-----BEGIN ", "Bearer ", "Bearer a=",
    "api_key=", "api_key", '":"', "://a:", "://", "://:bbbb", "a:b@", "A_", "a", "aB3", "aB3-", "=", "a=", "xox", "AKIA ", "\\", " ", "token : ", "-",
)  # fmt: skip


def growth(small: int) -> dict[str, tuple[float, float]]:
    """Piece -> the factor for a text of it, also for a wary reader; one that begins a private key is in front."""
    return {
        piece.replace("\n", "\\n"): (
            _factor(piece, small, wary=False),
            _factor(piece, small, wary=True),
        )
        for piece in PIECES
    }


def _factor(piece: str, small: int, *, wary: bool) -> float:
    times = []
    for size, repeat in ((small, 7), (small * 10, 3)):
        text = "-----BEGIN PRIVATE KEY-----" + piece * (size // len(piece))
        samples = []
        for _ in range(repeat):
            start = process_time()
            redacted(text, wary=wary)
            samples.append(process_time() - start)
        times.append(median(samples))
    return times[1] / max(times[0], 1e-9)
