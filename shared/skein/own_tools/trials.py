"""Trial calls of tools by operators, who provide the arguments."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from skein.errors import Correctable, Unprocessable
from skein.own_tools.functions import installed_functions
from skein.own_tools.items import CallableTool
from skein.own_tools.records import OwnTools
from skein.own_tools.sending import CallSender, Outcome
from skein.own_tools.signed_context import context_of_operator
from skein.ports import Clock, Ids

TRIAL_TIME = timedelta(seconds=25)  # a request to the API may take 29 seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolTrials:
    """The service with which operators try tools, including disabled ones."""

    clock: Clock
    ids: Ids
    tools: OwnTools
    sender: CallSender

    def make(self, tenant: str, name: str, arguments: Mapping[str, Any], *, by: str) -> Outcome:
        """Call a tool once, as an operator.

        Raises:
            NotFound: There is no such tool.
            Unprocessable: The arguments are invalid.
        """
        record = self.tools.find(tenant, name)
        function = record.python and installed_functions().get(record.python.function)
        tool, given = CallableTool(record, function or None), json.dumps(dict(arguments))
        try:
            tool.parse(given)
        except Correctable as error:
            raise Unprocessable(f"arguments: {error}") from None
        context = context_of_operator(tenant, by, f"try:{self.ids.ulid()}")
        return self.sender.send(tool, given, context, until=self.clock.now() + TRIAL_TIME)
