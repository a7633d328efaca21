"""Show or change the settings of the whole stack, without a deployment.

`PYTHONPATH=shared python -m tools.stack.settings <table> [<name>=<value> ...]`, with the
credentials of an operator who may read and write the table. A value is JSON; null removes it.
`--local` in place of the table reaches the stack that `make run` serves.
"""

import json
import os
import sys
from collections.abc import Sequence

from local.aws.engine import ENDPOINT_FILE
from local.config import Config
from local.environment import CREDENTIALS
from local.intrinsics import REGISTER_NAME, TABLE_NAME
from local.sqlite.database import Database
from local.sqlite.engine import FILE, REGISTER_FILE
from local.sqlite.table import SqliteTable
from skein.adapters.aws.clients import Aws
from skein.adapters.dynamodb.table import DynamoTable, dynamo_client
from skein.adapters.system import SystemClock
from skein.models.config.overrides import StackOverrides, StackOverridesChange
from skein.ports import Clock, Table
from skein.services.config.stack_settings import StackSettingsService
from skein.settings import Settings

LOCAL = "--local"
LOCAL_REGISTER = "--local-register"
LOCAL_FILES = {LOCAL: FILE, LOCAL_REGISTER: REGISTER_FILE}
LOCAL_NAMES = {LOCAL: TABLE_NAME, LOCAL_REGISTER: REGISTER_NAME}


def apply(table: Table, clock: Clock, assignments: Sequence[str]) -> StackOverrides:
    """Apply assignments such as `context_rollout_percent=10` and return the settings.

    Raises:
        ValueError: A name is unknown or a value is invalid; nothing was changed.
    """
    settings_service = StackSettingsService(table=table, clock=clock)
    if not assignments:
        return settings_service.get()
    pairs = (assignment.partition("=") for assignment in assignments)
    values = {name: json.loads(value) for name, _, value in pairs}
    return settings_service.change(StackOverridesChange.model_validate(values, strict=True))


def open_table(name: str) -> Table:
    """Return the table of a deployment, or of the local stack for `LOCAL` and `LOCAL_REGISTER`."""
    clock = SystemClock()
    return _local_table(name, clock) if name in LOCAL_FILES else _table(Settings(), name, clock)


def main() -> None:
    """Run the command with the arguments of the command line."""
    if len(sys.argv) == 1:
        raise SystemExit(__doc__)
    table_name, *assignments = sys.argv[1:]
    try:
        stored = apply(open_table(table_name), SystemClock(), assignments)
    except ValueError as error:
        raise SystemExit(f"the settings were not changed: {error}") from error
    print(json.dumps(stored.own_values))


def _table(settings: Settings, name: str, clock: Clock) -> Table:
    return DynamoTable(dynamo_client(Aws(settings)), name, clock)


def _local_table(name: str, clock: Clock) -> Table:
    config = Config.from_environment(os.environ)
    if config.engine == "sqlite":
        return SqliteTable(Database(config.data_dir / LOCAL_FILES[name]), clock)
    os.environ.update(CREDENTIALS)
    endpoint = (config.data_dir / "aws" / ENDPOINT_FILE).read_text(encoding="utf-8")
    return _table(Settings(aws_endpoint_url=endpoint), LOCAL_NAMES[name], clock)


if __name__ == "__main__":
    main()
