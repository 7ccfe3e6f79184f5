from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from puzzleflow.core.errors import FormatError, InputError, OutputError
from puzzleflow.lock import locked
from puzzleflow.pictures import read_picture
from puzzleflow.sources.collect import Collected, CollectSettings, Draws, Progress, collect
from puzzleflow.sources.fetch import FetchSettings, RequestFailed

FAST = FetchSettings(rate_per_s=5000, timeout_s=5, tries=4, backoff_s=0.01, backoff_cap_s=0.05)
HASTY = replace(FAST, timeout_s=0.4)


def settings(met: Any, **changes: Any) -> CollectSettings:
    return CollectSettings(**{"num": 8, "seed": 3, "base_url": met.url, "fetch": FAST, **changes})


def rows(out: Path, name: str) -> list[dict[str, str]]:
    with (out / name / "metadata.csv").open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def ids(out: Path, name: str) -> list[int]:
    return [int(row["object_id"]) for row in rows(out, name)]


def order(met: Any, **changes: Any) -> Draws:
    given = settings(met, **changes)
    return Draws(sorted(met.records), given.seed, given.sets, given.num)


def picture(number: int) -> str:
    return f"/images/original/{number}.jpg"


def test_two_disjoint_sets_of_whole_full_resolution_pictures(met: Any, tmp_path: Path) -> None:
    seen: list[Progress] = []
    collected = collect(tmp_path, settings(met), on_progress=seen.append)
    assert collected == Collected({"GAP-3": 8, "GAP-5": 8}, {"kept": 16})
    assert (seen[-1].num_kept, seen[-1].num_wanted, seen[-1].num_drawn) == (16, 16, 16)
    three, five = ids(tmp_path, "GAP-3"), ids(tmp_path, "GAP-5")
    assert len(set(three) | set(five)) == 16
    drawn = order(met).object_of[:16]
    assert three == drawn[0::2]
    assert five == drawn[1::2]
    for row in rows(tmp_path, "GAP-5"):
        content = (tmp_path / "GAP-5" / row["file"]).read_bytes()
        assert content == met.pictures[picture(int(row["object_id"]))]
        assert read_picture(content).shape[:2] == (int(row["height"]), int(row["width"]))
        assert len(content) == int(row["bytes"])
    assert max(met.num_asked().values()) == 1


def test_metadata_has_what_the_paper_lists_as_the_museum_wrote_it(met: Any, tmp_path: Path) -> None:
    collect(tmp_path, settings(met, num=1, sets=("one",)))
    (row,) = rows(tmp_path, "one")
    record = met.records[int(row["object_id"])]
    for column, key in {
        "title": "title",
        "artist": "artistDisplayName",
        "date": "objectDate",
        "period": "period",
        "department": "department",
        "culture": "culture",
        "medium": "medium",
    }.items():
        assert row[column] == " ".join(record[key].split())
    assert row["dimensions"] == " ".join(record["dimensions"].split())
    assert row["rights"] == "Public domain (CC0 1.0)"


def test_unsuitable_objects_are_counted_and_replaced_by_further_draws(
    met: Any, tmp_path: Path
) -> None:
    drawn = order(met).object_of
    met.records[drawn[0]]["isPublicDomain"] = False
    met.records[drawn[1]]["title"] = "Wall FRAGMENT with a fish"
    met.records[drawn[2]]["primaryImage"] = ""
    met.records[drawn[4]]["primaryImage"] = "file:///etc/passwd"
    met.faults[f"/objects/{drawn[6]}"] = ["404!"]
    collected = collect(tmp_path, settings(met))
    assert collected.counts == {
        "kept": 16,
        "no-image": 2,
        "not-public-domain": 1,
        "fragment-title": 1,
        "not-found": 1,
    }
    assert ids(tmp_path, "GAP-3") == drawn[0:24:2][4:]
    assert ids(tmp_path, "GAP-5") == drawn[1:18:2][1:]
    assert picture(drawn[0]) not in met.asked


@pytest.mark.parametrize("fault", ["429", "500", "503", "hang", "drop", "truncated"])
def test_passing_faults_leave_no_trace(met: Any, tmp_path: Path, fault: str) -> None:
    drawn = order(met).object_of
    met.faults["/objects"] = [fault]
    met.faults[f"/objects/{drawn[0]}"] = [fault, fault]
    met.faults[picture(drawn[1])] = [fault]
    met.faults[picture(drawn[5])] = [fault, fault]
    collected = collect(tmp_path, settings(met, fetch=HASTY if fault == "hang" else FAST))
    assert collected.counts == {"kept": 16}
    assert ids(tmp_path, "GAP-3") == drawn[0:16:2]
    assert met.num_asked()[picture(drawn[5])] >= 3
    assert not list(tmp_path.rglob("*.part"))


@pytest.mark.parametrize(
    ("fault", "reason", "num_asked"),
    [
        ("half!", "truncated", 2),
        ("html!", "not-an-image", 2),
        ("empty!", "not-an-image", 2),
        ("404!", "not-found", 1),
        ("403!", "http-403", 1),
        ("500!", "http-500", 4),
        ("truncated!", "broken-off", 4),
        ("hang!", "time-out", 4),
    ],
)
def test_broken_pictures_are_counted_and_replaced(
    met: Any, tmp_path: Path, fault: str, reason: str, num_asked: int
) -> None:
    drawn = order(met).object_of
    met.faults[picture(drawn[2])] = [fault]
    collected = collect(tmp_path, settings(met, fetch=HASTY if fault == "hang!" else FAST))
    assert collected.counts == {"kept": 16, reason: 1}
    assert ids(tmp_path, "GAP-3") == [drawn[0], *drawn[4:18:2]]
    assert met.num_asked()[picture(drawn[2])] == num_asked
    assert not (tmp_path / "GAP-3" / "images" / f"{drawn[2]}.jpg").exists()
    assert not list(tmp_path.rglob("*.part"))


def test_the_guard_in_front_of_the_api_is_waited_out(met: Any, tmp_path: Path) -> None:
    drawn = order(met).object_of
    met.faults[f"/objects/{drawn[0]}"] = ["403", "403"]
    met.faults[f"/objects/{drawn[1]}"] = ["html"]
    assert collect(tmp_path, settings(met)).counts == {"kept": 16}


def test_a_second_run_asks_for_nothing(met: Any, tmp_path: Path) -> None:
    collect(tmp_path, settings(met))
    table = (tmp_path / "GAP-3" / "metadata.csv").read_bytes()
    met.asked.clear()
    collect(tmp_path, settings(met))
    assert met.asked == []
    assert (tmp_path / "GAP-3" / "metadata.csv").read_bytes() == table


def test_more_pictures_continue_the_same_draw(met: Any, tmp_path: Path) -> None:
    collect(tmp_path / "grown", settings(met, num=3))
    collect(tmp_path / "grown", settings(met, num=9))
    assert max(met.num_asked().values()) == 1
    collect(tmp_path / "whole", settings(met, num=9))
    for name in ("GAP-3", "GAP-5"):
        assert ids(tmp_path / "grown", name) == ids(tmp_path / "whole", name)


def test_a_picture_taken_away_or_cut_is_brought_again(met: Any, tmp_path: Path) -> None:
    collect(tmp_path, settings(met))
    first, second, *_ = sorted((tmp_path / "GAP-3" / "images").iterdir())
    first.unlink()
    second.write_bytes(second.read_bytes()[:1000])
    met.asked.clear()
    collect(tmp_path, settings(met))
    assert sorted(met.asked) == sorted([picture(int(first.stem)), picture(int(second.stem))])
    assert second.read_bytes() == met.pictures[picture(int(second.stem))]


def test_a_cut_last_line_of_the_journal_costs_no_download(met: Any, tmp_path: Path) -> None:
    collect(tmp_path, settings(met))
    journal = tmp_path / "journal.jsonl"
    content = journal.read_bytes()
    journal.write_bytes(content[:-20])  # killed while it wrote the last outcome
    met.asked.clear()
    collect(tmp_path, settings(met))
    assert met.asked == []
    assert journal.read_bytes().count(b"\n") == content.count(b"\n")


def test_a_lost_journal_costs_no_picture(met: Any, tmp_path: Path) -> None:
    collect(tmp_path, settings(met))
    table = (tmp_path / "GAP-5" / "metadata.csv").read_bytes()
    (tmp_path / "journal.jsonl").unlink()
    met.asked.clear()
    collect(tmp_path, settings(met))
    assert not [path for path in met.asked if path.startswith("/images")]
    assert (tmp_path / "GAP-5" / "metadata.csv").read_bytes() == table


def test_what_cannot_be_written_stops_the_run_and_nothing_else_is_lost(
    met: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "GAP-5").mkdir()
    (tmp_path / "GAP-5" / "images").write_text("in the way")
    with pytest.raises(OutputError, match="GAP-5/images"):
        collect(tmp_path, settings(met))
    assert capfd.readouterr().err == ""
    (tmp_path / "GAP-5" / "images").unlink()
    assert collect(tmp_path, settings(met)).counts == {"kept": 16}


def test_the_number_of_downloads_at_once_is_kept(met: Any, tmp_path: Path) -> None:
    met.picture_s = 0.1
    few = FetchSettings(rate_per_s=5000, concurrency=3, timeout_s=10)
    collect(tmp_path, settings(met, fetch=few))
    assert 1 < met.most_at_once <= 3  # a busy machine may never have all three under way


def test_too_small_a_collection_is_said_and_what_is_there_is_kept(met: Any, tmp_path: Path) -> None:
    met.records = {number: met.records[number] for number in sorted(met.records)[:7]}
    with pytest.raises(InputError, match="GAP-3 got only 4 of 8"):
        collect(tmp_path, settings(met))
    assert len(ids(tmp_path, "GAP-3")) == 4
    assert len(ids(tmp_path, "GAP-5")) == 3


def test_a_dead_server_stops_the_run_and_blames_no_object(met: Any, tmp_path: Path) -> None:
    collect(tmp_path, settings(met, num=2))
    for path in met.pictures:
        met.faults[path] = ["500!"]
    with pytest.raises(InputError, match=r"6 objects in a row failed .*run the same command again"):
        collect(tmp_path, settings(met, give_up_after=6))
    met.faults.clear()
    collected = collect(tmp_path, settings(met))
    assert collected.counts == {"kept": 16}
    assert ids(tmp_path, "GAP-3") == order(met).object_of[0:16:2]


def test_no_list_no_collection(met: Any, tmp_path: Path) -> None:
    met.faults["/objects"] = ["500!"]
    with pytest.raises(RequestFailed, match="/objects: the server answered 500"):
        collect(tmp_path, settings(met))


def test_search_and_departments_reach_the_api(met: Any, tmp_path: Path) -> None:
    collect(tmp_path / "a", settings(met, num=1, query="cat fish", departments=(6, 11)))
    assert met.asked[:2] == ["/search", "/search"]
    assert met.queries[0] == "hasImages=true&q=cat+fish&departmentId=6"
    met.queries.clear()
    collect(tmp_path / "b", settings(met, num=1, departments=(6, 11)))
    assert met.queries[0] == "departmentIds=6%7C11"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"seed": 4}, "begun with seed 3, not 4"),
        ({"sets": ("a", "b")}, "begun with sets"),
        ({"num": 1}, "begun with 2 pictures a set"),
    ],
)
def test_another_collection_does_not_go_into_the_same_folder(
    met: Any, tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    collect(tmp_path, settings(met, num=2))
    with pytest.raises(InputError, match=message):
        collect(tmp_path, settings(met, **{"num": 2, **changes}))


@pytest.mark.parametrize(
    "changes",
    [{"num": 0}, {"sets": ()}, {"sets": ("a", "a")}, {"sets": ("../a",)}, {"base_url": "ftp://x"}],
)
def test_senseless_settings_are_refused_before_anything_is_written(
    met: Any, tmp_path: Path, changes: dict[str, Any]
) -> None:
    with pytest.raises(InputError):
        collect(tmp_path / "out", settings(met, **changes))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("collection.json", b"{"),
        ("collection.json", b"[1]"),
        ("objects.json", b"\xff\xfe"),
        ("objects.json", b'["x"]'),
        ("journal.jsonl", b"{\n"),
        ("journal.jsonl", b"[1]\n"),
        ("journal.jsonl", b"\xff\xfe\n"),
        ("journal.jsonl", b'{"draw": 1}\n'),
        ("journal.jsonl", b'{"draw": 1, "record": {"title": "x"}}\n'),
    ],
)
def test_damaged_files_of_ours_are_named(
    met: Any, tmp_path: Path, name: str, content: bytes
) -> None:
    collect(tmp_path, settings(met, num=1))
    (tmp_path / name).write_bytes(content)
    with pytest.raises(FormatError, match=name):
        collect(tmp_path, settings(met, num=1))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"draw":0', '"draw":"0"'),
        ('"draw":0', '"draw":[0]'),
        ('"width":', '"breadth":'),
        ('"is_public_domain":true', '"is_public_domain":1'),
        ('"outcome":"kept"', '"outcome":{}'),
        ('"file":"', '"file":"\\ud800'),
    ],
)
def test_wrong_types_in_the_journal_are_named_with_their_line(
    met: Any, tmp_path: Path, old: str, new: str
) -> None:
    collect(tmp_path, settings(met, num=1))
    path = tmp_path / "journal.jsonl"
    content = path.read_text()
    assert old in content
    path.write_text(content.replace(old, new))
    with pytest.raises(FormatError, match=r"journal\.jsonl, line \d: damaged \(\w+: "):
        collect(tmp_path, settings(met, num=1))


def test_a_journal_of_an_earlier_version_is_refused(met: Any, tmp_path: Path) -> None:
    collect(tmp_path, settings(met, num=1))
    path = tmp_path / "journal.jsonl"
    path.write_text(path.read_text().partition("\n")[2])  # it had no heading
    with pytest.raises(FormatError, match=r"line 1: .* an earlier one cannot go on: remove it"):
        collect(tmp_path, settings(met, num=1))


def test_the_report_says_how_varied_the_pictures_are(met: Any, tmp_path: Path) -> None:
    collect(tmp_path, settings(met, num=20))
    report = json.loads((tmp_path / "diversity.json").read_text())
    assert set(report) == {"all", "GAP-3", "GAP-5"}
    assert report["all"]["num_pictures"] == 40
    assert sum(report["all"]["departments"].values()) == 40
    assert report["all"]["media"] == {"paintings": 40}
    text = (tmp_path / "diversity.md").read_text()
    assert "## GAP-5: 20 pictures" in text
    assert "| European Paintings |" in text


def test_two_runs_do_not_share_a_folder(met: Any, tmp_path: Path) -> None:
    with (
        locked(tmp_path),
        pytest.raises(OutputError, match=r"process \d+ on .* is writing here"),
    ):
        collect(tmp_path, settings(met))
    assert collect(tmp_path, settings(met, num=1)).counts == {"kept": 2}
