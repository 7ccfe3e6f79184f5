"""Two solvers on the same puzzles: is the difference more than luck?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from puzzleflow.core.intervals import Estimate, bootstrap_mean
from puzzleflow.evaluation.results import SHOWN, Results


@dataclass(frozen=True)
class Comparison:
    """A paired comparison of two solvers.

    differences              first − second in points, by metric, with 95 % intervals
    only_first, only_second  puzzles that one solved and the other did not
    mcnemar_p                exact two-sided p of these two counts if both were equally good
    """

    first: str
    second: str
    num_puzzles: int
    differences: dict[str, Estimate]
    only_first: int
    only_second: int
    mcnemar_p: float


def compare(first: Results, second: Results, *, seed: int = 0) -> Comparison:
    """Paired comparison; both must be results of the same puzzles."""
    if first.indices != second.indices:
        raise ValueError("a paired comparison needs the same puzzles on both sides")
    differences = {
        metric: bootstrap_mean(100 * (first.shares[metric] - second.shares[metric]), seed=seed)
        for metric in SHOWN
    }
    first_solved, second_solved = first.shares["PA"] == 1, second.shares["PA"] == 1
    only_first = int((first_solved & ~second_solved).sum())
    only_second = int((second_solved & ~first_solved).sum())
    return Comparison(
        first.solver,
        second.solver,
        len(first),
        differences,
        only_first,
        only_second,
        mcnemar_p(only_first, only_second),
    )


MOST_PAIRED = 4  # solvers of which every pair is compared


def compare_all(
    results: Sequence[Results], *, seed: int = 0, reference: str = ""
) -> list[Comparison]:
    """Every pair once, in the order given; of many solvers each with ``reference``."""
    against = [result for result in results if result.solver == reference]
    if len(results) > MOST_PAIRED and against:
        others = (result for result in results if result.solver != reference)
        return [compare(other, against[0], seed=seed) for other in others]
    return [
        compare(first, second, seed=seed)
        for place, first in enumerate(results)
        for second in results[place + 1 :]
    ]


def is_clear(difference: Estimate) -> bool:
    """The interval leaves out zero."""
    return difference.low > 0 or difference.high < 0


def mcnemar_p(only_first: int, only_second: int) -> float:
    """Exact two-sided McNemar test: a fair coin for every puzzle on which the two differ."""
    from scipy.stats import binomtest

    discordant = only_first + only_second
    return float(binomtest(only_first, discordant).pvalue) if discordant else 1.0
