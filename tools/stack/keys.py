"""Creates an API key for a tenant in which no operator could create one, such as a new tenant.

`PYTHONPATH=shared:. python -m tools.stack.keys [--stack NAME] [--env NAME] [--local] --tenant
TENANT [--roles owner,privacy,support]` requires AWS credentials that may write the table. By
default, the key has all three roles. `--local` uses the stack that `make run` serves.
"""

import argparse
import json
import sys
from collections.abc import Sequence

from pydantic import ValidationError

from skein.adapters.system import SystemClock, UlidIds
from skein.errors import Conflict, Forbidden
from skein.identity.api import NewKey
from skein.identity.api_keys import ApiKeys
from skein.identity.models.api_key import ApiKey
from tools.deployment.checks import FailedCheckError
from tools.deployment.deploy import BadNameError, Target
from tools.stack.settings import LOCAL, open_table, outputs_of

MAKER = "deployment"  # who made the key, in its record
ROLES = "owner,privacy,support"


def run(keys: ApiKeys, tenant: str, roles: Sequence[str]) -> ApiKey:
    """Create a key.

    Raises:
        ValueError: No tenant is given, or a role is unknown.
        Conflict: The tenant has too many keys.
    """
    if not tenant:
        raise ValueError("TENANT is needed")
    new = NewKey.model_validate({"name": "first key", "roles": roles})
    return keys.create(tenant, new, by=MAKER, roles=("owner", "privacy", "support"))


def main(argv: Sequence[str]) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="tools.stack.keys")
    for name in ("--stack", "--env", "--tenant"):
        parser.add_argument(name, default="")
    parser.add_argument("--roles", default=ROLES)
    parser.add_argument("--local", action="store_true")
    options = parser.parse_args(argv)
    try:
        table = LOCAL
        if not options.local:
            target = Target.of(stack=options.stack, environment=options.env, confirm=False)
            table = outputs_of(target.stack)["TableName"]
        clock = SystemClock()
        keys = ApiKeys(table=open_table(table), clock=clock, ids=UlidIds(clock))
        made = run(keys, options.tenant, options.roles.split(","))
        print(json.dumps({"id": made.id, "key": made.text, "roles": made.roles}))
    except ValidationError as error:
        raise SystemExit("failed: the roles are owner, privacy, support and tokens") from error
    except (BadNameError, Conflict, FailedCheckError, Forbidden, ValueError) as error:
        raise SystemExit(f"failed: {error}") from error


if __name__ == "__main__":
    main(sys.argv[1:])
