"""The services that functions and routes use."""

import ast
import importlib
from pathlib import Path

FUNCTIONS = Path(__file__).resolve().parents[2] / "functions"


def services_in(path: Path) -> list[type]:
    """Return the classes that a module of functions gets from its app."""
    tree = ast.parse(path.read_text())
    names = {
        call.args[0].id
        for call in ast.walk(tree)
        if isinstance(call, ast.Call)
        and ast.unparse(call.func) == "service"
        and isinstance(call.args[0], ast.Name)
    }
    name = ".".join(path.relative_to(FUNCTIONS).with_suffix("").parts)
    module = importlib.import_module(name) if names else None
    return [getattr(module, name) for name in sorted(names)]
