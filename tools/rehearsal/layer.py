"""The built layer, for the processor of this machine."""

import platform
from pathlib import Path

from tools import layer

DEPLOYED = "aarch64"


def for_this_machine(built: Path, folder: Path) -> Path:
    """Return a folder for `/opt`: the built layer if this machine can run it, else one like it.

    A layer for this machine has the same pins; only the compiled modules differ.
    """
    machine = platform.machine()
    if machine == DEPLOYED:
        return built
    target = folder / "layer"
    layer.build(target, tuple(each.replace(DEPLOYED, machine) for each in layer.PLATFORMS))
    return target
