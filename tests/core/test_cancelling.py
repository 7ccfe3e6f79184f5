"""Cancel tokens: seen inside their block and their thread, and nowhere else."""

from __future__ import annotations

import threading

import pytest

from puzzleflow.core.cancelling import (
    Cancelled,
    CancelToken,
    cancelled_by,
    check_cancelled,
    stop_flag,
)


def test_work_is_cancelled_inside_the_block_only() -> None:
    token = CancelToken()
    with cancelled_by(token):
        check_cancelled()
        assert stop_flag() is token.flag
        token.cancel()
        assert stop_flag()[0]
        with pytest.raises(Cancelled):
            check_cancelled()
        with cancelled_by(CancelToken()):
            check_cancelled()
    check_cancelled()
    assert not stop_flag()[0]


def test_the_block_ends_with_an_error_too() -> None:
    token = CancelToken()
    token.cancel()
    with pytest.raises(Cancelled), cancelled_by(token):
        check_cancelled()
    check_cancelled()


def test_another_thread_cancels_but_is_not_cancelled() -> None:
    token, seen = CancelToken(), []

    def elsewhere() -> None:
        token.cancel()
        check_cancelled()
        seen.append(bool(stop_flag()[0]))

    with cancelled_by(token):
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        assert seen == [False]
        with pytest.raises(Cancelled):
            check_cancelled()
