"""Handler of the table's stream, which turns changes into jobs."""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from skein.bootstrap import load_adapters, service
from skein.feed.feed import Feed
from skein.invocations import FailedItems
from skein.logs import logged
from skein.stream_events import process

load_adapters()


@logged
def handler(event: dict[str, Any], context: LambdaContext) -> FailedItems:
    """Queue the jobs that follow from each change of the table."""
    return process(event, service(Feed).forward)
