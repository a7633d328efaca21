"""Runs the code generators that read the OpenAPI document, for `make generators`.

`python -m tools.generators install` installs the generators for TypeScript with npm. `python -m
tools.generators types` writes the types in the clients below `clients/`.
"""

import importlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tools import client_calls, sync_client

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "tests" / "e2e" / "generators"
PYTHON = ROOT / ".cache" / "tools" / "bin"
NODE = ROOT / ".cache" / "generators"
PYTHON_TYPES = ROOT / "clients" / "python" / "src" / "skein_client" / "api_types.py"
TYPESCRIPT_TYPES = ROOT / "clients" / "typescript" / "src" / "schema.ts"
MANIFESTS = ("package.json", "package-lock.json")
SECONDS = 120


class GeneratorError(RuntimeError):
    """A generator is missing, failed or printed a warning; the message has its output."""


def missing() -> str | None:
    """Return why the generators cannot run here, in one line; None if they can."""
    if shutil.which("node") is None:
        return "the generators for TypeScript need Node, and there is no `node` on the path"
    if not (PYTHON / "openapi-python-client").is_file() or not (NODE / "node_modules").is_dir():
        return "the generators are not installed: run `make generators`"
    return None


def install() -> None:
    """Install the generators for TypeScript in the versions of the lock file.

    Raises:
        GeneratorError: npm is missing or failed.
    """
    npm = shutil.which("npm")
    if npm is None:
        raise GeneratorError("the generators for TypeScript need npm, and there is no `npm` here")
    NODE.mkdir(parents=True, exist_ok=True)
    for name in MANIFESTS:
        shutil.copyfile(SOURCES / name, NODE / name)
    run([npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], NODE)


def run(command: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder, and return its output and errors.

    Raises:
        GeneratorError: The command failed.
    """
    done = subprocess.run(
        command,
        cwd=folder,
        env={
            **os.environ,
            "PATH": f"{PYTHON}{os.pathsep}{os.environ['PATH']}",
            "PYTHONWARNINGS": "error",
            "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true",
            "REDOCLY_TELEMETRY": "off",
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    if done.returncode != 0:
        raise GeneratorError(f"{' '.join(command)}:\n{done.stdout}{done.stderr}".strip())
    return done


def node(tool: str, *arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run an installed command of Node in a folder, and return its output and errors.

    Raises:
        GeneratorError: The command failed.
    """
    return run([str(NODE / "node_modules" / ".bin" / tool), *arguments], folder)


def lint(document: Path) -> list[str]:
    """Return Redocly's warnings about a document and, if it is OpenAPI, Spectral's.

    Raises:
        GeneratorError: The document is not valid; the message lists all problems.
    """
    redocly = ("lint", "--extends=recommended", "--format=json", str(document))
    done = node("redocly", *redocly, folder=document.parent)
    problems = json.loads(done.stdout)["problems"]
    found = [f"{problem['ruleId']}: {problem['message']}" for problem in problems]
    if "openapi" not in json.loads(document.read_text(encoding="utf-8")):
        return found
    rules = f"--ruleset={SOURCES / 'spectral.yaml'}"
    spectral = ("lint", rules, "--format=json", "--quiet", "--fail-severity=error", str(document))
    said = json.loads(node("spectral", *spectral, folder=document.parent).stdout or "[]")
    return [*found, *(f"{each['code']}: {each['message']} at {each['path']}" for each in said)]


def generate_python_client(document: Path, package: Path) -> None:
    """Generate a package with openapi-python-client.

    Raises:
        GeneratorError: The generator failed or warned.
    """
    run(
        [
            str(PYTHON / "openapi-python-client"),
            *("generate", "--fail-on-warning", "--meta", "none"),
            *("--path", str(document), "--output-path", str(package)),
            *("--config", str(SOURCES / "openapi-python-client.yaml")),
        ],
        document.parent,
    )


def generate_models(document: Path, module: Path, kind: str = "pydantic_v2.BaseModel") -> None:
    """Generate a module with datamodel-code-generator.

    Args:
        module: The file to write.
        kind: The generator's name for the base class of the generated classes.

    Raises:
        GeneratorError: The generator failed or warned.
    """
    run(
        [
            str(PYTHON / "datamodel-codegen"),
            *("--input", str(document), "--input-file-type", "openapi", "--output", str(module)),
            *("--output-model-type", kind, "--target-python-version", "3.11"),
            *("--formatters", "builtin", "--disable-timestamp", "--use-union-operator"),
            *("--use-standard-collections", "--use-schema-description", "--use-annotated"),
        ],
        document.parent,
    )


def generate_types(document: Path, module: Path) -> None:
    """Generate a module with openapi-typescript.

    Raises:
        GeneratorError: The generator failed or warned.
    """
    done = node("openapi-typescript", str(document), "-o", str(module), folder=document.parent)
    _refuse_warnings(done)


def generate_hey_client(document: Path, folder: Path) -> None:
    """Generate a client with @hey-api/openapi-ts.

    Raises:
        GeneratorError: The generator failed or warned.
    """
    arguments = ("-i", str(document), "-o", str(folder), "--no-log-file")
    _refuse_warnings(node("openapi-ts", *arguments, folder=document.parent))


def _refuse_warnings(done: subprocess.CompletedProcess[str]) -> None:
    output = done.stdout + done.stderr
    if "warn" in output.lower() or "\u26a0" in output:
        raise GeneratorError(output)


def client_types(document: Path) -> Mapping[Path, str]:
    """Return the generated types and calls of our clients, by the file to which they are written.

    Raises:
        GeneratorError: A generator failed or warned.
    """
    with tempfile.TemporaryDirectory() as folder:
        module = Path(folder) / "types"
        generate_models(document, module, "typing.TypedDict")
        # `closed` is of PEP 728, which type checkers do not know yet.
        code = re.sub(r",\s*closed=True", "", module.read_text(encoding="utf-8"))
        code = code.replace("from typing_extensions import TypedDict\n", "")
        code = code.replace("TypeAlias\n", "TypeAlias, TypedDict\n", 1)
        code = code[code.index("from __future__") :]
        python = f'"""Types of the API, generated by `make client-types`."""\n\n{code}'
        generate_types(document, module)
        types = {PYTHON_TYPES: python, TYPESCRIPT_TYPES: module.read_text(encoding="utf-8")}
        return types | client_calls.texts(json.loads(document.read_text(encoding="utf-8")))


def write_types() -> None:
    """Write the types and calls of our clients.

    Raises:
        GeneratorError: A generator is missing, failed or warned.
    """
    reason = missing()
    if reason is not None:
        raise GeneratorError(reason)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "openapi.json"
        path.write_text(json.dumps(document()), encoding="utf-8")
        for target, text in client_types(path).items():
            target.write_text(text, encoding="utf-8")
    sync_client.write()


def document() -> Mapping[str, Any]:
    """Return the OpenAPI document. `functions` must be on the import path."""
    openapi = importlib.import_module("routes.document.openapi")
    described: Mapping[str, Any] = openapi.document()
    return described


def main(arguments: Sequence[str]) -> int:
    """Run a command; return the exit status."""
    commands = {"install": install, "types": write_types}
    if len(arguments) != 1 or arguments[0] not in commands:
        print(f"usage: python -m tools.generators {'|'.join(commands)}", file=sys.stderr)
        return 2
    try:
        commands[arguments[0]]()
    except GeneratorError as error:
        print(f"generators: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
