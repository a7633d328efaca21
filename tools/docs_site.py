"""Builds the web site with the docs.

`python -m tools.docs_site <mkdocs>` copies the README and every file that it links to, directly or
through other pages, into `build/pages`. From these, MkDocs makes `build/site` (`mkdocs.yml`). The
site contains all its scripts and styles, and loads nothing from other hosts. The module needs the
standard library, npm and MkDocs.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote

from tools.install import npm_archive

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "build" / "pages"
SITE = ROOT / "build" / "site"

MERMAID = "11.17.2"
MERMAID_SHA256 = "6ad2f42c3fc26bbf9e45cbb6d11898972573ea52b33a5f4ff51952899f950ffd"
MERMAID_FOLDER = ROOT / ".cache" / "mermaid" / MERMAID
MERMAID_SCRIPT = MERMAID_FOLDER / "mermaid.min.js"

LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCE = re.compile(r"^\s*```")
ITEM = re.compile(r"^(?P<indent> *)(?P<mark>[-*+]|\d+\.) +")
# What a browser loads by itself, unlike a link that a reader follows.
LOADED = (
    re.compile(r"<(?:script|img|iframe|source)\b[^>]*\bsrc=[\"']?(https?:)?//", re.IGNORECASE),
    re.compile(
        r"<link\b(?=[^>]*\brel=[\"']?(?:stylesheet|preload|preconnect|icon|modulepreload))"
        r"[^>]*\bhref=[\"']?(https?:)?//",
        re.IGNORECASE,
    ),
    re.compile(r"@import\s*(?:url\()?\s*[\"']?(https?:)?//", re.IGNORECASE),
    re.compile(r"url\(\s*[\"']?(https?:)?//", re.IGNORECASE),
)


class DocsError(RuntimeError):
    """The site could not be built; the message is for the user."""


def collect(start: Path) -> list[Path]:
    """Return a page and all files of the repository that it links to, directly or through others.

    Args:
        start: The page, in Markdown.
    """
    found: dict[Path, None] = {}
    ahead = [start.resolve()]
    while ahead:
        path = ahead.pop()
        if path in found or not path.is_file() or not path.is_relative_to(ROOT):
            continue
        found[path] = None
        if path.suffix == ".md":
            for target in LINK.findall(path.read_text(encoding="utf-8")):
                name = unquote(target).partition("#")[0]
                if name and not re.match(r"[a-z]+:", name):
                    ahead.append((path.parent / name).resolve())
    return sorted(found)


def for_mkdocs(text: str) -> str:
    """Rewrite a page of Markdown for MkDocs's parser.

    Code hosts accept a list directly after a paragraph, and indent nested lines by the width of the
    list's marker. MkDocs needs an empty line before a list, and four spaces of indentation for each
    level.
    """
    lines: list[str] = []
    widths: list[int] = []  # the indentation of the content of each open list item
    in_code = False
    for line in text.splitlines():
        stripped = line.lstrip(" ")
        indent = len(line) - len(stripped)
        item = None if in_code else ITEM.match(line)
        in_list = bool(widths)
        if stripped and not in_code:
            limit = indent if item else indent + 1
            while widths and limit < widths[-1] + (0 if item else 1):
                widths.pop()
        if FENCE.match(line):
            in_code = not in_code
        if item is not None:
            if lines and lines[-1].strip() and not in_list:
                lines.append("")
            lines.append(" " * 4 * len(widths) + stripped)
            widths.append(item.end())
        elif widths and stripped:
            lines.append(" " * 4 * len(widths) + line[min(indent, widths[-1]) :])
        else:
            lines.append(line)
    return "\n".join(lines) + "\n"


def stage() -> None:
    """Copy the pages, and the files that they need, to the folder from which MkDocs builds."""
    shutil.rmtree(PAGES, ignore_errors=True)
    for path in collect(ROOT / "README.md"):
        copy = PAGES / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".md":
            copy.write_text(for_mkdocs(path.read_text(encoding="utf-8")), encoding="utf-8")
        else:
            shutil.copyfile(path, copy)
    scripts = PAGES / "assets"
    scripts.mkdir(exist_ok=True)
    shutil.copyfile(MERMAID_SCRIPT, scripts / MERMAID_SCRIPT.name)


def install_mermaid() -> None:
    """Fetch Mermaid from npm unless it is installed, and check its hash.

    Raises:
        DocsError: npm is not installed, or the package is missing or has another hash.
    """
    member = "dist/mermaid.min.js"
    try:
        npm_archive.install(f"mermaid@{MERMAID}", MERMAID_SHA256, [member], MERMAID_FOLDER)
    except npm_archive.ArchiveError as error:
        raise DocsError(f"the diagrams need Mermaid: {error}") from error


def foreign_loads(site: Path) -> list[str]:
    """Return the places in a built site that load something from another host."""
    return [
        f"{path.relative_to(site)}: {found[0]}"
        for path in sorted(site.rglob("*"))
        if path.suffix in {".html", ".css"}
        for pattern in LOADED
        for found in pattern.finditer(path.read_text(encoding="utf-8"))
    ]


def build(mkdocs: str) -> None:
    """Build the site from the pages of the repository.

    Raises:
        DocsError: Mermaid is missing, MkDocs has a warning, or a page loads from another host.
    """
    install_mermaid()
    stage()
    # With `--quiet`, MkDocs does not count warnings, and `--strict` has no effect.
    built = subprocess.run(
        [mkdocs, "build", "--strict", "--clean"],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    if built.returncode != 0:
        raise DocsError(f"MkDocs failed:\n{built.stderr.strip()}")
    if found := foreign_loads(SITE):
        raise DocsError("the site loads from other hosts:\n" + "\n".join(found))


def main(arguments: Sequence[str]) -> int:
    """Build the site; return the exit status."""
    [mkdocs] = arguments
    try:
        build(mkdocs)
    except DocsError as error:
        print(f"docs: {error}", file=sys.stderr)
        return 1
    site = SITE.relative_to(ROOT)
    print(f"docs: {site}/index.html; its search needs a server: python3 -m http.server -d {site}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
