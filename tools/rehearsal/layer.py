"""The built layer, for the processor of this machine."""

import platform
import subprocess
import sys
from pathlib import Path

from tools.deployment import layer
from tools.install import runtime_python

DEPLOYED = "aarch64"


def for_this_machine(built: Path, folder: Path) -> Path:
    """Return a folder for `/opt`: the built layer if this machine can run it, else one like it.

    A layer for this machine has the same pins and the same Python; only the compiled modules
    differ.

    Raises:
        NoRuntimePythonError: This machine has no Python of the runtime's version.
        subprocess.CalledProcessError: The build failed and has printed the reason.
    """
    machine = platform.machine()
    if machine == DEPLOYED:
        return built
    target = folder / "layer"
    version = layer.runtime_version(layer.TEMPLATE.read_text(encoding="utf-8"))
    python = runtime_python.find_or_install([sys.executable], version)
    platforms = [each.replace(DEPLOYED, machine) for each in layer.PLATFORMS]
    subprocess.run(
        [python, "-m", "tools.deployment.layer", str(target), *platforms],
        check=True,
        cwd=layer.ROOT,
    )
    return target
