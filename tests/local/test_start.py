"""The start of the local stack, which loads large libraries later or never."""

import subprocess
import sys

from local.template import ROOT

# The handlers of all functions are imported, as when the stack starts on SQLite. Powertools imports
# the root of `botocore` if it is installed, which loads nothing else.
LOADED = """
import sys
from pathlib import Path
from local.engine import engine_of
from local.functions import Functions
from local.stack import Stack
from local.template import Template
from skein import bootstrap
from skein.settings import Settings

engine_of("sqlite", Path("unused"))
bootstrap.use(bootstrap.build_app(Settings()))
Functions(Template.load().functions)
large = {"boto3", "botocore.client", "openai", "tiktoken", "twilio.rest", "xllamacpp"}
print(*sorted(large & sys.modules.keys()))
"""


def test_start_on_sqlite_loads_no_large_library() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOADED],
        cwd=ROOT,
        env={"PYTHONPATH": f"{ROOT / 'shared'}:{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout.split() == []
