from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from puzzleflow.core.errors import InputError, NoWeights, UnknownName
from puzzleflow.evaluation.spec import SolverSpec, group_members, parse_solvers
from puzzleflow.models.checkpoint import bundled_weights
from puzzleflow.solvers.registry import list_solvers


def test_a_name_alone() -> None:
    assert SolverSpec.parse("greedy") == SolverSpec("greedy")
    assert SolverSpec.parse("greedy").label == "greedy"


def test_options_are_typed_and_sorted() -> None:
    spec = SolverSpec.parse("reading:wrong=1+shift=2+refuse=politely+deep=true+rate=0.5")
    assert dict(spec.options) == {
        "deep": True,
        "rate": 0.5,
        "refuse": "politely",
        "shift": 2,
        "wrong": 1,
    }
    assert spec.label == "reading:deep=true+rate=0.5+refuse=politely+shift=2+wrong=1"


def test_loading_passes_the_options_on() -> None:
    assert SolverSpec.parse("reading:shift=2").load().shift == 2  # type: ignore[attr-defined]
    with pytest.raises(UnknownName, match="no-such"):
        SolverSpec.parse("no-such").load()
    with pytest.raises(InputError, match="colour"):
        SolverSpec.parse("reading:colour=1").load()


@pytest.mark.parametrize("name", ["my.py:Solver", "../a b/my.py:Solver", r"C:\\x\\my.py:Solver"])
def test_a_file_is_a_name(name: str) -> None:
    assert SolverSpec.parse(name) == SolverSpec(name)
    spec = SolverSpec.parse(f"{name}:steps=3+weights=other.py")
    assert (spec.name, dict(spec.options)) == (name, {"steps": 3, "weights": "other.py"})
    assert SolverSpec.parse("flow:weights=my.py").name == "flow"


def test_long_labels_have_short_file_names() -> None:
    specs = [SolverSpec.parse(f"{folder * 300}/my.py:Solver") for folder in "ab"]
    assert len({spec.file_stem for spec in specs}) == 2
    assert all(len(spec.file_stem) <= 120 for spec in specs)
    assert specs[0].file_stem.endswith("a_my.py_Solver")


def test_digests_follow_the_bytes_of_weights(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    shutil.copy(bundled_weights("relational.safetensors"), path)
    one = SolverSpec.parse(f"relational:weights={path}").digests()
    assert one == SolverSpec("relational").digests()
    assert one["weights"] != SolverSpec("flow-seams").digests()["weights"] != ""
    assert SolverSpec("random").digests()["weights"] == ""


@pytest.mark.parametrize("text", ["", ":a=1", "x:a", "x:=1", "x:a b=1", "x:a=1+a=2"])
def test_nonsense_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        SolverSpec.parse(text)


def test_a_list_keeps_its_order_and_has_no_doubles() -> None:
    assert [s.label for s in parse_solvers(" random, reading:shift=1 ,")] == [
        "random",
        "reading:shift=1",
    ]
    with pytest.raises(InputError, match="twice"):
        parse_solvers("random,random")
    with pytest.raises(InputError, match="no solver"):
        parse_solvers(" , ")


@given(
    st.dictionaries(
        st.sampled_from(["a", "b", "c"]),
        st.one_of(st.integers(), st.booleans(), st.text("xyz/._-", min_size=1)),
    )
)
def test_label_and_spec_are_inverse(options: dict[str, object]) -> None:
    spec = SolverSpec("name", tuple(sorted(options.items())))
    assert SolverSpec.parse(spec.label) == spec
    assert "/" not in spec.file_stem


def test_a_plus_may_be_part_of_a_path() -> None:
    spec = SolverSpec.parse("fcvit+:weights=runs/fcvit+.safetensors+steps=3")
    assert spec.name == "fcvit+"
    assert dict(spec.options) == {"weights": "runs/fcvit+.safetensors", "steps": 3}


def test_groups_are_in_the_order_of_their_tables() -> None:
    assert group_members("@table1") == [
        "greedy", "genetic", "jigsawgan", "diffassemble", "jpdvt", "puzlm", "fcvit", "flow",
        "rg-lns", "relational",
    ]  # fmt: skip
    everything = group_members("@all")
    assert sorted(everything) == list_solvers()
    assert everything[everything.index("fcvit") + 1] == "fcvit+"
    with pytest.raises(UnknownName, match="group of solvers '@nobody'; known: @all, @jpwleg"):
        parse_solvers("@nobody")


@pytest.mark.usefixtures("no_rival_weights")
def test_members_without_weights_are_left_out_aloud() -> None:
    told: list[NoWeights] = []
    found = [spec.name for spec in parse_solvers("relational,@jpwleg", told.append)]
    assert found[:2] == ["relational", "greedy"]
    assert not {"jpdvt", "deepzzle", "puzlm"} & set(found)
    assert "puzzleflow train jpdvt" in str(told[0])
    assert len(found) + len(told) == len(group_members("@jpwleg"))
    with pytest.raises(NoWeights, match="puzzleflow train jpdvt"):
        parse_solvers("@jpwleg")
