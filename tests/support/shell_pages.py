"""Shell blocks of a page, and the outputs that the page shows for them.

A fenced block `sh` is run. A fenced block `text` is the output of the block `sh` before it. In such
an output, a line `...` stands for any lines. Ids, times and numbers of tokens may differ.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from local.template import ROOT

ADDRESS = "URL=${SKEIN_URL:-http://127.0.0.1:8787}"
SECONDS = 100
BLOCK = re.compile(r"^```(sh|text)\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
END = "\x1e"  # ends the output of a block
DIFFERENCES = (
    (re.compile(r"\b[a-z]{3,6}_[0-9A-HJKMNP-TV-Z]{26}(?:_[a-z]+_[0-9A-Z]{26})?(?::\d+)?"), "ID"),
    (re.compile(r"\bSM[0-9a-f]{32}\b"), "SID"),
    (re.compile(r"\b\d{4}-\d{2}-\d{2}T[\d:.]+Z"), "TIME"),
    (re.compile(r"\b(?:[A-Z][a-z]+day )?\d{4}-\d{2}-\d{2}\b"), "DAY"),
    (re.compile(r"\b\d{2}:\d{2} UTC\b"), "HOUR"),
    (re.compile(r"(?<=reply )[0-9]{6}\b"), "CODE"),
    (re.compile(r"^\d+ (?=[A-Z]+)", flags=re.MULTILINE), "TOKENS "),
)


@dataclass(frozen=True)
class ShellBlock:
    """One block `sh` of a page.

    Attributes:
        script: The commands.
        output: The output that the page shows; None if it shows none.
    """

    script: str
    output: str | None = None


def shell_blocks(page: str) -> list[ShellBlock]:
    """Parse the blocks of a page, in order.

    Args:
        page: The path of the page, from the root of the repository.
    """
    blocks: list[ShellBlock] = []
    for found in BLOCK.finditer((ROOT / page).read_text(encoding="utf-8")):
        if found[1] == "sh":
            blocks.append(ShellBlock(found[2]))
        else:
            assert blocks, f"{page} shows an output before its first command"
            assert blocks[-1].output is None, f"{page} shows two outputs of one block"
            blocks[-1] = ShellBlock(blocks[-1].script, found[2])
    return blocks


def run_page(page: str, url: str) -> list[str]:
    """Run a page's blocks in one shell, and compare their outputs with those on the page.

    Args:
        page: The path of the page, from the root of the repository.
        url: The address of the stack that the commands call.

    Returns:
        The output of each block.
    """
    blocks = shell_blocks(page)
    assert shutil.which("curl"), "curl is not installed"
    script = "".join(f"{block.script}printf '{END}'\n" for block in blocks)
    assert script.count("127.0.0.1") == script.count(ADDRESS) == 1, f"{page} needs {ADDRESS}"
    # A `python3` of a version manager takes ten times as long to start.
    paths = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    with tempfile.TemporaryDirectory() as folder:  # a page may save a file
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],
            capture_output=True,
            text=True,
            timeout=SECONDS,
            env={**os.environ, "PATH": paths, "NO_PROXY": "127.0.0.1", "SKEIN_URL": url},
            cwd=folder,
            check=False,
        )
    outputs = done.stdout.split(END)
    assert done.returncode == 0, f"{blocks[len(outputs) - 1].script}\n{outputs[-1]}\n{done.stderr}"
    for block, output in zip(blocks, outputs, strict=False):
        assert block.output is None or matches(block.output, output), (
            f"{page} shows\n{block.output}\nand the commands print\n{output}"
        )
    return outputs[:-1]


def matches(shown: str, printed: str) -> bool:
    """Return whether a printed output is the shown one, apart from ids, times and `...`."""
    lines = "".join(
        r"(?:.*\n)*?" if line == "..." else f"{re.escape(line)}\n"
        for line in _without_differences(shown).splitlines()
    )
    return re.fullmatch(lines, _without_differences(printed)) is not None


def _without_differences(text: str) -> str:
    for pattern, name in DIFFERENCES:
        text = pattern.sub(name, text)
    return text
