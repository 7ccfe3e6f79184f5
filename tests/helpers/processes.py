"""Which processes are there, as /proc tells."""

from __future__ import annotations

from pathlib import Path


def in_session(session: int) -> list[int]:
    """Living processes of a session; the dead that nobody has buried do not count."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, theirs = stat.read_text().rpartition(")")[2].split()[:4]
        except OSError:
            continue
        if int(theirs) == session and state != "Z":
            found.append(int(stat.parent.name))
    return found
