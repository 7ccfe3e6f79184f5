"""What a run writes down, and to whom it tells it besides."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from puzzleflow.core.errors import InputError
from puzzleflow.training.log import RunLog, load_loggers

OWN = """
class Own:
    def __init__(self, rows=None):
        self.rows = []

    def log_metrics(self, metrics, step=None):
        self.rows.append((step, metrics))

    def finalize(self, status):
        self.rows.append(status)
"""


def test_every_logger_is_told_every_figure(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(OWN)
    own, table = load_loggers(
        [f"{tmp_path / 'own.py'}:Own", f"csv:root_dir={tmp_path / 'logs'}+name=run+version=one"]
    )
    log = RunLog(tmp_path, 0, [own, table])
    log.write({"step": 1, "loss": 0.5, "val": {"3x3": {"PA": 0.25}}, "note": "text"})
    log.close()
    assert own.rows == [(1, {"step": 1.0, "loss": 0.5, "val/3x3/PA": 0.25}), "success"]
    with (tmp_path / "logs" / "run" / "one" / "metrics.csv").open(newline="") as stream:
        (row,) = csv.DictReader(stream)
    assert row["val/3x3/PA"] == "0.25"


def test_what_is_no_logger_is_said() -> None:
    with pytest.raises(InputError, match="unknown logger 'paper'; known: csv, wandb"):
        load_loggers(["paper"])
    with pytest.raises(InputError, match=r"logger 'csv': missing.*its options: root_dir"):
        load_loggers(["csv"])
