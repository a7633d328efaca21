"""Calls of models by background work, which count against its budget."""

from skein.models.quotas.usage import Payer
from skein.models.runs.completion import ModelAnswer, ModelRequest
from skein.ports import LanguageModel
from skein.services.quotas.usage import UsageCounters


def complete_in_background(
    model: LanguageModel,
    usage: UsageCounters,
    request: ModelRequest,
    *,
    tenant: str,
    agent_id: str | None,
    spread_by: str,
) -> ModelAnswer:
    """Call a model once, and add the tokens to the counters and to the budget of the day.

    Args:
        request: The question.
        tenant: The tenant, whose budget for background work pays.
        agent_id: The agent that the answer is counted for; None for none.
        spread_by: The id by which the counter is chosen.

    Raises:
        Transient: The model is out of reach.
        ModelRejected: The model refused the request.
    """
    answer = model.complete(request)
    usage.add(
        tenant,
        answer.usage,
        spread_by=spread_by,
        model=answer.model,
        payer=Payer(agent_id),
        background=True,
    )
    return answer
