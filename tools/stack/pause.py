"""Begin, end or show the pauses of a whole stack, without a deployment.

`PYTHONPATH=shared python -m tools.stack.pause [--stack NAME] [--env NAME] [--local] [<work>=<1|0>
...]`, with the credentials of an operator who may read and write the table. The kind is `runs`,
`texts` or `background`; 1 begins its pause and 0 ends it. `--local` reaches the stack that `make
run` serves.
"""

import argparse
import json
import sys
from collections.abc import Callable, Sequence

from skein.adapters.system import SystemClock
from skein.models.config.pauses import PAUSE_KINDS, PauseKind
from skein.ports import Clock, Table
from skein.services.config.stack_settings import StackSettingsService
from tools.deployment.checks import FailedCheckError, aws
from tools.deployment.deploy import BadNameError, Target
from tools.stack.settings import LOCAL, open_table

SWITCHES = {"1": True, "0": False}


def apply(table: Table, clock: Clock, assignments: Sequence[str]) -> dict[str, str]:
    """Apply switches such as `runs=1`; return since when each kind of work is paused.

    An empty value leaves the switch alone.

    Raises:
        ValueError: A name or a value is unknown; nothing was changed.
    """
    switches: dict[PauseKind, bool] = {}
    for assignment in assignments:
        name, _, value = assignment.partition("=")
        kind = next((one for one in PAUSE_KINDS if one == name), None)
        if kind is None or value not in {*SWITCHES, ""}:
            raise ValueError(f"{assignment!r} is not one of {', '.join(PAUSE_KINDS)} with 1 or 0")
        if value:
            switches[kind] = SWITCHES[value]
    service = StackSettingsService(table=table, clock=clock)
    for kind, on in switches.items():
        service.switch(kind, on=on)
    return {name: at.isoformat() for name, at in service.pauses().since.items()}


def table_of(stack: str, run: Callable[[Sequence[str]], str] = aws) -> str:
    """Return the name of a stack's table, from the outputs of the stack.

    Raises:
        FailedCheckError: There is no such stack, or the `aws` command failed.
    """
    answer = json.loads(run(["cloudformation", "describe-stacks", "--stack-name", stack]))
    outputs = {one["OutputKey"]: one["OutputValue"] for one in answer["Stacks"][0]["Outputs"]}
    return str(outputs["TableName"])


def main(argv: Sequence[str]) -> None:
    """Run the command with the arguments of the command line."""
    parser = argparse.ArgumentParser(prog="tools.stack.pause")
    parser.add_argument("--stack", default="")
    parser.add_argument("--env", default="")
    parser.add_argument("--local", action="store_true")
    parser.add_argument("switches", nargs="*")
    options = parser.parse_args(argv)
    try:
        target = Target.of(stack=options.stack, environment=options.env, confirm=False)
        name = LOCAL if options.local else table_of(target.stack)
        print(json.dumps(apply(open_table(name), SystemClock(), options.switches)))
    except (BadNameError, FailedCheckError, ValueError) as error:
        raise SystemExit(f"the pauses were not changed: {error}") from error


if __name__ == "__main__":
    main(sys.argv[1:])
