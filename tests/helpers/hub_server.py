"""A hub on this machine: as much of the Hugging Face hub's API as fetching and sending need."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

FILE = re.compile(r"/(datasets/)?([^/]+/[^/]+)/resolve/([^/]+)/(.+)")
API = re.compile(r"/api/(datasets|models)/([^/]+/[^/]+)/(revision|tree|preupload|commit)/([^/]+)")


@dataclass
class Hub:
    """Repositories by name (``datasets/OWNER/NAME``), each its files by path."""

    repositories: dict[str, dict[str, bytes]] = field(default_factory=dict)
    fetched: list[str] = field(default_factory=list)  # whose content was asked for
    refused: set[str] = field(default_factory=set)  # files that are not handed out

    def add(self, name: str, folder: Path) -> None:
        """A repository with the files of a folder."""
        self.repositories[name] = {
            path.relative_to(folder).as_posix(): path.read_bytes()
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        }

    def take(self) -> list[str]:
        """What was fetched since the last time."""
        taken, self.fetched = sorted(self.fetched), []
        return taken

    def answer(self, request: Request) -> Response:
        if request.path == "/api/validate-yaml":
            return _json({"errors": [], "warnings": []})
        if request.path == "/api/repos/create":
            asked = request.get_json()
            name = f"{asked.get('organization') or 'me'}/{asked['name']}"
            full = f"datasets/{name}" if asked.get("type") == "dataset" else f"models/{name}"
            self.repositories.setdefault(full, {})
            return _json({"url": f"{request.host_url}{name}"})
        if call := API.fullmatch(request.path):
            kind, name, what, _ = call.groups()
            return self._call(f"{kind}/{name}", what, request)
        if file := FILE.fullmatch(request.path):
            return self._file(f"{file[1] or 'models/'}{file[2]}", file[4], request)
        return Response(status=404)

    def _call(self, name: str, what: str, request: Request) -> Response:
        if name not in self.repositories:
            headers = {"X-Error-Code": "RepoNotFound", "X-Error-Message": "no such repository"}
            return Response(status=401, headers=headers)
        files = self.repositories[name]
        if what == "revision":
            return _json({"id": name.partition("/")[2], "sha": _commit(files), "siblings": []})
        if what == "tree":
            entries = [
                {"type": "file", "path": path, "size": len(content), "oid": _digest(content)}
                for path, content in files.items()
            ]
            return _json(entries)
        if what == "preupload":
            asked = request.get_json()["files"]
            return _json(
                {
                    "files": [
                        {"path": f["path"], "uploadMode": "regular", "shouldIgnore": False}
                        for f in asked
                    ]
                }
            )
        for line in request.get_data().splitlines():
            entry = json.loads(line)
            if entry["key"] == "file":
                value = entry["value"]
                files[value["path"]] = base64.b64decode(value["content"])
        page = f"{request.host_url}{name.removeprefix('models/')}/commit/{_commit(files)}"
        return _json({"commitOid": _commit(files), "commitUrl": page})

    def _file(self, name: str, path: str, request: Request) -> Response:
        content = self.repositories.get(name, {}).get(path)
        if content is None:
            return Response(status=404, headers={"X-Error-Code": "EntryNotFound"})
        if path in self.refused:
            return Response(status=403)
        if request.method == "GET":
            self.fetched.append(path)
        headers = {
            "ETag": f'"{_digest(content)}"',
            "X-Repo-Commit": _commit(self.repositories[name]),
            "Accept-Ranges": "bytes",
        }
        return Response(content, headers=headers)


def _json(content: object) -> Response:
    return Response(json.dumps(content), content_type="application/json")


def _digest(content: bytes) -> str:
    return hashlib.sha1(content).hexdigest()


def _commit(files: dict[str, bytes]) -> str:
    return _digest(repr(sorted((path, _digest(c)) for path, c in files.items())).encode())


@contextmanager
def running_hub() -> Iterator[tuple[Hub, str]]:
    """A hub and its address."""
    hub = Hub()
    with HTTPServer(host="127.0.0.1") as server:
        server.expect_request(re.compile(".*")).respond_with_handler(hub.answer)
        yield hub, server.url_for("").rstrip("/")
