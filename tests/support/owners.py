"""Owners of what an agent keeps: for one person, and for a team."""

from skein.models.visibility.audience import Audience
from skein.models.visibility.ownership import Owner
from tests.support.builders import TENANT

ANN = Owner(
    tenant=TENANT,
    agent_id="agt_a",
    scope="user:usr_ann",
    audience=Audience(open=False, people=("usr_ann",)),
    source_chat_id="chat_ann",
    source_run_id="run_1_chat_ann",
)
TEAM = ANN.model_copy(update={"scope": "chat:chat_team", "source_chat_id": "chat_team"})
