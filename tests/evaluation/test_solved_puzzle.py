from __future__ import annotations

from puzzleflow.evaluation.solved_puzzle import file_stem


def test_file_stems_are_safe() -> None:
    assert file_stem("../../etc/passwd", 3) == "00003_etc_passwd"
    assert file_stem("", 12) == "00012"
