"""Builder of the Lambda layer: the package, its dependencies, prompts, console and data files.

`python -m tools.deployment.layer <folder> [platform ...]` fills the folder that becomes `/opt`.
Dependencies are installed for the functions' platform, not for this machine, and cached until their
pins change. The module needs only the standard library and pip.
"""

import ast
import compileall
import gzip
import hashlib
import json
import os
import py_compile
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from tools.install import data_files, packages

ROOT = Path(__file__).resolve().parents[2]
REQUIREMENTS = ROOT / "requirements" / "layer.txt"
CACHE = ROOT / ".cache" / "layer"
TEMPLATE = ROOT / "template.yaml"
DEPLOYED_CODE = (ROOT / "shared" / "skein", ROOT / "functions")

# Lambda's Python 3.13 runs on Amazon Linux 2023 with glibc 2.34. pip wants each accepted tag.
PLATFORMS = (
    *(f"manylinux_2_{glibc}_aarch64" for glibc in range(34, 16, -1)),
    "manylinux2014_aarch64",
)

# The domain of Twilio's REST client that sends and finds messages. The client loads each domain on
# demand, so the others can be deleted.
TWILIO_DOMAINS = ("api",)

# The parts of the OpenAI SDK that describe its other calls are loaded on demand, too.
OPENAI_FOLDERS = {
    "resources": ("chat",),
    "types": ("chat", "graders", "responses", "shared", "shared_params"),
}

# Of the library of MCP, Skein uses the client without its sign-in, and without the packages in
# requirements/overrides-layer.pip; see `skein/adapters/mcp_client.py`.
MCP_FOLDERS: dict[str, tuple[str, ...]] = {"": ("client", "shared"), "client": ()}

# Pillow reads neither AVIF nor fonts here. Nothing else uses the libraries of these two parts.
PILLOW_FILES = {
    "PIL": ("_avif*.so", "_imagingft*.so", "_imagingtk*.so"),
    "pillow.libs": ("libavif*", "libfreetype*", "libharfbuzz*", "libbrotli*", "libpng16*"),
}

# Lambda's own SDK may be too old for the vector index.
NEEDED_OPERATION = ("dynamodb", "SearchVectors")

# Parts of packages that are only for tests, compilation, type checks or uninstallation.
DEAD_FOLDERS = ("tests", "test", "__pycache__")
DEAD_FILES = ("*.pyi", "*.c", "*.h", "*.pyx", "*.pxd", "*.pyc")
DEAD_METADATA = ("RECORD", "INSTALLER", "REQUESTED", "direct_url.json")


class BadTemplateError(RuntimeError):
    """The template does not name exactly one Python runtime."""


class WrongPythonError(RuntimeError):
    """This Python is not that of the runtime."""


class SdkError(RuntimeError):
    """The SDK lacks a service or an operation, or the code hides which service it uses."""


def runtime_version(template: str) -> str:
    """Return the Python version of the template's runtime, such as `3.13`.

    Raises:
        BadTemplateError: The template names no runtime or more than one.
    """
    versions = re.findall(r"^\s*Runtime:\s*python([0-9.]+)\s*$", template, re.MULTILINE)
    if len(versions) != 1:
        raise BadTemplateError(f"the template must name one runtime, not {len(versions)}")
    return str(versions[0])


def prune(site: Path) -> None:
    """Delete the files of installed packages that no function reads."""
    for name in DEAD_FOLDERS:
        for folder in list(site.rglob(name)):
            shutil.rmtree(folder, ignore_errors=True)
    delete_files(site.rglob(pattern) for pattern in DEAD_FILES)
    for info in site.glob("*.dist-info"):
        for name in DEAD_METADATA:
            (info / name).unlink(missing_ok=True)
    shutil.rmtree(site / "bin", ignore_errors=True)
    keep_folders(site / "twilio" / "rest", TWILIO_DOMAINS)
    for part, kept in OPENAI_FOLDERS.items():
        keep_folders(site / "openai" / part, kept)
    for part, kept in MCP_FOLDERS.items():
        keep_folders(site / "mcp" / part, kept)
    for part, patterns in PILLOW_FILES.items():
        delete_files((site / part).glob(pattern) for pattern in patterns)


def delete_files(found: Iterable[Iterable[Path]]) -> None:
    """Delete files that several searches find."""
    for files in found:
        for file in list(files):
            file.unlink(missing_ok=True)


def keep_folders(parent: Path, names: Collection[str]) -> None:
    """Delete the folders in a folder, except those with these names."""
    for folder in list(parent.iterdir()):
        if folder.is_dir() and folder.name not in names:
            shutil.rmtree(folder)


def aws_services(folders: Iterable[Path] = DEPLOYED_CODE) -> list[str]:
    """Return the AWS services of which the deployed code creates clients, in order.

    Raises:
        SdkError: The name of a service is not written in the call of `client`.
    """
    services = set()
    for path in sorted(path for folder in folders for path in folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(
                    func=ast.Attribute(attr="client"), args=[ast.Constant(str(name)), *_]
                ):
                    services.add(name)
                case ast.Call(func=ast.Attribute(attr="client")):
                    raise SdkError(f"{path.name}: line {node.lineno} must name its AWS service")
    return sorted(services)


def prune_sdk(site: Path, services: Iterable[str]) -> None:
    """Delete the SDK's descriptions of all but some services, and its examples.

    Raises:
        SdkError: The SDK does not know a service, or has no vector search.
    """
    kept = sorted(services)
    data = site / "botocore" / "data"
    keep_folders(data, kept)
    if missing := [service for service in kept if not (data / service).is_dir()]:
        raise SdkError(f"the SDK does not know {', '.join(missing)}")
    for file in list(data.rglob("examples-*.json")):
        file.unlink()
    service, operation = NEEDED_OPERATION
    if operation not in operations(site, service):
        raise SdkError(f"the SDK has no {operation}: make lock UPGRADE=1")


def operations(site: Path, service: str) -> frozenset[str]:
    """Return the operations of a service's newest version, as the SDK describes them."""
    versions = sorted((site / "botocore" / "data" / service).glob("*/service-2.json.gz"))
    if not versions:
        return frozenset()
    return frozenset(json.loads(gzip.decompress(versions[-1].read_bytes()))["operations"])


def compile_bytecode(site: Path, version: str) -> None:
    """Compile a folder that becomes `/opt/python`, where Lambda cannot write bytecode.

    The bytecode contains a hash of the source instead of a time, and the hash is never checked.
    Builds are therefore reproducible.

    Raises:
        WrongPythonError: This Python's version is not `version`, so Lambda would ignore the
            bytecode, and each cold start would compile all code.
    """
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    if here != version:
        raise WrongPythonError(f"the layer needs Python {version}, and this is Python {here}")
    compileall.compile_dir(
        site,
        quiet=2,
        stripdir=str(site),
        prependdir="/opt/python",
        invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
    )


def dependencies(version: str, platforms: Sequence[str] = PLATFORMS) -> Path:
    """Install the dependencies for Lambda, unless cached, and return their folder."""
    services = aws_services()
    key = hashlib.sha256(" ".join(platforms).encode())
    cache = CACHE / platforms[0]
    for part in (REQUIREMENTS.read_bytes(), Path(__file__).read_bytes(), sys.version.encode()):
        key.update(part)
    key.update(" ".join(services).encode())
    target = cache / key.hexdigest()[:16]
    if target.is_dir():
        return target
    shutil.rmtree(cache, ignore_errors=True)
    cache.mkdir(parents=True)
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        site = Path(folder) / "python"
        subprocess.run(
            [
                *(*packages.pip(), "install", "-qq"),
                *("--disable-pip-version-check", "--no-deps", "--no-compile"),
                *("--only-binary=:all:", "--implementation", "cp", "--python-version", version),
                *(option for platform in platforms for option in ("--platform", platform)),
                *("--require-hashes", "-r", str(REQUIREMENTS), "--target", str(site)),
            ],
            check=True,
        )
        prune(site)
        prune_sdk(site, services)
        compile_bytecode(site, version)
        os.replace(site, target)
    return target


def build(target: Path, platforms: Sequence[str] = PLATFORMS) -> None:
    """Build the layer in `target`, which becomes `/opt`.

    Args:
        target: The folder.
        platforms: The platforms of the functions, as wheels name them.
    """
    version = runtime_version(TEMPLATE.read_text(encoding="utf-8"))
    site = target / "python"
    shutil.copytree(dependencies(version, platforms), site, dirs_exist_ok=True)
    shutil.copytree(
        ROOT / "shared" / "skein",
        site / "skein",
        ignore=shutil.ignore_patterns("__pycache__"),
        dirs_exist_ok=True,
    )
    compile_bytecode(site / "skein", version)
    for name in ("prompts", "console"):
        shutil.copytree(ROOT / name, target / name, dirs_exist_ok=True)
    if not all(file.path.is_file() for file in data_files.FILES):
        data_files.install()
    for file in data_files.FILES:
        (target / file.name).parent.mkdir(exist_ok=True)
        shutil.copy(file.path, target / file.name)


if __name__ == "__main__":
    built, *named = sys.argv[1:]
    chosen = tuple(named) or PLATFORMS
    sys.exit(packages.report_errors(lambda: build(Path(built).resolve(), chosen)))
