"""The one place that imports ONNX Runtime, so that it reports to nobody.

By default it keeps a database of events in the user's cache and sends them to its maker.
It reads the variable below when its library is loaded, be it by us or by an exporter.
"""

from __future__ import annotations

import importlib
import os
from typing import Any

from puzzleflow.core.errors import InputError

os.environ["ORT_DISABLE_TELEMETRY"] = "1"


def onnx_runtime(part: str = "") -> Any:
    """The module ``onnxruntime``, or a part of it such as "quantization"."""
    try:
        whole = importlib.import_module("onnxruntime")
        whole.disable_telemetry_events()  # had somebody else imported it before
        return importlib.import_module(f"onnxruntime.{part}") if part else whole
    except ImportError as error:
        raise needs_export_extra(error) from error


def needs_export_extra(error: ImportError) -> InputError:
    """What to tell a user whose installation lacks a package of the extra."""
    return InputError(f"ONNX graphs need {error.name}: pip install 'puzzleflow[export]'")
