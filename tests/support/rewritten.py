"""Rewrites the assertions of changed test modules once, before pytest's workers start.

pytest keeps rewritten modules in a cache. Without this plugin, each worker would rewrite all
modules of a new checkout, which takes longer than the rest of its start.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from _pytest.assertion import rewrite


def pytest_sessionstart(session: pytest.Session) -> None:
    """Fill the cache, in the process that starts the workers."""
    config = session.config
    if not config.getoption("numprocesses", 0) or sys.dont_write_bytecode:
        return
    for module in _modules(config):
        cache = rewrite.get_cache_dir(module)
        kept = cache / f"{module.stem}{rewrite.PYC_TAIL}"
        if rewrite._read_pyc(module, kept) is None and rewrite.try_makedirs(cache):
            source_hash, code = rewrite._rewrite_test(module, config)
            rewrite._write_pyc(config.stash[rewrite.assertstate_key], code, source_hash, kept)


def _modules(config: pytest.Config) -> Iterator[Path]:
    """Yield the test modules that the workers import."""
    for argument in config.args:
        path = config.invocation_params.dir / argument.split("::")[0]
        yield from (
            sorted(path.rglob("test_*.py")) if path.is_dir() else filter(Path.is_file, [path])
        )
