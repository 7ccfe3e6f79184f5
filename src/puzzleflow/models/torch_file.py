"""Checkpoints of PyTorch (``.pt``, ``.pth``) from strangers: tensors and plain values, no code."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import torch

from puzzleflow.core.ceiling import check_bytes
from puzzleflow.core.errors import FormatError, PuzzleFlowError
from puzzleflow.files import open_regular


def read_torch_file(path: Path) -> Any:
    """What the file holds, of no more bytes than it has itself; code inside is never run.

    PyTorch's format since 1.6 is an archive that is not packed; the one before, a bare
    pickle, is read too.
    """
    try:
        with open_regular(path) as stream:
            if zipfile.is_zipfile(stream):
                stream.seek(0)
                _check_archive(path, zipfile.ZipFile(stream))
            else:
                check_bytes(2 * path.stat().st_size, f"{path}: its tensors")
        return torch.load(path, map_location="cpu", weights_only=True)
    except PuzzleFlowError:
        raise
    except Exception as error:  # PyTorch raises almost anything on damaged files
        reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        raise FormatError(f"{path}: expected a plain PyTorch checkpoint ({reason})") from error


def _check_archive(path: Path, archive: zipfile.ZipFile) -> None:
    members = archive.infolist()
    check_bytes(2 * sum(m.file_size for m in members), f"{path}: what it unpacks to")
    if any(member.compress_type != zipfile.ZIP_STORED for member in members):
        raise FormatError(f"{path}: expected a PyTorch checkpoint, found a packed archive")
