"""What is shipped beside the code: citation, container, recipe, workflows. None of it runs here."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import typer
import yaml
from packaging.requirements import Requirement

from puzzleflow.cli.main import build_app

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
TEXT: dict[str, Any] = {"type": "string", "minLength": 1}
PERSON = {
    "type": "object",
    "properties": dict.fromkeys(
        ("family-names", "given-names", "affiliation", "alias", "email", "orcid", "website"), TEXT
    ),
    "additionalProperties": False,
}
ENTITY = {
    "type": "object",
    "properties": dict.fromkeys(("name", "city", "country", "website", "email"), TEXT),
    "required": ["name"],
    "additionalProperties": False,
}
AUTHORS = {"type": "array", "minItems": 1, "items": {"anyOf": [PERSON, ENTITY]}}
REFERENCE = {
    "type": "object",
    "required": ["authors", "title", "type"],
    "properties": {
        "authors": AUTHORS,
        "title": TEXT,
        "type": {"enum": ["article", "conference-paper", "proceedings", "software"]},
        "collection-title": TEXT,
        "conference": ENTITY,
        "year": {"type": "integer"},
        "doi": {"type": "string", "pattern": r"^10\."},
        "url": TEXT,
    },
    "additionalProperties": False,
}
CFF = {  # of the schema of CFF 1.2.0 the part that this file may use
    "type": "object",
    "required": ["authors", "cff-version", "message", "title"],
    "properties": {
        "cff-version": {"const": "1.2.0"},
        "message": TEXT,
        "title": TEXT,
        "abstract": TEXT,
        "type": {"enum": ["software", "dataset"]},
        "license": {"const": "MIT"},
        "version": TEXT,
        "date-released": {"type": "string", "pattern": r"^\d{4}-\d\d-\d\d$"},
        "repository-code": TEXT,
        "keywords": {"type": "array", "items": TEXT, "minItems": 1},
        "authors": AUTHORS,
        "preferred-citation": REFERENCE,
    },
    "additionalProperties": False,
}


def read_yaml(path: str) -> Any:
    return yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))


def test_the_citation_validates() -> None:
    citation = read_yaml("CITATION.cff")
    assert list(jsonschema_rs.validator_for(CFF).iter_errors(citation)) == []
    assert str(citation["version"]) == PROJECT["version"]
    assert citation["license"] == PROJECT["license"]
    wrong = citation | {"authors": [], "licence": "MIT"}
    assert len(list(jsonschema_rs.validator_for(CFF).iter_errors(wrong))) == 2


def instructions() -> list[tuple[str, str]]:
    """(word, rest) of every instruction of the Dockerfile."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ").splitlines()
    return [tuple(line.split(maxsplit=1)) for line in joined]  # type: ignore[misc]


def test_the_container_copies_what_exists_and_serves() -> None:
    steps = instructions()
    known = {"FROM", "ARG", "WORKDIR", "COPY", "RUN", "ENV", "USER", "EXPOSE", "ENTRYPOINT", "CMD"}
    assert {word for word, _ in steps} <= known
    shipped = set(re.findall(r"^!(\S+)$", (ROOT / ".dockerignore").read_text(), re.MULTILINE))
    copied = [rest.split()[:-1] for word, rest in steps if word == "COPY" and "--from" not in rest]
    for name in (name for names in copied for name in names):
        assert (ROOT / name).exists(), name
        assert name in shipped, f"{name} is not in .dockerignore's exceptions"
    last = [word for word, _ in steps]
    assert "slim" in next(rest for word, rest in reversed(steps) if word == "FROM")
    user = next(rest for word, rest in reversed(steps) if word == "USER")
    assert user != "root"
    assert last.index("USER") < last.index("ENTRYPOINT")
    ((_, entry),) = [step for step in steps if step[0] == "ENTRYPOINT"]
    ((_, command),) = [step for step in steps if step[0] == "CMD"]
    assert json.loads(entry) == ["puzzleflow"]
    name, *options = json.loads(command)
    served = typer.main.get_command(build_app()).commands[name]  # type: ignore[attr-defined]
    served.make_context(name, [*options])  # raises on an option that it has not
    port = options[options.index("--port") + 1]
    assert [rest for word, rest in steps if word == "EXPOSE"] == [port]


@pytest.mark.parametrize("word", ["FROM", "RUN"])
def test_the_container_names_no_address(word: str) -> None:
    assert not [rest for each, rest in instructions() if each == word and "://" in rest]


def test_the_recipe_asks_for_what_the_project_asks() -> None:
    text = (ROOT / "recipe" / "meta.yaml").read_text(encoding="utf-8")
    (version,) = re.findall(r'set version = "(.+)"', text)
    assert version == PROJECT["version"]
    plain = re.sub(r"\{%.*?%\}", "", text).replace("{{ version }}", version)
    recipe = yaml.safe_load(plain.replace("{{ PYTHON }}", "python"))
    assert recipe["build"]["entry_points"] == [
        f"{name} = {target}" for name, target in PROJECT["scripts"].items()
    ]
    names = {"torch": "pytorch"}
    asked = {
        f"{names.get(r.name, r.name)} {','.join(sorted(str(r.specifier).split(','), reverse=True))}"
        for r in map(Requirement, PROJECT["dependencies"])
    }
    asked.add(f"python {PROJECT['requires-python']}")
    assert set(recipe["requirements"]["run"]) == asked


def test_workflows_run_what_ci_runs() -> None:
    jobs = read_yaml(".github/workflows/ci.yml")["jobs"]
    commands = [step.get("run") for job in jobs.values() for step in job["steps"]]
    assert ".ci/run" in commands
    assert {"macos-latest", "windows-latest"} <= set(jobs["install"]["strategy"]["matrix"]["os"])


def test_issue_templates_are_forms() -> None:
    folder = ROOT / ".github" / "ISSUE_TEMPLATE"
    forms = [path for path in sorted(folder.glob("*.yml")) if path.name != "config.yml"]
    assert len(forms) >= 2
    for path in forms:
        form = yaml.safe_load(path.read_text(encoding="utf-8"))
        assert form.keys() >= {"name", "description", "body"}
        for field in form["body"]:
            assert field["type"] in ("markdown", "textarea", "input", "dropdown", "checkboxes")
            assert field["attributes"].get("label") or field["type"] == "markdown"


def test_addresses_of_the_project_agree() -> None:
    home = PROJECT["urls"]["Homepage"]
    for path in ("recipe/meta.yaml", ".github/ISSUE_TEMPLATE/config.yml"):
        assert home in (ROOT / path).read_text(encoding="utf-8"), path
    assert all(address.startswith(home) for address in PROJECT["urls"].values())


def test_every_extra_is_told_with_its_size() -> None:
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    for extra in PROJECT["optional-dependencies"]:
        assert re.search(rf"^\| `{extra}` \| .+ \| \d+ MB.* \|$", page, re.MULTILINE), extra
