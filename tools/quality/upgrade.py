"""Upgrade test: the last release handles items and jobs of this version, and the reverse.

`python -m tools.quality.upgrade` checks out the last release in `deployment/releases.toml` beside
this source tree. Each tree plays the story of `bench/starts`, which writes items and leads to one
event for each function. Then each function of one tree handles the event with the items and jobs of
the other tree, as it does during a deployment or a rollback. Functions that only one tree has are
left out.

Until the release that `binding` names, storage may change: failures are printed, but don't fail the
test.
"""

import os
import pickle
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

from local.environment import CREDENTIALS

ROOT = Path(__file__).resolve().parents[2]
RELEASES = ROOT / "deployment" / "releases.toml"
TELL = (
    "import sys, pathlib; from bench.starts.first_events import scene; "
    "scene().write(pathlib.Path(sys.argv[1]))"
)
SECONDS = 120

Run = Callable[[Path, Sequence[str]], str]
"""Runs Python in a tree with arguments; returns the reason of a failure, empty if there is none."""


class ReleaseError(Exception):
    """The last release can't be checked out, or a tree can't play its story."""


@dataclass(frozen=True)
class Release:
    """A released version.

    Attributes:
        binds: Whether the test fails if this release can't be mixed with the current code.
    """

    version: str
    commit: str
    binds: bool

    @classmethod
    def last(cls, text: str) -> "Release":
        """Return the last release of `deployment/releases.toml`."""
        read = tomllib.loads(text)
        newest = read["releases"][-1]
        binds = _parts(newest["version"]) >= _parts(read["binding"])
        return cls(newest["version"], newest["commit"], binds)


def _parts(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def check_out(commit: str, folder: Path) -> None:
    """Write the files of a commit to a folder. Installed data files are shared with this tree.

    Raises:
        ReleaseError: The repository does not have the commit, for example because it is a shallow
            clone.
    """
    done = subprocess.run(
        ["git", "-C", str(ROOT), "archive", commit], capture_output=True, check=False
    )
    if done.returncode:
        raise ReleaseError(f"commit {commit} is not in this clone: git fetch --unshallow")
    with tarfile.open(fileobj=BytesIO(done.stdout)) as archive:
        archive.extractall(folder, filter="data")
    (folder / ".cache").symlink_to(ROOT / ".cache")


def run_python(tree: Path, arguments: Sequence[str]) -> str:
    """Run this Python with a tree's modules; return the last line of an error, or an empty text."""
    path = os.pathsep.join(str(tree / each) for each in ("shared", "functions", ""))
    try:
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=tree,
            env={**os.environ, **CREDENTIALS, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS,
        )
    except subprocess.TimeoutExpired:
        return f"no end within {SECONDS} s"
    lines = done.stderr.strip().splitlines() or ["it failed"]
    return lines[-1] if done.returncode else ""


@dataclass(frozen=True)
class Upgrade:
    """Mixes the code of one source tree with the items and events of the other.

    Args:
        trees: The folders of the trees, by the names `old` and `new`.
        work: A folder for the stories.
        run: Runs Python in a tree.
    """

    trees: Mapping[str, Path]
    work: Path
    run: Run = run_python

    def failures(self) -> Iterator[tuple[str, str, str]]:
        """Yield each failure: the tree whose code failed, the function, and the reason.

        Raises:
            ReleaseError: A tree can't play its story.
        """
        stories = {name: self._told(name) for name in self.trees}
        for code, data in (("old", "new"), ("new", "old")):
            own, other = stories[code], stories[data]
            events = other["events"]
            if code == "old":  # the gateway changes after the functions
                events = {
                    name: _from_gateway(own["events"], name, event)
                    for name, event in events.items()
                }
            mixed = {**own, "items": other["items"], "events": events, "now": other["now"]}
            scene = self.work / f"{code}-on-{data}"
            scene.write_bytes(pickle.dumps(mixed))
            for module in sorted(own["events"].keys() & other["events"].keys()):
                arguments = ["-m", "bench.starts.first_event", module, str(scene)]
                reason = self.run(self.trees[code], arguments)
                if reason:
                    yield code, module, reason

    def _told(self, name: str) -> dict[str, Any]:
        path = self.work / name
        reason = self.run(self.trees[name], ["-c", TELL, str(path)])
        if reason:
            raise ReleaseError(f"the {name} tree cannot tell its story: {reason}")
        told: dict[str, Any] = pickle.loads(path.read_bytes())  # noqa: S301 - our own
        return told


def _from_gateway(own: Mapping[str, Any], name: str, event: Any) -> Any:
    """Return an event with its caller in the form in which the old release's gateway passes it."""
    known = own.get(name)
    callers = [
        each.get("requestContext", {}).get("authorizer") if isinstance(each, dict) else None
        for each in (known, event)
    ]
    if None in callers:
        return event
    return {**event, "requestContext": {**event["requestContext"], "authorizer": callers[0]}}


def report(release: Release, failures: Sequence[tuple[str, str, str]]) -> int:
    """Print the failures and return the exit status."""
    for code, module, reason in failures:
        print(f"FAILED the {code} {module} on the other's items and jobs: {reason}")
    if not failures:
        print(f"ok: {release.version} and this tree handle each other's items and jobs")
    elif not release.binds:
        print(f"{release.version} does not bind: storage may change until the binding release")
    return int(bool(failures) and release.binds)


def main() -> int:
    """Run the upgrade test; return the exit status."""
    release = Release.last(RELEASES.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory(prefix="skein-upgrade-") as name:
        folder = Path(name)
        old = folder / "release"
        try:
            check_out(release.commit, old)
            found = list(Upgrade({"old": old, "new": ROOT}, folder).failures())
        except ReleaseError as error:
            print(f"upgrade: {error}", file=sys.stderr)
            return int(release.binds)
    return report(release, found)


if __name__ == "__main__":
    sys.exit(main())
