"""Whole numbers in few bits: Rice codes, block by block.

The weights of a head add up to one in each row, so nearly all of them are close to nothing: counted in steps of
1/1000, most cost a few bits, and a long text keeps four digits in less room than one byte a cell would give it two.
A block of 64 numbers has one parameter k (a byte each, all of them first): a number v is v >> k zero bits, a one, and
its k lowest bits; where that would be 16 zeros or more, 16 zeros and v in 16 bits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

BLOCK = 64
ESCAPE = 16
"""So many zero bits say that a plain number of 16 bits follows."""
SAMPLED = 2**17


def pack(levels: NDArray[np.integer]) -> bytes:
    """Pack numbers (0 to 65535) as parameters and bits; `readSteps` in page/packets.js reads them back.

    Example:
        >>> pack(np.array([0, 0, 1, 0])).hex(" ")       # k = 0, then the bits 1 1 01 1
        '00 d8'
    """
    values = np.asarray(levels, dtype=np.uint16)
    if not values.size:
        return b""
    best = _parameters(values)[0]
    k, v = np.repeat(best, BLOCK)[: values.size], values.astype(np.uint32)
    quotient = v >> k
    plain = quotient >= ESCAPE
    bits = np.where(plain, np.uint32(ESCAPE + 16), quotient + 1 + k)
    code = np.where(plain, v, (np.uint32(1) << k) | (v & ((np.uint32(1) << k) - np.uint32(1))))
    ends = np.cumsum(bits, dtype=np.int64)
    at = ends - bits
    shifted = code.astype(np.uint64) << (64 - (at & 31) - bits).astype(np.uint64)
    word = at >> 5
    first = np.flatnonzero(np.diff(word, prepend=-1))
    words = np.zeros(int(ends[-1] + 31 >> 5) + 1, dtype=np.uint64)
    words[word[first]] = np.add.reduceat(shifted >> np.uint64(32), first)
    words[word[first] + 1] += np.add.reduceat(shifted & np.uint64(0xFFFFFFFF), first)
    return best.astype(np.uint8).tobytes() + words.astype(">u4").tobytes()[: int(ends[-1] + 7 >> 3)]


def size(levels: NDArray[np.integer]) -> int:
    """Return how many bytes `pack` would make; of very many numbers an estimate by every seventh block, a little high.

    Example:
        >>> size(np.array([0, 0, 1, 0]))
        2
    """
    values = np.asarray(levels, dtype=np.uint16)
    if not values.size:
        return 0
    if values.size > SAMPLED:
        blocks = values[: values.size // BLOCK * BLOCK].reshape(-1, BLOCK)[::7]
        return int(1.01 * size(blocks.ravel()) * values.size / blocks.size) + 8
    best, bits = _parameters(values)
    unused = -values.size % BLOCK * (1 + int(best[-1]))  # the last block was filled up with zeros
    return best.size + (bits - unused + 7 >> 3)


def _parameters(values: NDArray[np.uint16]) -> tuple[NDArray[np.uint32], int]:
    """Return the k of each block that makes it shortest, and the bits of all; above the largest number's bits each k costs more."""
    padded = np.zeros(-(-values.size // BLOCK) * BLOCK, dtype=np.uint16)
    padded[: values.size] = values
    blocks = padded.reshape(-1, BLOCK)
    costs = []
    for k in range(min(14, int(values.max()).bit_length()) + 1):
        upper = blocks >> k
        upper[upper >= ESCAPE] = ESCAPE + 15 - k  # a plain number: as long as 16 zeros and 16 bits
        costs.append(upper.sum(axis=1, dtype=np.uint32) + BLOCK * (1 + k))
    table = np.stack(costs)
    return table.argmin(axis=0).astype(np.uint32), int(table.min(axis=0).sum())
