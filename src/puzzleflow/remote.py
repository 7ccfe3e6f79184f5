"""Object storage and web servers: s3://, gs:// and https:// fetched and kept, folders sent.

Files come in ranges through ``fsspec`` and lie below the cache folder; one that was broken off goes
on where it was, and one that has not changed is not fetched again. Who may read and write is asked
of the environment, as everywhere: AWS_ACCESS_KEY_ID, AWS_ENDPOINT_URL, and
GOOGLE_APPLICATION_CREDENTIALS for example.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from puzzleflow.addresses import Choose, address_of
from puzzleflow.core.errors import InputError, OutputError, PuzzleFlowError
from puzzleflow.files import read_json, write_json, writing

CHUNK = 32 << 20  # bytes that are asked for at once
CACHE = "PUZZLEFLOW_CACHE"  # environment: where fetched files and outputs on their way lie
STORES = ("s3", "gs")
KINDS = (*STORES, "http", "https")


def cache_folder() -> Path:
    """Where fetched files lie; on a cluster, a folder that every worker sees."""
    told = os.environ.get(CACHE)
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(told) if told else base / "puzzleflow"


def fetch(address: str, choose: Choose, holds: str) -> Path:
    """The local path of an address, with the chosen files below it (see ``addresses.py``)."""
    place = Place.of(address)
    with _told(address):
        files = place.files()
        if not files:
            raise InputError(f"{address}: no such file or folder, or nothing in it")
        wanted = [""] if "" in files else choose(sorted(files))
        for name in wanted:
            place.bring(name, files[name])
    return place.local("")


def outbox(out: str | Path) -> tuple[Path, Callable[[], str | None]]:
    """Where to write what is meant for ``out``, and what sends it there.

    An address has a local folder, which first gets what the address holds, so that work that was
    begun elsewhere goes on. Sending returns the address, or None for a path of this disk.
    """
    address = address_of(out)
    if address is None:
        return Path(out), lambda: None
    if address.partition(":")[0] not in STORES:
        raise InputError(f"{address}: results are written to folders, s3:// and gs:// only")
    place = Place.of(address)
    with _told(address):
        for name, entry in place.files().items():
            place.bring(name, entry)

    def send() -> str:
        with _told(address, OutputError):
            place.send()
        return address

    return place.local(""), send


@dataclass(frozen=True)
class Entry:
    """A file there: its full name, its bytes if they are known, and what tells its versions."""

    path: str
    size: int | None
    version: str


@dataclass(frozen=True)
class Place:
    """A file or folder at an address, and its copy in the cache."""

    address: str
    system: Any  # an fsspec file system
    root: str  # as the file system writes it

    @classmethod
    def of(cls, address: str) -> Place:
        """The place of ``address``, of a kind in :data:`KINDS`."""
        kind, _, rest = address.partition("://")
        if not re.fullmatch(r"[^/\s]+(/.*)?", rest) or ".." in rest.split("/"):
            raise InputError(f"{address}: expected {kind}://PLACE/PATH")
        if kind in STORES:
            from obstore.fsspec import FsspecStore

            system = FsspecStore(kind, skip_instance_cache=True)
            return cls(address, system, rest.rstrip("/"))
        import fsspec

        system = fsspec.filesystem(kind, skip_instance_cache=True, use_listings_cache=False)
        return cls(address, system, address.rstrip("/"))

    def files(self) -> dict[str, Entry]:
        """Every file by its name below the address; "" if the address is a file itself."""
        try:
            root = self.system.info(self.root) if "/" in self.root else {"type": "directory"}
            is_page = str(root.get("url", "")).endswith("/")  # of a web server: it lists a folder
            if root["type"] == "file" and not is_page:
                return {"": self._entry(root | {"name": self.root})}
            found = self.system.find(f"{self.root}/" if is_page else self.root, detail=True)
        except FileNotFoundError:
            return {}
        base = f"{self.root}/"
        entries = {
            name.removeprefix(base): self._entry({"name": name} | told)
            for name, told in found.items()
            if name.startswith(base)
        }
        for name in entries:
            if PurePosixPath(name).is_absolute() or ".." in name.split("/") or "?" in name:
                raise InputError(f"{self.address}: lists {name!r}, which lies outside of it")
        return entries

    def _entry(self, told: dict[str, Any]) -> Entry:
        if told.get("size") is None and "url" not in told:
            told |= self.system.info(told["name"])  # a page that lists files tells only names
        marks = [told.get(key) for key in ("e_tag", "ETag", "Last-Modified", "size")]
        return Entry(told["name"], told.get("size"), repr(marks))

    def local(self, name: str) -> Path:
        """Where a file of this place lies in the cache."""
        kind, _, rest = self.address.rstrip("/").partition("://")
        return cache_folder() / kind / re.sub(r"[?*:|<>\"\\]", "_", rest) / name

    def bring(self, name: str, entry: Entry) -> None:
        """Fetch a file, in ranges, unless this version of it lies here already."""
        target = self.local(name)
        if self._is_in_step(name, entry):
            return
        digest = hashlib.sha256(entry.version.encode()).hexdigest()[:12]
        part = target.with_name(f".{target.name}.{digest}.fetched")
        with writing(target):
            target.parent.mkdir(parents=True, exist_ok=True)
        if entry.size is None or entry.size <= CHUNK:
            part.write_bytes(self.system.cat_file(entry.path))
        else:
            with part.open("ab") as stream:
                while (at := stream.tell()) < entry.size:
                    end = min(at + CHUNK, entry.size)
                    told = self.system.cat_file(entry.path, start=at, end=end)
                    if len(told) == entry.size:  # a server without ranges sends everything
                        stream.truncate(0)
                    elif len(told) != end - at:
                        raise OSError(f"{len(told)} bytes came of {end - at}")
                    stream.write(told)
                    stream.flush()
        with writing(target):
            part.replace(target)
        self._note(name, entry)

    def send(self) -> None:
        """Send what has changed, the oldest file first: what says that all is there comes last."""
        there = self.files()
        found = [path for path in self.local("").rglob("*") if path.is_file()]
        for path in sorted(found, key=lambda path: (path.stat().st_mtime_ns, path)):
            name = path.relative_to(self.local("")).as_posix()
            if any(part.startswith(".") for part in name.split("/")):
                continue  # locks, and what is not finished
            if name in there and self._is_in_step(name, there[name]):
                continue
            remote = f"{self.root}/{name}"
            self.system.put_file(str(path), remote)
            self._note(name, self._entry(self.system.info(remote) | {"name": remote}))

    def _stamp(self, name: str) -> Path:
        digest = hashlib.sha256(f"{self.address.rstrip('/')}/{name}".encode()).hexdigest()
        return cache_folder() / "stamps" / f"{digest[:32]}.json"

    def _state(self, name: str, entry: Entry) -> dict[str, Any]:
        there = self.local(name).stat()
        return {"version": entry.version, "size": there.st_size, "changed": there.st_mtime_ns}

    def _note(self, name: str, entry: Entry) -> None:
        """Remember that the local file and the one there are the same."""
        write_json(self._stamp(name), self._state(name, entry))

    def _is_in_step(self, name: str, entry: Entry) -> bool:
        """Whether neither the local file nor the one there has changed since they were the same."""
        stamp = self._stamp(name)
        if not stamp.exists() or not self.local(name).is_file():
            return False
        return bool(read_json(stamp) == self._state(name, entry))


@contextmanager
def _told(address: str, kind: type[PuzzleFlowError] = InputError) -> Iterator[None]:
    """Errors of the store or of the network as one line that begins with the address."""
    try:
        yield
    except PuzzleFlowError:
        raise
    except FileNotFoundError as error:
        raise kind(f"{address}: no such file or folder") from error
    except ModuleNotFoundError:
        raise
    except Exception as error:  # of the libraries, which share no base
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise kind(f"{address}: {reason}") from error
