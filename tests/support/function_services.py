"""The services that functions and routes use."""

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

FUNCTIONS = Path(__file__).resolve().parents[2] / "functions"


def services_in(path: Path) -> list[type]:
    """Return the classes that a module of functions gets from its app.

    A module calls `service(Goals)`, or gives `service=Goals` to a typed router.
    """
    calls = [each for each in ast.walk(ast.parse(path.read_text())) if isinstance(each, ast.Call)]
    names = {each.id for call in calls for each in _named_in(call) if isinstance(each, ast.Name)}
    name = ".".join(path.relative_to(FUNCTIONS).with_suffix("").parts)
    module = importlib.import_module(name) if names else None
    return [getattr(module, name) for name in sorted(names)]


def _named_in(call: ast.Call) -> Iterator[ast.expr]:
    if ast.unparse(call.func) == "service":
        yield call.args[0]
    yield from (keyword.value for keyword in call.keywords if keyword.arg == "service")
