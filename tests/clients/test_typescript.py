"""The TypeScript client's own tests (`clients/typescript/test`), with Node's test runner."""

import re
from pathlib import Path

import pytest

from tests.support.typescript import build_typescript, skip_without_generators
from tools import generators

LEAST_TESTS = 40


@pytest.mark.slow
def test_typescript_client_passes_its_own_tests(tmp_path: Path) -> None:
    skip_without_generators()
    package = build_typescript(tmp_path)
    files = sorted(str(path) for path in (package / "test").glob("*.test.mjs"))
    done = generators.run(["node", "--test", "--test-reporter=tap", *files], package)
    assert int(re.findall(r"^# pass (\d+)$", done.stdout, re.MULTILINE)[0]) >= LEAST_TESTS
