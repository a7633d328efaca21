"""Handler of the operators' HTTP API (scope `admin`)."""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from routes import (
    agents,
    audit,
    consolidations,
    documents,
    goals_and_plans,
    lines,
    memories,
    pauses,
    privacy,
    reasons,
    recall,
    reflections,
    runs,
    services,
    settings,
    skills,
    system,
    threads,
    transcripts,
    usage,
    users,
)
from routes.app import Api
from skein.logs import logged

api = Api(scope="admin").including(
    agents.router,
    audit.router,
    consolidations.router,
    documents.router,
    goals_and_plans.router,
    lines.router,
    memories.router,
    pauses.router,
    privacy.router,
    reasons.router,
    recall.router,
    reflections.router,
    runs.router,
    services.router,
    settings.router,
    skills.router,
    system.router,
    threads.router,
    transcripts.router,
    usage.router,
    users.router,
)


@logged
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Handle one API request."""
    return api.resolve(event, context)
