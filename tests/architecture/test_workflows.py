"""The workflows of GitHub name what there is, and may do no more than they need."""

import hashlib
import io
import re
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from tools.install import npm_archive

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def load(path: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return loaded


def steps(path: Path) -> list[dict[str, Any]]:
    return [step for job in load(path)["jobs"].values() for step in job["steps"]]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_workflow_may_only_read_the_repository(path: Path) -> None:
    rights = load(path)["permissions"]
    assert rights.pop("contents") == "read"
    assert set(rights) <= {"id-token", "attestations"}  # a role of AWS, and signed origins
    assert not any("permissions" in job for job in load(path)["jobs"].values())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_workflow_has_time_limits_and_runs_existing_targets(path: Path) -> None:
    assert all(job["timeout-minutes"] for job in load(path)["jobs"].values())
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for step in steps(path):
        for target in re.findall(r"\bmake ([a-z0-9-]+)", step.get("run", "")):
            assert f"\n{target}:" in makefile
        for script in re.findall(r"\bbash (\S+)", step.get("run", "")):
            assert (ROOT / script).is_file()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_actions_are_pinned_by_digest_with_their_version(path: Path) -> None:
    used = re.findall(r"uses: (.*)", path.read_text(encoding="utf-8"))
    assert used
    assert all(re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", each) for each in used)


def test_dependabot_updates_all_folders_with_packages() -> None:
    updates = load(ROOT / ".github" / "dependabot.yml")["updates"]
    npm, pip = (
        next(each for each in updates if each["package-ecosystem"] == kind)
        for kind in ("npm", "pip")
    )
    tracked = subprocess.run(
        ["git", "ls-files", "*package.json"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    folders = [Path(line).parent for line in tracked.stdout.split()]
    assert sorted(npm["directories"]) == sorted(f"/{folder.as_posix()}" for folder in folders)
    assert all((ROOT / folder / "package-lock.json").is_file() for folder in folders)
    assert (ROOT / pip["directory"].strip("/") / "dev.in").is_file()


def test_release_has_the_package_of_the_deployment_and_what_is_written_after_it() -> None:
    """`make package` empties the folder first."""
    [release] = [path for path in FILES if path.stem == "release"]
    lines = [line.strip() for each in steps(release) for line in each.get("run", "").splitlines()]
    writes = [line for line in lines if "build/release" in line or line == "make sbom"]
    assert {lines.index(line) > lines.index("make package") for line in writes} == {True}


# ---------------------------------------------------------------------- archives of npm


@pytest.fixture
def npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An npm that packs one package; returns the hash of its archive."""
    archive = tmp_path / "packed.tgz"
    with tarfile.open(archive, "w:gz") as tar:
        content = b"text"
        member = tarfile.TarInfo("package/dist/a.js")
        member.size = len(content)
        tar.addfile(member, io.BytesIO(content))
    binary = tmp_path / "bin" / "npm"
    binary.parent.mkdir()
    binary.write_text(f'#!/bin/sh\ncp "{archive}" "$4/"\n')
    binary.chmod(0o755)
    monkeypatch.setenv("PATH", f"{binary.parent}:/bin:/usr/bin")
    return hashlib.sha256(archive.read_bytes()).hexdigest()


def test_install_with_another_hash_is_refused(npm: str, tmp_path: Path) -> None:
    with pytest.raises(npm_archive.ArchiveError, match="not the pinned"):
        npm_archive.install("a@1", npm.swapcase()[::-1], ["dist/a.js"], tmp_path / "a")
    assert not list((tmp_path / "a").iterdir())
