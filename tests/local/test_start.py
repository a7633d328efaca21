"""The start of the local stack, which loads large libraries later or never."""

import subprocess
import sys

import pytest

from local.template import ROOT

# The handlers of all functions are imported, as when the stack starts. Powertools imports
# the root of `botocore` if it is installed, which loads nothing else.
LOADED = """
import sys
from local.functions import Functions
from local.stack import Stack
from local.template import Template
from skein import bootstrap
from skein.settings import Settings

bootstrap.use(bootstrap.build_app(Settings()))
Functions(Template.load().functions)
large = {"boto3", "botocore.client", "openai", "tiktoken", "twilio.rest", "xllamacpp"}
print(*sorted(large & sys.modules.keys()))
"""


@pytest.mark.check  # imports everything in a process
def test_start_of_the_stack_loads_no_large_library() -> None:
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
