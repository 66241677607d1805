"""A text file that a visitor gives, as lines."""

from __future__ import annotations

MOST_BYTES = 2**20
"""Of a file so much is read."""


def lines_of(data: bytes) -> list[str]:
    """Return the lines of a file; UTF-16 by its mark, bytes that are no UTF-8 are replaced.

    >>> lines_of("a\\r\\né".encode("utf-16"))
    ['a', 'é']
    """
    data = data[:MOST_BYTES]
    wide = data[:2] in (b"\xff\xfe", b"\xfe\xff")
    return data.decode("utf-16" if wide else "utf-8-sig", errors="replace").splitlines()
