"""Unit tests mirror the packages: each file names the module that it tests."""

from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LAYER = ROOT / "shared" / "skein"
UNIT = ROOT / "tests" / "unit"
# Where the modules of a subject are, unless in a package of that name.
BENCH = [ROOT / "bench", ROOT / "bench" / "prompts"]
FOLDERS = {"turn": [LAYER / "agent"], "bench": BENCH}
# Suites that test several modules together; a new one needs a reason here.
CROSS_MODULE = {
    "bench/test_bench.py": "the measures of `make bench`, on a chat of ten messages",
    "common/test_access_patterns.py": "the cost of each access pattern of docs/data.md",
    "common/test_written.py": "the writes of stories, with their conditions",
    "directory/test_directory.py": "agents, people and lines, which refer to each other",
    "models/test_keys.py": "the keys of all entities, which must not collide",
    "runs/test_opt_out.py": "the runs, summaries and plans of a person who has opted out of SMS",
    "tools/test_outsiders.py": "what no tool may cause with words of outsiders",
    "tools/test_private_changes.py": "what no tool may change with private content",
    "tools/test_tools.py": "the tools of one run, and what the model is told",
    "workspace/test_hidden_items.py": "documents, threads and plans from before somebody joined",
}
FILES = sorted(path.relative_to(UNIT) for path in UNIT.rglob("test_*.py"))


@cache
def modules_of(subject: str) -> set[str]:
    """Return the modules of a subject in all layers, and the modules beside the layers."""
    layers = [LAYER, LAYER / "models", LAYER / "services", LAYER / "agent"]
    folders = FOLDERS.get(subject, [layer / subject for layer in layers])
    inside = "*" if subject in FOLDERS else "**/*"
    paths = [path for folder in folders for path in folder.glob(inside) if folder.is_dir()]
    return {path.stem for path in [*paths, *LAYER.glob("*.py")] if not path.stem.startswith("_")}


def test_file_of_unit_tests_names_module_of_its_subject() -> None:
    """`test_<module>.py`, or `test_<module>_<aspect>.py` for one aspect of a module."""
    for path in FILES:
        if path.as_posix() in CROSS_MODULE:
            continue
        assert len(path.parts) == 2, f"tests/unit/{path} is not in a folder of its subject"
        name = path.stem.removeprefix("test_")
        modules = modules_of(path.parts[0])
        assert any(name == module or name.startswith(f"{module}_") for module in modules), (
            f"tests/unit/{path} names no module of {path.parts[0]}: rename it to test_<module>.py "
            "or test_<module>_<aspect>.py"
        )


def test_cross_module_suites_exist() -> None:
    assert set(CROSS_MODULE) <= {path.as_posix() for path in FILES}
