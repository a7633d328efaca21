"""Builds the Lambda layer, and the functions that have dependencies of their own.

`python -m tools.deployment.layer <logical id> <folder> [platform ...]` fills a folder: that of the
layer, or that of a function. The layer's folder becomes `/opt`; it gets the package, its
dependencies, prompts, console, web chat and data files. A function's folder becomes `/var/task`.
Dependencies are installed for the functions' platform, not for this machine, and cached until their
pinned versions change. The module needs only the standard library and pip.
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
FUNCTIONS = ROOT / "functions"
DEPLOYED_CODE = (ROOT / "shared" / "skein", FUNCTIONS)

LAYER = "SkeinLayer"
MCP = ("mcp", "mcp-types")
# Packages that few functions import. They are in the packages of these functions, not in the layer,
# which every function unpacks at its cold start. Logical id -> names as pinned in REQUIREMENTS.
OWN_PACKAGES = {
    "AdminApi": MCP,
    "Authorizer": ("cffi", "cryptography", "pycparser", "pyjwt"),
    "RunWorker": MCP,
    "UpkeepWorker": ("beautifulsoup4", "markdownify", "pi-heif", "pillow", "pypdf", "soupsieve"),
}

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
    """This Python has another version than the Lambda runtime."""


class BadPackageError(RuntimeError):
    """A package of a function's own is not pinned."""


class SdkError(RuntimeError):
    """The SDK lacks a service or an operation, or the code doesn't show which service it uses."""


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
    """Delete those files of installed packages that no function reads."""
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
    """Delete all files that several searches have found."""
    for files in found:
        for file in list(files):
            file.unlink(missing_ok=True)


def keep_folders(parent: Path, names: Collection[str]) -> None:
    """Delete all folders in `parent` except those with these names; `parent` need not exist."""
    for folder in list(parent.iterdir()) if parent.is_dir() else ():
        if folder.is_dir() and folder.name not in names:
            shutil.rmtree(folder)


def aws_services(folders: Iterable[Path] = DEPLOYED_CODE) -> list[str]:
    """Return the AWS services for which the deployed code creates clients, sorted.

    Raises:
        SdkError: A call of `client` does not contain the name of its service literally.
    """
    services = set()
    for path in sorted(path for folder in folders for path in folder.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if "client(" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            match node:
                case ast.Call(
                    func=ast.Attribute(attr="client"), args=[ast.Constant(str(name)), *_]
                ):
                    services.add(name)
                case ast.Call(func=ast.Attribute(attr="client")):
                    raise SdkError(f"{path.name}: line {node.lineno} must name its AWS service")
    return sorted(services)


def prune_sdk(site: Path, services: Iterable[str]) -> None:
    """Delete the SDK's examples, and its descriptions of all services but these.

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
    """Return the operations of a service, as the SDK describes its newest version."""
    versions = sorted((site / "botocore" / "data" / service).glob("*/service-2.json.gz"))
    if not versions:
        return frozenset()
    return frozenset(json.loads(gzip.decompress(versions[-1].read_bytes()))["operations"])


def compile_bytecode(site: Path, version: str, becomes: str = "/opt/python") -> None:
    """Compile a folder that will be a read-only folder on Lambda, where bytecode can't be written.

    To make builds reproducible, the bytecode contains a hash of the source instead of a time.
    Python never checks the hash.

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
        prependdir=becomes,
        invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
    )


def requirements(text: str, part: str) -> str:
    """Return the pinned packages of the layer, or those of a function's own.

    Args:
        text: All pinned packages. The hashes of each are on the lines after it.
        part: The logical id of the layer or the function.

    Raises:
        BadPackageError: A function's own package is not pinned.
    """
    pins = {
        re.split(r"[\[=]", pin, maxsplit=1)[0]: pin
        for pin in re.findall(r"^[a-z0-9][^\n]*\n(?:[ \t][^\n]*\n)*", text, re.MULTILINE)
    }
    own = {name for names in OWN_PACKAGES.values() for name in names}
    if missing := own - pins.keys():
        raise BadPackageError(f"{REQUIREMENTS.name} does not pin {', '.join(sorted(missing))}")
    wanted = OWN_PACKAGES.get(part) or [name for name in pins if name not in own]
    return "".join(pins[name] for name in wanted)


def dependencies(part: str, version: str, platforms: Sequence[str] = PLATFORMS) -> Path:
    """Install the dependencies of the layer or a function, unless cached; return the folder."""
    services = aws_services()
    key = hashlib.sha256(" ".join(platforms).encode())
    cache = CACHE / platforms[0] / part
    for source in (REQUIREMENTS.read_bytes(), Path(__file__).read_bytes(), sys.version.encode()):
        key.update(source)
    key.update(" ".join(services).encode())
    target = cache / key.hexdigest()[:16]
    if target.is_dir():
        return target
    shutil.rmtree(cache, ignore_errors=True)
    cache.mkdir(parents=True)
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        site, pins = Path(folder) / "python", Path(folder) / REQUIREMENTS.name
        pins.write_text(requirements(REQUIREMENTS.read_text(encoding="utf-8"), part), "utf-8")
        subprocess.run(
            [
                *(*packages.pip(), "install", "-qq"),
                *("--disable-pip-version-check", "--no-deps", "--no-compile"),
                *("--only-binary=:all:", "--implementation", "cp", "--python-version", version),
                *(option for platform in platforms for option in ("--platform", platform)),
                *("--require-hashes", "-r", str(pins), "--target", str(site)),
            ],
            check=True,
        )
        prune(site)
        if part == LAYER:
            prune_sdk(site, services)
        compile_bytecode(site, version, "/opt/python" if part == LAYER else "/var/task")
        os.replace(site, target)
    return target


def build_function(part: str, target: Path, platforms: Sequence[str] = PLATFORMS) -> None:
    """Build a function that has packages of its own in `target`, which becomes `/var/task`.

    Args:
        part: The logical id of the function.
        target: The folder.
        platforms: The functions' platforms, by their names in wheels' file names.
    """
    version = runtime_version(TEMPLATE.read_text(encoding="utf-8"))
    shutil.copytree(dependencies(part, version, platforms), target, dirs_exist_ok=True)
    shutil.copytree(
        FUNCTIONS, target, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True
    )


def build(target: Path, platforms: Sequence[str] = PLATFORMS) -> None:
    """Build the layer in `target`, which becomes `/opt`.

    Args:
        target: The folder.
        platforms: The functions' platforms, by their names in wheels' file names.
    """
    version = runtime_version(TEMPLATE.read_text(encoding="utf-8"))
    site = target / "python"
    shutil.copytree(dependencies(LAYER, version, platforms), site, dirs_exist_ok=True)
    shutil.copytree(
        ROOT / "shared" / "skein",
        site / "skein",
        ignore=shutil.ignore_patterns("__pycache__"),
        dirs_exist_ok=True,
    )
    compile_bytecode(site / "skein", version)
    for name in ("prompts", "console", "examples/agents", "clients/widget/dist"):
        shutil.copytree(ROOT / name, target / name, dirs_exist_ok=True)
    if not all(file.path.is_file() for file in data_files.FILES):
        data_files.install()
    for file in data_files.FILES:
        (target / file.name).parent.mkdir(exist_ok=True)
        shutil.copy(file.path, target / file.name)


def main(arguments: Sequence[str]) -> int:
    """Build the layer or a function; return the exit status."""
    part, folder, *named = arguments
    target, platforms = Path(folder).resolve(), tuple(named) or PLATFORMS
    if part == LAYER:
        return packages.report_errors(lambda: build(target, platforms))
    return packages.report_errors(lambda: build_function(part, target, platforms))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
