"""Values that parsers dislike, as text of JSON or as header values; randomness is seeded."""

import base64
import gzip
import json
from random import Random  # noqa: TID251  seeded, so that a failure can be repeated
from typing import Any

DIGITS = "9" * 5_000


def deep(rng: Random) -> str:
    """Nest, balanced or not, further than any parser recurses."""
    levels = rng.choice([33, 200, 1_000, 20_000, 100_000])
    opening, closing = rng.choice([("[", "]"), ('{"a":', "}")])
    return opening * levels + "1" + closing * (levels if rng.random() < 0.8 else levels - 1)


def number(rng: Random) -> str:
    """Write a number that is too large, too precise, or none."""
    return rng.choice(
        [
            DIGITS, f"-{DIGITS}", "1e400", "-1e400", "1E+99999999", "1e-99999999", "-0", "-0.0",
            "NaN", "Infinity", "-Infinity", "0x10", "01", "1.", ".5", "+1", "9007199254740993",
            "18446744073709551616", "1" + "0" * 400, "0." + "3" * 3_000, "1_000",
        ]
    )  # fmt: skip


def text(rng: Random) -> str:
    """Write a string with what strings should not hold."""
    return rng.choice(
        [
            '"\\ud800"', '"\\udc00\\ud800"', '"\\u0000"', '"a\\u0000b"', '"\\u202e\\u2066"',
            '"\\x41"', '"\\uZZZZ"', '"\x00"', '"\n"', '"\t\r\x7f"', '"' + "x" * 70_000 + '"',
            '"\u2028"', '"\ufeff"', '"=?base64?eA==?="', '"__proto__"', '"' + "\\\\" * 9_999 + '"',
            "'single'", '"unterminated', '""', '" "', '"../../etc/passwd"', '"${jndi:ldap://x}"',
            '"\U0010ffff"', '"e\u0301"',
        ]
    )  # fmt: skip


def plain(rng: Random) -> str:
    """Write any small value: the wrong type almost everywhere."""
    return rng.choice(
        ["null", "true", "false", "0", "-1", "1.5", '""', '"x"', "[]", "[[]]", "{}", '{"a":1}',
         '["a",1,null]', "[{}]"]
    )  # fmt: skip


def members(rng: Random) -> str:
    """Write an object or a list with far too many members, or the same one often."""
    count = rng.choice([300, 10_001, 40_000])
    if rng.random() < 0.5:
        return "[" + ",".join(["0"] * count) + "]"
    same = rng.random() < 0.5
    return "{" + ",".join(f'"{"a" if same else n}":0' for n in range(count)) + "}"


def any_value(rng: Random) -> str:
    """Write one value of any kind above."""
    return rng.choice([deep, number, text, plain, plain, members])(rng)


def header(rng: Random) -> bytes:
    """Give a header value that is wrong in form, length or meaning."""
    return rng.choice(
        [
            b"", b" ", b"\xff\xfe", b"a\x00b", b"a\rb", b"a\nInjected: 1", b"x" * 9_000,
            b"x" * 70_000, b"\xc3\xa9", b"2026-07-28, 2026-07-28", b"2099-01-01", b"0", b"-1",
            b"null", b"=?base64??=", b"=?base64?%%%?=", b"=?base64?/////w==?=",
            b"=?base64?" + base64.b64encode(b"create_item") + b"?=", b"get_item", b"tools/call",
            b"application/json", b"text/event-stream", b"*/*", b"text/plain", b"gzip",
            b"multipart/form-data; boundary=x", b"application/json; charset=utf-16",
            b"application/json, application/json", b"chunked", b"Bearer", b"Bearer  a b",
            b"Basic Og==", b"Bearer " + b"a." * 3_000, b"http://evil.example", b"null, null",
            b"127.0.0.1:80:90", b"[::1", b"127.0.0.1@evil.example", b"\t", b"%0d%0a",
        ]
    )  # fmt: skip


def bomb(rng: Random) -> bytes:
    """Compress much of nothing into little."""
    size = rng.choice([1_000, 1 << 20, 20 << 20])
    return gzip.compress(b'{"a":"' + b"0" * size + b'"}', compresslevel=1)


def dumps(value: Any) -> str:
    """Write JSON as a plain client does."""
    return json.dumps(value)
