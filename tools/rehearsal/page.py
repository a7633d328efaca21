"""The shell blocks of docs/deploy.md, run in one shell as a reader would."""

import re
import subprocess
import threading
import uuid
from collections.abc import Mapping
from pathlib import Path

from local.template import ROOT

PAGE = ROOT / "docs" / "deploy.md"
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
STOP_SECONDS = 5.0


class CommandError(Exception):
    """A command of the page failed; the message has the end of its output."""


def blocks(page: Path = PAGE) -> dict[str, list[str]]:
    """Return the shell blocks of a page by heading, in order."""
    text = page.read_text(encoding="utf-8")
    found: dict[str, list[str]] = {}
    parts = HEADING.split(text)
    for heading, body in zip(parts[1::2], parts[2::2], strict=True):
        if commands := BLOCK.findall(body):
            found[heading] = commands
    return found


class Shell:
    """One shell in the repository's folder, whose variables and functions stay between blocks.

    Args:
        environment: Its environment variables.
        log: The file of all output.
    """

    def __init__(self, environment: Mapping[str, str], log: Path) -> None:
        self._log = log.open("w", encoding="utf-8")
        self._process = subprocess.Popen(
            ["bash"],
            cwd=ROOT,
            env=dict(environment),
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def run(self, block: str, *, seconds: float) -> str:
        """Run a block until its first failing command; return its output.

        Raises:
            CommandError: A command failed, or the block took too long.
        """
        if self._process.stdin is None or self._process.stdout is None:
            raise CommandError("the shell has no input")
        end = f"end-{uuid.uuid4().hex}"
        # `set -e` would end the shell, and with it the variables of the page.
        ending = f"printf '\\n%s %s\\n' {end} $failed"
        self._process.stdin.write(f"trap 'failed=1' ERR; failed=0\n{block}\n{ending}\n")
        self._process.stdin.flush()
        late = threading.Timer(seconds, self._process.kill)
        late.start()
        lines: list[str] = []
        try:
            for line in self._process.stdout:
                if line.startswith(end):
                    break
                lines.append(line)
                self._log.write(line)
                self._log.flush()
            else:
                raise CommandError(f"no end within {seconds:.0f} s: {''.join(lines[-20:])}")
        finally:
            late.cancel()
        if line.split() != [end, "0"]:
            raise CommandError(f"a command failed: {''.join(lines[-20:])}")
        return "".join(lines)

    def close(self) -> None:
        """End the shell."""
        _end(self._process)
        self._log.close()


def _end(process: subprocess.Popen[str]) -> None:
    """Terminate a process with text streams, and wait for its end."""
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            stream.close()
