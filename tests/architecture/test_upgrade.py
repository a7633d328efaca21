"""The upgrade test mixes two trees' items and jobs, and fails from the binding release on."""

import pickle
from collections.abc import Sequence
from pathlib import Path

import pytest

from skein import __version__
from tools.quality import upgrade
from tools.quality.upgrade import RELEASES, Release, ReleaseError, Upgrade

TEXT = """
binding = "0.2.0"
[[releases]]
version = "0.1.0"
commit = "a"
[[releases]]
version = "{version}"
commit = "b"
"""


def told(path: Path, name: str, modules: Sequence[str]) -> None:
    events = {module: f"{name}'s {module}" for module in modules}
    story = {"now": name, "items": [name], "events": events, "settings": f"{name}'s settings"}
    path.write_bytes(pickle.dumps(story))


class Trees:
    """An old and a new tree, of which the old code does not know new jobs of the feed."""

    def __init__(self, work: Path) -> None:
        self.upgrade = Upgrade({"old": Path("old"), "new": Path("new")}, work, self)
        self.ran: list[tuple[str, str]] = []

    def __call__(self, tree: Path, arguments: Sequence[str]) -> str:
        if arguments[0] == "-c":
            told(Path(arguments[-1]), tree.name, ["tick", "feed", f"only_{tree.name}"])
            return ""
        *_, module, path = arguments
        scene = pickle.loads(Path(path).read_bytes())
        other = "new" if tree.name == "old" else "old"
        assert scene["settings"] == f"{tree.name}'s settings"
        assert scene["items"] == [other]
        assert scene["events"][module] == f"{other}'s {module}"
        self.ran.append((tree.name, module))
        return "unknown job" if (tree.name, module) == ("old", "feed") else ""


def test_each_tree_handles_the_events_of_the_other(tmp_path: Path) -> None:
    trees = Trees(tmp_path)
    assert list(trees.upgrade.failures()) == [("old", "feed", "unknown job")]
    both = ("feed", "tick")
    assert trees.ran == [(tree, module) for tree in ("old", "new") for module in both]


def test_tree_without_a_story_is_an_error(tmp_path: Path) -> None:
    broken = Upgrade({"old": Path("old"), "new": Path("new")}, tmp_path, lambda *_: "no module")
    with pytest.raises(ReleaseError, match="old tree cannot tell its story: no module"):
        list(broken.failures())


@pytest.mark.parametrize(("version", "status"), [("0.1.1", 0), ("0.2.0", 1), ("0.10.0", 1)])
def test_failure_fails_from_the_binding_release_on(
    version: str, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    release = Release.last(TEXT.format(version=version))
    assert (release.version, release.commit) == (version, "b")
    assert upgrade.report(release, [("old", "feed", "unknown job")]) == status
    printed = capsys.readouterr().out
    assert "FAILED the old feed" in printed
    assert ("does not bind" in printed) is (status == 0)
    assert upgrade.report(release, []) == 0


def test_last_release_is_the_version_of_the_package_or_the_one_before() -> None:
    release = Release.last(RELEASES.read_text(encoding="utf-8"))
    assert len(release.commit) == 40
    assert release.version <= __version__


def test_commit_that_is_not_in_the_clone_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match="unshallow"):
        upgrade.check_out("0" * 40, tmp_path / "release")
