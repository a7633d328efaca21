"""Local stack on one machine, never deployed."""

import sys
from pathlib import Path

# On Lambda, the layer puts the package `skein` on the path.
_LAYER = str(Path(__file__).resolve().parent.parent / "shared")
if _LAYER not in sys.path:
    sys.path.insert(0, _LAYER)
