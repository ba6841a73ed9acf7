"""Random damage to bytes: flipped, cut, doubled, overwritten, spliced; the same seed does the same damage."""

from __future__ import annotations

import random

#: Bytes that mean something to one of the formats; damage with a purpose finds more than noise.
TOKENS = (
    b"\n",
    b"\n\n",
    b"\r\n",
    b"\r",
    b"\t",
    b"\t\t",
    b" ",
    b"_",
    b"#",
    b"# sent_id = ",
    b"# text = ",
    b"__TEXT__",
    b"__SENT_ID__",
    b"0",
    b"1",
    b"1-2",
    b"2-2",
    b"0.1",
    b"3.1",
    b"-",
    b".",
    b"65535",
    b"65536",
    b"99999999999",
    b"\0",
    b"\xef\xbb\xbf",
    b"\xff",
    b"\xc3",
    b"\xe2\x82\xac",
    b"\xed\xa0\x80",
    b"\xf0\x9f\x98\x80",
    b"\xff\xff\xff\x7f",
    b"\xff\xff\xff\xff",
    b"[",
    b"{",
    b'"',
    b"null",
    b"-1",
    b"1e9",
    b"4611686018427387904",
)


def mutate(random_: random.Random, data: bytes, other: bytes) -> bytes:
    """One to four pieces of damage; `other` is a second sound file for splicing."""
    damaged = bytearray(data)
    for _ in range(random_.choice((1, 1, 1, 2, 3, 4))):
        _damage(random_, damaged, other)
    return bytes(damaged)


def _damage(random_: random.Random, data: bytearray, other: bytes) -> None:
    place = random_.randrange(len(data) + 1)
    size = min(len(data) - place, random_.choice((1, 1, 2, 4, 8, 30, 200)))
    kind = random_.randrange(9)
    if kind == 0 and size:  # flip a bit
        data[place] ^= 1 << random_.randrange(8)
    elif kind == 1 and size:  # overwrite with noise
        data[place : place + size] = random_.randbytes(size)
    elif kind == 2:  # cut out
        del data[place : place + size]
    elif kind == 3:  # double
        data[place:place] = data[place : place + size]
    elif kind == 4:  # insert something that means something
        data[place:place] = random_.choice(TOKENS)
    elif kind == 5:  # overwrite with it
        token = random_.choice(TOKENS)
        data[place : place + len(token)] = token
    elif kind == 6:  # move
        piece = bytes(data[place : place + size])
        del data[place : place + size]
        target = random_.randrange(len(data) + 1)
        data[target:target] = piece
    elif kind == 7 and random_.randrange(4) == 0:  # cut short
        del data[place:]
    elif other:  # splice in a piece of another file
        start = random_.randrange(len(other))
        data[place : place + size] = other[start : start + random_.choice((1, 8, 40, 300))]
