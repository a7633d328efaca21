"""Play an ordinary day in an installation from which a subject is taken out.

No module of the subject can be imported. The lists that name the parts of all subjects are read
without those of this one, as if its lines were deleted.
"""

import ast
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from types import CodeType, ModuleType

# Modules that belong to a subject, but stand elsewhere, because they read what is above it.
ELSEWHERE: Mapping[str, tuple[str, ...]] = {"skein.events": ("skein.feed.events",)}
# The modules that list the parts of subjects.
LISTS = frozenset(
    {
        "skein.account_linking.phone_links",
        "skein.agent.sections.order",
        "skein.agent.tools",
        "skein.feed.feed",
        "skein.interface.extensions",
        "skein.privacy.erasure_look_ups",
        "skein.privacy.export",
        "tests.support.builders",
    }
)


class WithoutSubject(importlib.abc.MetaPathFinder):
    """Finder that refuses the modules of a subject, and loads the lists without them."""

    def __init__(self, packages: Sequence[str]) -> None:
        self.packages = packages

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the spec of a list; None for the modules that are found as always.

        Raises:
            ModuleNotFoundError: The module belongs to the subject.
        """
        if is_inside(name, self.packages):
            raise ModuleNotFoundError(f"{name} is taken out", name=name)
        if name not in LISTS:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        assert spec is not None
        assert spec.origin is not None
        spec.loader = ShortenedList(name, spec.origin, self.packages)
        return spec


class ShortenedList(importlib.machinery.SourceFileLoader):
    """Loader of a list without the lines of a subject."""

    def __init__(self, name: str, path: str, packages: Sequence[str]) -> None:
        super().__init__(name, path)
        self.packages = packages

    def get_code(self, fullname: str) -> CodeType:
        """Compile the list without the lines of the subject."""
        shortener = Shortened(self.packages)
        tree = shortener.visit(ast.parse(self.get_data(self.path)))
        used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        in_code = shortener.gone & used
        assert not in_code or fullname.startswith("tests."), f"{fullname} uses {in_code}"
        return compile(ast.fix_missing_locations(tree), self.path, "exec")


class Shortened(ast.NodeTransformer):
    """Deletes the imports of packages, and the entries of lists that name what was imported."""

    def __init__(self, packages: Sequence[str]) -> None:
        self.packages = packages
        self.gone = set[str]()

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.stmt | None:
        """Delete an import from the packages."""
        gone = is_inside(f"{node.module}", self.packages) or any(
            is_inside(f"{node.module}.{alias.name}", self.packages) for alias in node.names
        )
        if gone:
            self.gone |= {alias.asname or alias.name for alias in node.names}
        return None if gone else node

    def visit_Tuple(self, node: ast.Tuple) -> ast.expr:
        """Delete the entries of a tuple."""
        node.elts = [each for each in node.elts if not self._names(each)]
        return node

    def visit_Dict(self, node: ast.Dict) -> ast.expr:
        """Delete the entries of a mapping."""
        kept = [
            (key, value)
            for key, value in zip(node.keys, node.values, strict=True)
            if not self._names(value) and not (key is not None and self._names(key))
        ]
        node.keys, node.values = [key for key, _ in kept], [value for _, value in kept]
        return node

    def _names(self, node: ast.expr) -> bool:
        return any(self._mentions(each) for each in ast.walk(node))

    def _mentions(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Name):
            return node.id in self.gone
        if not isinstance(node, ast.Constant):
            return False
        return isinstance(node.value, str) and is_inside(node.value, self.packages)


def is_inside(name: str, packages: Sequence[str]) -> bool:
    """Tell whether a module is one of the packages, or inside one."""
    return any(f"{name}.".startswith(f"{package}.") for package in packages)


def main(package: str) -> None:
    """Refuse the package, play the story, and print what it yields."""
    packages = (package, *ELSEWHERE.get(package, ()))
    sys.meta_path.insert(0, WithoutSubject(packages))
    story = import_module("tests.support.ordinary_day").story
    sys.stdout.writelines(f"{words}\n" for words in story())
    loaded = [name for name in sys.modules if is_inside(name, packages)]
    assert not loaded, loaded


if __name__ == "__main__":
    main(f"skein.{sys.argv[1]}")
