"""Groups of solvers by name, in the order of the tables that they rebuild."""

from __future__ import annotations

from puzzleflow.core.errors import UnknownName
from puzzleflow.solvers.registry import list_solvers

TABLE_1 = (
    "greedy", "genetic", "jigsawgan", "diffassemble", "jpdvt", "puzlm", "fcvit", "flow",
)  # fmt: skip
JPWLEG = (
    "jpdvt", "greedy", "deepzzle", "tabu", "genetic", "flow", "sd2rl", "fcvit", "pdn-ga", "puzlm",
)  # fmt: skip
NEWER = ("rg-lns", "relational")  # what came after those tables
LEARNED = (
    "deepzzle", "diffassemble", "fcvit", "flow", "flow-seams", "jigsawgan", "jpdvt", "pdn-ga",
    "puzlm", "sd2rl",
)  # fmt: skip
GROUPS = {
    "@table1": (*TABLE_1, *NEWER),
    "@jpwleg": (*JPWLEG, *NEWER),
    "@learned": (*LEARNED, *NEWER),
    "@all": ("random", *TABLE_1, *JPWLEG),
}


def group_members(name: str) -> list[str]:
    """The solvers of a group, each once, tables in the paper's order.

    A row ``NAME+`` of ``@all`` follows its ``NAME``; solvers of no table come last.
    """
    if name not in GROUPS:
        raise UnknownName("group of solvers", name, GROUPS)
    members = list(dict.fromkeys(GROUPS[name]))
    if name == "@all":
        known = list_solvers()
        members = [row for n in members for row in (n, f"{n}+") if row in known]
        members += [n for n in known if n not in (*members, *NEWER)] + list(NEWER)
    return members
