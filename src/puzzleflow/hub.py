"""The Hugging Face hub: hf://OWNER/NAME[@REVISION][/PATH] fetched and kept, folders sent.

Files are asked for one commit at a time, kept in the cache of ``huggingface_hub`` and never
fetched twice; without a network the cache answers. The environment variables of that library
(HF_ENDPOINT, HF_HOME, HF_TOKEN, HF_HUB_OFFLINE) hold.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from types import ModuleType
from typing import Any

from puzzleflow.addresses import Choose
from puzzleflow.core.errors import InputError, OutputError, PuzzleFlowError

EXPECTED = "hf://[datasets/|models/]OWNER/NAME[@REVISION][/PATH]"
_KINDS = {"datasets": "dataset", "models": "model"}
_PART = r"[\w][\w.-]*"
_ADDRESS = re.compile(
    rf"hf://(?:(datasets|models)/)?({_PART}/{_PART})(?:@([\w.-]+))?((?:/[^/]+)*)/?"
)


@dataclass(frozen=True)
class HubAddress:
    """A repository of the hub, or a file or folder in it."""

    text: str
    kind: str  # "dataset" or "model"
    repository: str  # "OWNER/NAME"
    revision: str | None
    inside: str  # "" or a path within the repository

    @classmethod
    def parse(cls, text: str, holds: str) -> HubAddress:
        """The parts of ``text``, a repository of the kind ``holds`` unless it says another."""
        found = _ADDRESS.fullmatch(text)
        inside = found[4].strip("/") if found else ".."
        if found is None or ".." in inside.split("/"):
            raise InputError(f"{text}: expected {EXPECTED}")
        return cls(text, _KINDS.get(found[1], holds), found[2], found[3], inside)

    @property
    def arguments(self) -> dict[str, Any]:
        """How ``huggingface_hub`` names the repository."""
        return {"repo_id": self.repository, "repo_type": self.kind, "revision": self.revision}


def fetch(text: str, choose: Choose, holds: str) -> Path:
    """The local path of an address, with the chosen files below it."""
    address = HubAddress.parse(text, holds)
    hub = _library()
    from huggingface_hub.utils.tqdm import tqdm

    with _told(address), _quiet_about_patterns():
        listing = {"allow_patterns": [], "tqdm_class": partial(tqdm, disable=True)}
        hub.snapshot_download(**address.arguments, **listing)  # no file, but the names of all
        files = [entry.path for entry in hub.get_cached_repo_tree(**address.arguments)]
        inside = PurePosixPath(address.inside)
        if address.inside in files:
            wanted = [address.inside]
        else:
            below = {
                PurePosixPath(name).relative_to(inside).as_posix(): name
                for name in sorted(files)
                if PurePosixPath(name).is_relative_to(inside)
            }
            if not below:
                held = ", ".join(sorted({name.split("/")[0] for name in files})[:12]) or "nothing"
                raise InputError(f"{text}: no such file or folder; the repository holds {held}")
            wanted = [below[name] for name in choose(list(below))]
        patterns = [re.sub(r"([*?[])", r"[\1]", name) for name in wanted]
        folder = hub.snapshot_download(**address.arguments, allow_patterns=patterns)
    return Path(folder) / address.inside


def send(folder: Path, text: str, holds: str, *, message: str, private: bool = False) -> str:
    """Upload the files of a folder to an address; the page on which they can be seen."""
    address = HubAddress.parse(text, holds)
    hub = _library()
    with _told(address, OutputError):
        api = hub.HfApi()
        api.create_repo(address.repository, repo_type=address.kind, private=private, exist_ok=True)
        sent = api.upload_folder(
            **address.arguments,
            folder_path=folder,
            path_in_repo=address.inside or None,
            commit_message=message,
        )
    return str(sent.commit_url)


def _library() -> ModuleType:
    try:
        import huggingface_hub
    except ImportError as error:
        raise InputError("hf:// addresses need pip install 'puzzleflow[hub]'") from error
    return huggingface_hub


@contextmanager
def _told(address: HubAddress, kind: type[PuzzleFlowError] = InputError) -> Iterator[None]:
    """Errors of the library and of the network as one line that begins with the address."""
    import httpx2
    from huggingface_hub import errors

    try:
        yield
    except PuzzleFlowError:
        raise
    except errors.GatedRepoError as error:
        reason = "its owner lets in only who has asked: do so on its page, then `hf auth login`"
        raise kind(f"{address.text}: {reason}") from error
    except errors.RepositoryNotFoundError as error:
        raise kind(
            f"{address.text}: the hub has no {address.kind} {address.repository}, or it is private "
            "and needs `hf auth login`"
        ) from error
    except errors.RevisionNotFoundError as error:
        raise kind(f"{address.text}: it has no revision {address.revision}") from error
    except errors.IncompleteSnapshotError as error:
        raise kind(
            f"{address.text}: the hub cannot be reached, and not all files are in the cache"
        ) from error
    except (OSError, ValueError, httpx2.HTTPError) as error:  # also what the library derives
        answered = error.__cause__ if isinstance(error, errors.LocalEntryNotFoundError) else error
        if isinstance(answered, httpx2.TransportError | errors.OfflineModeIsEnabled | None):
            cached = ", and nothing of it is in the cache" if kind is InputError else ""
            raise kind(f"{address.text}: the hub cannot be reached{cached}") from error
        reason = " ".join(str(answered).split())[:200]
        raise kind(f"{address.text}: the hub refuses ({reason})") from error


@contextmanager
def _quiet_about_patterns() -> Iterator[None]:
    """Without the warning that no file matches the empty pattern, by which nothing is fetched."""

    def keep(record: logging.LogRecord) -> bool:
        return not record.getMessage().startswith("No files matched")

    logger = logging.getLogger("huggingface_hub._snapshot_download")
    logger.addFilter(keep)
    try:
        yield
    finally:
        logger.removeFilter(keep)
