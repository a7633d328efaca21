"""Command `python -m local`, which is the command `skein` of an installed package.

`make run` runs `python -m local run --day`, which serves the demo's agent Coach and the recorded
day (`local.day`).
"""

import sys

from local.command import main

if __name__ == "__main__":
    sys.exit(main())
