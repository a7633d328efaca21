"""Assigns a phone number to a tenant, or lists the deployment's numbers with their tenants.

`PYTHONPATH=shared:. python -m tools.stack.numbers [--stack NAME] [--env NAME] [--local] [--tenant
TENANT --phone NUMBER]` requires AWS credentials that may write the table of assigned numbers.
`--local` uses the stack that `make run` serves.
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
    """Assign a number to a tenant. If neither is given, return all assigned numbers.

    Raises:
        ValueError: Only one of the two is given, or the phone number has no country code.
        Conflict: The number is a line of another tenant, or reserved for one.
    """
    if not tenant and not phone:
        return list(numbers.all())
    if not tenant or not phone:
        raise ValueError("TENANT and PHONE are needed together")
    return [numbers.assign(tenant, line_address(phone))]


def main(argv: Sequence[str]) -> None:
    """Run the command."""
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
