"""The local stack: all of Skein on one machine, for development. It is never deployed."""

import sys
from pathlib import Path

_ROOT = Path(__file__).resolve().parent.parent
# The wheel has the root's folders in its one package; on Lambda, the layer has `skein`.
for _folder in (_ROOT / "clients" / "python" / "src", _ROOT / "shared", _ROOT):
    if str(_folder) not in sys.path:
        sys.path.insert(0, str(_folder))
