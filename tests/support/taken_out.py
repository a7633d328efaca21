"""Play an ordinary day in an installation from which a subject is taken out.

No module of the subject can be imported. The lists that name the parts of all subjects are read
without those of this one, as if its lines were deleted.
"""

import ast
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from importlib import import_module
from types import CodeType, ModuleType

# The modules that list the parts of subjects.
LISTS = frozenset(
    {
        "skein.agent.sections.order",
        "skein.agent.tools",
        "skein.interface.extensions",
        "skein.privacy.erasure_look_ups",
        "tests.support.builders",
    }
)


class WithoutSubject(importlib.abc.MetaPathFinder):
    """Finder that refuses the modules of a subject, and loads the lists without them."""

    def __init__(self, package: str) -> None:
        self.package = package

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the spec of a list; None for the modules that are found as always.

        Raises:
            ModuleNotFoundError: The module belongs to the subject.
        """
        if f"{name}.".startswith(f"{self.package}."):
            raise ModuleNotFoundError(f"{name} is taken out", name=name)
        if name not in LISTS:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        assert spec is not None
        assert spec.origin is not None
        spec.loader = ShortenedList(name, spec.origin, self.package)
        return spec


class ShortenedList(importlib.machinery.SourceFileLoader):
    """Loader of a list without the lines of a subject."""

    def __init__(self, name: str, path: str, package: str) -> None:
        super().__init__(name, path)
        self.package = package

    def get_code(self, fullname: str) -> CodeType:
        """Compile the list without the lines of the subject."""
        tree = ast.parse(self.get_data(self.path))
        shortened = ast.fix_missing_locations(Shortened(self.package).visit(tree))
        return compile(shortened, self.path, "exec")


class Shortened(ast.NodeTransformer):
    """Deletes the imports of a package, and the entries of lists that name what was imported."""

    def __init__(self, package: str) -> None:
        self.package = package
        self.gone = set[str]()

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.stmt | None:
        """Delete an import from the package."""
        names = {alias.asname or alias.name for alias in node.names}
        module, _, last = self.package.rpartition(".")
        if node.module == module and last in {alias.name for alias in node.names}:
            self.gone |= names
            return None
        if f"{node.module}.".startswith(f"{self.package}."):
            self.gone |= names
            return None
        return node

    def visit_Tuple(self, node: ast.Tuple) -> ast.expr:
        """Delete the entries of a tuple."""
        node.elts = [each for each in node.elts if not self._names(each)]
        return node

    def visit_Dict(self, node: ast.Dict) -> ast.expr:
        """Delete the entries of a mapping."""
        kept = [
            (key, value)
            for key, value in zip(node.keys, node.values, strict=True)
            if not self._names(value)
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
        return isinstance(node.value, str) and node.value.startswith(f"{self.package}.")


def main(package: str) -> None:
    """Refuse the package, play the story, and print what it yields."""
    sys.meta_path.insert(0, WithoutSubject(package))
    story = import_module("tests.support.ordinary_day").story
    sys.stdout.writelines(f"{words}\n" for words in story())
    loaded = [name for name in sys.modules if f"{name}.".startswith(f"{package}.")]
    assert not loaded, loaded


if __name__ == "__main__":
    main(f"skein.{sys.argv[1]}")
