"""Shows or changes the settings and pauses of the whole stack, without a deployment.

`PYTHONPATH=shared:. python -m tools.stack.settings [--stack NAME] [--env NAME] [--local]
[<name>=<value> ...]` requires AWS credentials that may read and write the table. The value of a
setting is JSON; null removes the setting. `runs`, `texts` and `background` are pauses; 1 begins a
pause and 0 ends it. A name that is given without a value stays as it is. `--local` uses the stack
that `make run` serves.
"""

import argparse
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence

from local.config import Config
from local.sqlite.database import Database
from local.sqlite.engine import FILE, NUMBERS_FILE, REGISTER_FILE
from local.sqlite.table import SqliteTable
from skein.adapters.aws.clients import Aws
from skein.adapters.dynamodb.table import DynamoTable, dynamo_client
from skein.adapters.system import SystemClock
from skein.models.config.overrides import StackOverridesChange
from skein.models.config.pauses import PAUSE_KINDS
from skein.ports import Clock, Table
from skein.services.config.stack_settings import StackSettingsService
from skein.settings import Settings
from tools.deployment.checks import FailedCheckError, aws
from tools.deployment.deploy import BadNameError, Target

LOCAL = "--local"
LOCAL_REGISTER = "--local-register"
LOCAL_NUMBERS = "--local-numbers"
LOCAL_FILES = {LOCAL: FILE, LOCAL_REGISTER: REGISTER_FILE, LOCAL_NUMBERS: NUMBERS_FILE}
SWITCHES = {"1": True, "0": False}


def apply(table: Table, clock: Clock, assignments: Sequence[str]) -> dict[str, object]:
    """Apply assignments such as `context_rollout_percent=10` or `runs=1`.

    Returns:
        The `settings` of the stack, and `pauses`, which says since when each kind of work is
        paused.

    Raises:
        ValueError: A name is unknown or a value is invalid. In this case, nothing was changed.
    """
    service = StackSettingsService(table=table, clock=clock)
    given: dict[str, str] = {}
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        if not equals:
            raise ValueError(f"{assignment!r} is no <name>=<value>")
        if value:
            given[name] = value
    switches = {kind: _switch(kind, given.pop(kind)) for kind in PAUSE_KINDS if kind in given}
    values = {name: json.loads(value) for name, value in given.items()}
    change = StackOverridesChange.model_validate(values, strict=True)
    if values:
        service.change(change)
    for kind, on in switches.items():
        service.switch(kind, on=on)
    since = {kind: at.isoformat() for kind, at in service.pauses().since.items()}
    return {"settings": service.get(), "pauses": since}


def _switch(kind: str, value: str) -> bool:
    if value not in SWITCHES:
        raise ValueError(f"{kind}={value} must be 1 or 0")
    return SWITCHES[value]


def outputs_of(stack: str, run: Callable[[Sequence[str]], str] = aws) -> Mapping[str, str]:
    """Return the outputs of a deployed stack.

    Raises:
        FailedCheckError: There is no such stack, or the `aws` command failed.
    """
    answer = json.loads(run(["cloudformation", "describe-stacks", "--stack-name", stack]))
    return {one["OutputKey"]: one["OutputValue"] for one in answer["Stacks"][0]["Outputs"]}


def open_table(name: str) -> Table:
    """Return the table of a deployment; for a name in `LOCAL_FILES`, that of the local stack."""
    clock = SystemClock()
    if name in LOCAL_FILES:
        data_dir = Config.from_environment(os.environ).data_dir
        return SqliteTable(Database(data_dir / LOCAL_FILES[name]), clock)
    return DynamoTable(dynamo_client(Aws(Settings())), name, clock)


def main(argv: Sequence[str]) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="tools.stack.settings")
    parser.add_argument("--stack", default="")
    parser.add_argument("--env", default="")
    parser.add_argument("--local", action="store_true")
    parser.add_argument("assignments", nargs="*")
    options = parser.parse_args(argv)
    try:
        target = Target.of(stack=options.stack, environment=options.env, confirm=False)
        name = LOCAL if options.local else outputs_of(target.stack)["TableName"]
        print(json.dumps(apply(open_table(name), SystemClock(), options.assignments)))
    except (BadNameError, FailedCheckError, ValueError) as error:
        raise SystemExit(f"the settings were not changed: {error}") from error


if __name__ == "__main__":
    main(sys.argv[1:])
