"""Prefetch of a reading's items, which the claim reads together with the run."""

from skein.models.chats.borrowed import BorrowedContext
from skein.models.chats.chat import Membership
from skein.models.common.base import MemberRef
from skein.models.common.storage import Key
from skein.models.config.overrides import StackSettings, TenantSettings
from skein.models.directory.agent import Agent
from skein.models.directory.user import User
from skein.models.live.connection import PersonConnections
from skein.models.outbox.jobs import RunJob
from skein.models.quotas.limit import Allowance, owner_of_shard, owner_of_user
from skein.models.runs.run import Run
from skein.models.workspace.skill import CORE
from skein.services.workspace.skill_selection import keys_of_skills


def prefetch_keys(job: RunJob) -> list[Key]:
    """Return the keys of items that most readings need, derived from the job.

    These are items of the agent, the tenant and the person. The keys are a guess. A right guess
    saves a call, and a wrong one costs some read capacity. A reading gets all other items that it
    needs.

    Raises:
        ValueError: The job's run id is invalid.
    """
    tenant, agent_id = job.tenant, job.agent_id
    keys = [
        Agent.key_of(tenant, agent_id),
        TenantSettings.key_of(tenant),
        StackSettings.key_for(job.run_id),
        Allowance.key_of(tenant, owner_of_shard(0)),
        *keys_of_skills(tenant, (CORE,)),
    ]
    home = Run.home_of(job.run_id)
    in_chat = home.startswith("chat_")
    if in_chat:
        keys.append(BorrowedContext.key_of(tenant, home, agent_id))
    if job.user_id is not None:
        keys.append(User.key_of(tenant, job.user_id))
        keys.append(Allowance.key_of(tenant, owner_of_user(job.user_id)))
        if in_chat:
            person = MemberRef(kind="user", id=job.user_id)
            keys.append(Membership.key_of(tenant, home, person))
            keys.append(PersonConnections.key_of(tenant, job.user_id))
    return keys
