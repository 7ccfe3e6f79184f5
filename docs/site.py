"""What the site needs beyond ``docs``: pages from elsewhere, links to them, nothing from outside.

mkdocs calls the ``on_…`` functions (``hooks`` in mkdocs.yml). README.md becomes the start page;
model cards, the changelog and notebooks become pages; a link to a file that is no page
becomes plain text. A pattern in the navigation, ``[folder/*]``, stands for all pages that it
matches, be it none; ``["*"]`` for those that are named nowhere. After the build every page is
searched for what a browser would fetch from another machine.
"""

from __future__ import annotations

import json
import logging
import os
import re
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

LOGGER = logging.getLogger("mkdocs.hooks.site")  # with --strict a warning is an error
ROOT = Path(__file__).resolve().parent.parent
OUTSIDE = {"README.md": "index.md"}
OUTSIDE |= {name: name for name in ("CHANGELOG.md", "CONTRIBUTING.md", "LOG.md", "SECURITY.md")}
CARDS = "src/puzzleflow/weights"
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```$|`[^`\n]+`", re.DOTALL | re.MULTILINE)
FETCHED = re.compile(
    r"<(?:script|img|iframe|source|video)\b[^>]*\bsrc=[\"'](?:https?:)?//[^\"']*"
    r"|<link\b(?=[^>]*\brel=[\"']?(?:stylesheet|preconnect|icon|preload))[^>]*\bhref=[\"'](?:https?:)?//[^\"']*"
    r"|@import\s+(?:url\()?[\"']?(?:https?:)?//\S+|url\(\s*[\"']?(?:https?:)?//[^)]*"
)


def pages() -> dict[str, str]:
    """Every file of the repository that is a page → where it lies in the site."""
    inside = {f"docs/{name}": name for name in _below(ROOT / "docs", "**/*.md")}
    cards = {f"{CARDS}/{name}": f"models/{name}" for name in _below(ROOT / CARDS, "*.md")}
    books = {
        f"docs/{name}": name.removesuffix(".ipynb") + ".md"
        for name in _below(ROOT / "docs", "notebooks/*.ipynb")
    }
    outside = {name: page for name, page in OUTSIDE.items() if (ROOT / name).exists()}
    return inside | cards | books | outside


def _below(folder: Path, pattern: str) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.glob(pattern))


def on_config(config: Any) -> Any:
    """Fill in the folders of the navigation."""
    named: set[str] = set()
    everything = sorted(pages().values())

    def expand(entry: Any) -> list[Any]:
        if isinstance(entry, dict):
            ((title, value),) = entry.items()
            inner = (
                [page for item in value for page in expand(item)]
                if isinstance(value, list)
                else value
            )
            if isinstance(inner, str):
                named.add(inner)
            return [{title: inner}] if inner else []
        if entry == "*":
            return [page for page in everything if page not in named]
        if "*" in entry:
            found = [page for page in everything if fnmatch(page, entry)]
            named.update(found)
            return found
        named.add(entry)
        return [entry]

    config.nav = [page for entry in config.nav for page in expand(entry)]
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that lie outside ``docs``, and notebooks."""
    known = {file.src_uri for file in files}
    for source, page in pages().items():
        if page in known:
            continue
        path = ROOT / source
        content = _notebook(path) if path.suffix == ".ipynb" else path.read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=content))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Links as they are in the repository → links in the site."""
    targets = pages()
    source = next((s for s, p in targets.items() if p == page.file.src_uri), None)
    if source is None:
        return markdown
    here = PurePosixPath(source).parent
    code: list[str] = []

    def hide(found: re.Match[str]) -> str:
        code.append(found[0])
        return f"\0{len(code) - 1}\0"

    def rewrite(found: re.Match[str]) -> str:
        picture, text, target = found.groups()
        if "://" in target or target.startswith(("#", "mailto:", "data:")):
            return found[0]
        path, _, anchor = target.partition("#")
        wanted = os.path.normpath((here / path).as_posix()) if path else source
        if (ROOT / wanted).is_dir():
            inside = [s for s in targets if s.startswith(f"{wanted}/")]
            wanted = next((s for s in inside if s.endswith("README.md")), (inside or [wanted])[0])
        place = targets.get(wanted)
        if place is None and wanted.startswith("docs/") and (ROOT / wanted).is_file():
            place = wanted.removeprefix("docs/")  # a picture or another file beside the pages
        if place is None:
            if not (ROOT / wanted).exists():
                LOGGER.warning(f"{source} links to {target}, which is not there")
            return text
        relative = os.path.relpath(place, PurePosixPath(page.file.src_uri).parent.as_posix())
        return f"{picture}[{text}]({relative}{'#' + anchor if anchor else ''})"

    hidden = FENCE.sub(hide, markdown)
    return re.sub(r"\0(\d+)\0", lambda m: code[int(m[1])], LINK.sub(rewrite, hidden))


def on_post_build(config: Any) -> None:
    """Refuse a site that is not whole without a network."""
    for path in Path(config.site_dir).rglob("*"):
        if path.suffix in (".html", ".css"):
            found = FETCHED.search(path.read_text(encoding="utf-8", errors="replace"))
            if found:
                raise PluginError(f"{path}: would fetch {found[0][:200]}")


def _notebook(path: Path) -> str:
    """A notebook as Markdown: texts, code, and what it printed or drew."""
    parts = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        text = "".join(cell["source"])
        parts.append(text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```")
        for output in cell.get("outputs", ()):
            parts.append(_output(output))
    return "\n\n".join(part for part in parts if part) + "\n"


def _output(output: dict[str, Any]) -> str:
    data = output.get("data", {})
    for kind in ("image/png", "image/webp", "image/jpeg"):
        if kind in data:
            return f"![]({f'data:{kind};base64,' + ''.join(data[kind]).replace(chr(10), '')})"
    text = "".join(output.get("text", data.get("text/plain", "")))
    return f"```text\n{text.rstrip()}\n```" if text.strip() else ""
