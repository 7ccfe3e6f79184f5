from __future__ import annotations

import numpy as np
import pytest

from puzzleflow.core.errors import InputError
from puzzleflow.core.grid import Grid
from puzzleflow.evaluation.results import CLASSES, Record, Truth, score_records

TRUTHS = [Truth(np.arange(4), Grid(2, 2)), Truth(np.array([1, 0]), Grid(1, 2))]


def test_hand_worked_two_grids_and_a_refusal() -> None:
    records = [
        Record(1, "", (1, 0), 0.3, 4.0, 100.0),
        Record(0, "", (1, 0, 2, 3), 0.1, 2.0, 90.0),
    ]
    results = score_records("any", records, TRUTHS)
    assert results.indices == [0, 1]
    assert results.shares["PA"].tolist() == [0, 1]
    assert results.shares["AA"].tolist() == [0.5, 1]
    # of the pairs of the 2x2 only "3 right of 2" is kept: 1 of 4
    assert results.shares["SRA"].tolist() == [0.25, 1]
    assert [CLASSES[c] for c in results.classes] == ["local swap", "solved"]
    assert results.seconds.tolist() == [0.1, 0.3]
    assert results.memory_mb() == 3.0
    assert results.worker_mb() == 100.0
    refused = score_records("any", [Record(0, "", None, 0.1, refusal="no")], TRUTHS)
    assert refused.class_counts()["no answer"] == 1
    assert refused.memory_mb() is None
    assert refused.estimate("AA").value == 0


def test_layouts_of_other_puzzles_are_refused() -> None:
    with pytest.raises(InputError, match="do not fit the 1x2"):
        score_records("any", [Record(1, "", (0, 1, 2), 0.1)], TRUTHS)
