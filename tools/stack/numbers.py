"""Assign a phone number of the deployment to a tenant, or list the numbers and their tenants.

`PYTHONPATH=shared:. python -m tools.stack.numbers [--stack NAME] [--env NAME] [--local]
[--tenant TENANT --phone NUMBER]`, with the credentials of the deployment's owner, who may write the
table of assigned numbers. `--local` reaches the stack that `make run` serves.
"""

import argparse
import json
import sys
from collections.abc import Sequence

from skein.adapters.system import SystemClock
from skein.errors import Conflict
from skein.models.directory.assigned_number import AssignedNumber
from skein.models.directory.phone_number import line_address
from skein.services.directory.assigned_numbers import AssignedNumbers
from tools.deployment.checks import FailedCheckError
from tools.deployment.deploy import BadNameError, Target
from tools.stack.settings import LOCAL, LOCAL_NUMBERS, open_table, outputs_of


def run(numbers: AssignedNumbers, tenant: str, phone: str) -> list[AssignedNumber]:
    """Assign a number to a tenant; without both, return all numbers.

    Raises:
        ValueError: One of both is missing, or the phone number is not a full one.
        Conflict: The number is a line of another tenant, or reserved for one.
    """
    if not tenant and not phone:
        return list(numbers.all())
    if not tenant or not phone:
        raise ValueError("TENANT and PHONE are needed together")
    return [numbers.assign(tenant, line_address(phone))]


def main(argv: Sequence[str]) -> None:
    """Run the command with the arguments of the command line."""
    parser = argparse.ArgumentParser(prog="tools.stack.numbers")
    for name in ("--stack", "--env", "--tenant", "--phone"):
        parser.add_argument(name, default="")
    parser.add_argument("--local", action="store_true")
    options = parser.parse_args(argv)
    try:
        if options.local:
            names = (LOCAL_NUMBERS, LOCAL)
        else:
            target = Target.of(stack=options.stack, environment=options.env, confirm=False)
            outputs = outputs_of(target.stack)
            names = (outputs["AssignedNumbersName"], outputs["TableName"])
        register, table = map(open_table, names)
        numbers = AssignedNumbers(numbers=register, table=table, clock=SystemClock())
        for number in run(numbers, options.tenant, options.phone):
            shown = {"phone": number.address.address, "tenant": number.tenant}
            print(json.dumps(shown))
    except (BadNameError, Conflict, FailedCheckError, ValueError) as error:
        raise SystemExit(f"failed: {error}") from error


if __name__ == "__main__":
    main(sys.argv[1:])
