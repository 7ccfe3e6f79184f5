"""Ways to damage a file: bytes, numbers in text, values in JSON, and files of another kind."""

from __future__ import annotations

import json
import os
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

STRANGE: tuple[Any, ...] = (
    None, True, -1, 0, 1, 0.5, 10**9, 10**30, 1e308, "", "..", "/", "a\nb", "\u2028", [], {},
    [[]], {"a": {}}, "9" * 40,
)  # fmt: skip
NUMBERS = (b"-1", b"0", b"1e9", b"99999999999", b"9" * 40, b"NaN", b"-Infinity", b"1e400", b"0x1")
SPARSE_BYTES = 3 << 30


def damage(content: bytes, rng: random.Random) -> bytes:
    """Truncate, flip bits, overwrite, insert or repeat; more often near the beginning."""
    data = bytearray(content)
    start = rng.randrange(len(data) if rng.random() < 0.4 else min(len(data), 1500))
    match rng.choice(["cut", "flip", "flip", "zeros", "ones", "noise", "insert", "twice"]):
        case "cut":
            del data[start:]
        case "flip":
            for _ in range(rng.choice([1, 1, 3, 20])):
                data[(start + rng.randrange(200)) % len(data)] ^= 1 << rng.randrange(8)
        case "zeros":
            data[start : start + 8] = bytes(8)
        case "ones":
            data[start : start + 8] = b"\xff" * 8
        case "noise":
            data[start : start + 30] = rng.randbytes(30)
        case "insert":
            data[start:start] = rng.randbytes(rng.randrange(1, 40))
        case "twice":
            data[start:start] = data[start : start + 100]
    return bytes(data)


def with_strange_number(content: bytes, rng: random.Random) -> bytes:
    """One number of a text replaced by another."""
    found = list(re.finditer(rb"-?\d+(\.\d+)?", content))
    if not found:
        return damage(content, rng)
    place = rng.choice(found)
    return content[: place.start()] + rng.choice(NUMBERS) + content[place.end() :]


def with_strange_value(content: bytes, rng: random.Random) -> bytes:
    """One value of a JSON text, or of one of its lines, replaced by anything."""
    lines = content.split(b"\n")
    whole = len(content) < 200_000 and _parsed(content) is not None
    place = 0 if whole else rng.randrange(len(lines))
    parsed = _parsed(content if whole else lines[place])
    if not isinstance(parsed, dict | list) or not parsed:
        return with_strange_number(content, rng)
    node: Any = parsed
    while True:
        key = rng.choice(list(node) if isinstance(node, dict) else range(len(node)))
        if not isinstance(node[key], dict | list) or not node[key] or rng.random() < 0.3:
            break
        node = node[key]
    match rng.randrange(4):
        case 0 if isinstance(node, dict):
            node[rng.choice(["", "more", "grid"])] = node.pop(key)
        case 1 if isinstance(node, list):
            node.append(node[key])
        case _:
            node[key] = rng.choice(STRANGE)
    changed = json.dumps(parsed).encode()
    return changed if whole else b"\n".join([*lines[:place], changed, *lines[place + 1 :]])


def _parsed(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


def _removed(path: Path, rng: random.Random) -> None:
    path.unlink()


def _a_pipe(path: Path, rng: random.Random) -> None:
    path.unlink()
    os.mkfifo(path)


def _a_folder(path: Path, rng: random.Random) -> None:
    path.unlink()
    path.mkdir()


def _a_circle(path: Path, rng: random.Random) -> None:
    path.unlink()
    path.symlink_to(path.name)


def _sparse(path: Path, rng: random.Random) -> None:
    os.truncate(path, SPARSE_BYTES)


def _another(path: Path, rng: random.Random) -> None:
    starts = [b"", b"\x89HDF\r\n\x1a\n", b"\x93NUMPY\x01\x00", b"PK\x03\x04", b"\x89PNG\r\n\x1a\n",
              b"RIFF\xff\xff\xff\x7fWEBPVP8L", b"II*\x00", b"{" * 5000, b"[" * 100_000]  # fmt: skip
    path.write_bytes(rng.choice(starts) + rng.randbytes(rng.choice([0, 30, 300])))


REPLACED: tuple[Callable[[Path, random.Random], None], ...] = (
    _removed, _a_pipe, _a_folder, _a_circle, _sparse, _another, _another, _another,
)  # fmt: skip


def damage_file(path: Path, rng: random.Random) -> str:
    """Damage a file in some way; says how."""
    draw = rng.random()
    if draw < 0.12:
        way = rng.choice(REPLACED)
        way(path, rng)
        return way.__name__.strip("_").replace("_", " ")
    content = path.read_bytes()
    if not content:
        path.write_bytes(rng.randbytes(20))
        return "noise"
    is_text = b"\0" not in content[:4000]
    way = with_strange_value if is_text and draw < 0.55 else damage
    changed = way(content, rng)
    for _ in range(rng.choice([0, 0, 0, 1, 3])):
        changed = damage(changed, rng) if changed else changed
    path.write_bytes(changed)
    return way.__name__.replace("_", " ")
