"""Read runs: in full for operators, and filtered by audience for an agent."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta

from skein.errors import NotFound
from skein.models.chats.chat import Chat, Message
from skein.models.chats.membership import Membership
from skein.models.common.base import MemberRef, NamedMember
from skein.models.common.reason import Reason
from skein.models.common.storage import Key, Query
from skein.models.config.overrides import TenantOnlySettings, TenantSettings
from skein.models.directory.agent import Agent
from skein.models.quotas.prices import Money, Prices
from skein.models.runs.run import PREVIEW_CHARACTERS, Run, RunStatus, runs_relation
from skein.models.runs.step import PromptRecord, Step
from skein.models.visibility.audience import Audience, may_show
from skein.ports import Clock, Table
from skein.services.common.pagination import DEFAULT_PAGE, Listing, list_relation
from skein.services.quotas.money import money_of
from skein.services.runs.reasons import reason_now

INDEX_ROWS = 50
ROWS_BEFORE = 100  # runs and steps among which the previous run is searched


@dataclass(frozen=True, slots=True)
class RunView:
    """A run with its steps and its newest prompt.

    Attributes:
        prompt: The prompt of the newest activation that has a prompt; None before the first answer.
        reason: Why the run gives no answer, or not yet; None if it has answered.
        previous_run_id: The run with the agent's previous prompt in the same chat. For a run
            without a chat, the agent's previous run without a chat. None if the run was not found
            among the items that were read.
        prices: The tenant's prices; None if the tenant has set no prices.
        withheld: Whether the operator may see only the run's status, times and reason.
    """

    run: Run
    steps: tuple[Step, ...]
    prompt: PromptRecord | None
    reason: Reason | None
    previous_run_id: str | None = None
    prices: Prices | None = None
    withheld: bool = False


@dataclass(frozen=True, slots=True)
class RunPreview:
    """The beginning of a run's question and answer, and its cost, for lists.

    Attributes:
        by: The member who wrote the message that the run answers, with their name at the time; None
            if something other than a message started the run.
        asked: The first words of that message, or None.
        answered: The first words of the run's last message; None if it posted nothing.
        money: The cost of the run's tokens at the price of its newest model; None without prices.
    """

    by: NamedMember | None
    asked: str | None
    answered: str | None
    money: Money | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunViews:
    """The service that reads runs for the API."""

    table: Table
    clock: Clock

    def get(self, tenant: str, run_id: str) -> RunView:
        """Return a run, its steps and its newest prompt.

        This takes one query, and one more read for a queued run.

        Raises:
            NotFound: There is no such run in this tenant.
        """
        try:
            key = Run.key_of(tenant, run_id)
        except ValueError:
            raise NotFound("run not found") from None
        page = self.table.query(Query(key.pk, first=key.sk, last=Step.prefix_of(key).last))
        if not page.items or page.items[0]["sk"] != key.sk:
            raise NotFound("run not found")
        run = Run.from_item(page.items[0])
        steps = tuple(Step.each_of(page.items[1:]))
        first = next((step for step in reversed(steps) if step.prompt is not None), None)
        prompt = None
        if first is not None and first.prompt is not None:
            prompt = PromptRecord.unpacked(first.prompt).readable()
        member = self._membership(run)
        reason = reason_now(run, member, self.clock.now())
        return RunView(run=_as_queued(run, member), steps=steps, prompt=prompt, reason=reason)

    def inspect(self, tenant: str, run_id: str, *, private: bool = False) -> RunView:
        """Return a run like `get`, and add the previous run and the tenant's prices.

        This takes one more query, of at most 100 items, and one more read.

        Args:
            private: Whether the operator may see private content.

        Raises:
            NotFound: There is no such run in this tenant.
        """
        view = self.get(tenant, run_id)
        before = self.table.query(
            Query(
                view.run.key.pk,
                first=Run.PREFIX,
                last=view.run.key.sk,
                limit=ROWS_BEFORE,
                newest_first=True,
            )
        )
        runs = Run.each_of(item for item in before.items if not Step.is_stored_as(item))
        same = (
            run.id
            for run in runs
            if run.id != run_id and run.agent_id == view.run.agent_id and run.steps_taken
        )
        overrides = TenantSettings.from_optional(self.table.get(TenantSettings.key_of(tenant)))
        own = TenantOnlySettings.model_validate(overrides)
        return replace(
            view,
            previous_run_id=next(same, None),
            prices=own.prices,
            withheld=not own.operators_read_chats or (view.run.private and not private),
        )

    def of_agent(
        self,
        tenant: str,
        agent_id: str,
        *,
        day: date | None = None,
        limit: int = DEFAULT_PAGE,
        cursor: str | None = None,
    ) -> Listing[Run]:
        """List an agent's runs of one day, newest first, without prompts and steps.

        Args:
            agent_id: The id of the agent, which may be deleted.
            day: The day in UTC on which the runs were created; None for today.

        Raises:
            NotFound: The agent never existed in this tenant.
            Invalid: The cursor does not belong to this list.
        """
        if self.table.get(Agent.key_of(tenant, agent_id)) is None:
            raise NotFound("agent not found")
        return list_relation(
            self.table,
            runs_relation(tenant, agent_id, day or self.clock.now().date()),
            Run,
            of="runs",
            limit=limit,
            cursor=cursor,
            newest_first=True,
        )

    def previews(self, tenant: str, runs: Sequence[Run]) -> Mapping[str, RunPreview]:
        """Return previews of runs, by run id; empty if operators may not read the tenant's chats.

        This takes one batch read, of at most two messages for each run.

        Args:
            runs: Runs that the operator may see.
        """
        of_tenant = TenantSettings.key_of(tenant)
        asked = {run.id: _asked(run) for run in runs}
        posted = {run.id: _posted(run) for run in runs}
        keys = {each for each in (*asked.values(), *posted.values()) if each is not None}
        found = self.table.get_many([of_tenant, *sorted(keys)])
        overrides = TenantSettings.from_optional(found.get(of_tenant))
        own = TenantOnlySettings.model_validate(overrides)
        if not own.operators_read_chats:
            return {}
        texts = {key: Message.must_read(found, key) for key in keys if key in found}
        return {run.id: _preview(run, texts, asked[run.id], posted[run.id], own) for run in runs}

    def _membership(self, run: Run) -> Membership | None:
        if run.status != "queued" or run.chat_id is None:
            return None
        agent = MemberRef(kind="agent", id=run.agent_id)
        return Membership.read(self.table, Membership.key_of(run.tenant, run.chat_id, agent))


def _asked(run: Run) -> Key | None:
    if run.chat_id is None or run.trigger.seq is None:
        return None
    return Message.key_of(run.tenant, run.chat_id, run.trigger.seq)


def _posted(run: Run) -> Key | None:
    """Return the key of a run's final or newest message; None if it sent no message."""
    last = run.final_message or (run.sent[-1] if run.sent else None)
    return Message.key_of(run.tenant, last.chat_id, last.seq) if last is not None else None


def _preview(
    run: Run,
    texts: Mapping[Key, Message],
    asked: Key | None,
    posted: Key | None,
    own: TenantOnlySettings,
) -> RunPreview:
    question, answer = (texts.get(key) if key is not None else None for key in (asked, posted))
    used = [(run.model, run.usage)] if run.model is not None else []
    return RunPreview(
        by=question.sender if question else None,
        asked=question.text[:PREVIEW_CHARACTERS] if question else None,
        answered=answer.text[:PREVIEW_CHARACTERS] if answer else None,
        money=money_of(used, own.prices),
    )


def _as_queued(run: Run, member: Membership | None) -> Run:
    """Return a queued run with the trigger, chain depth and chain of its slot.

    Messages that extend a queued run are recorded only in its slot, on the agent's membership,
    until a worker claims the run.
    """
    slot = member.queued_run if member is not None else None
    if slot is None or slot.run_id != run.id:
        return run
    return run.model_copy(
        update={"trigger": slot.trigger, "chain_depth": slot.depth, "then": slot.then}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnRuns:
    """The service that reads an agent's runs of today and yesterday (UTC)."""

    table: Table
    clock: Clock

    def newest(
        self,
        tenant: str,
        agent_id: str,
        *,
        here: Chat | None,
        readers: Audience,
        status: RunStatus | None,
        limit: int,
    ) -> tuple[Run, ...]:
        """Return the agent's newest runs, among the last 50 of today and the last 50 of yesterday.

        Runs that are private, and that the readers may not see, are left out. Sent messages are
        left out of the runs if the readers may not see them, or if a reset hides them. This also
        applies to runs and messages in chats to which one of the readers is invited.

        Args:
            here: The chat in which the runs are shown; None for no chat.
            readers: The audience to which the runs are shown.
            status: Only runs with this status; None for all.
        """
        today = self.clock.now().date()
        keys = [
            Key(row["pk"], row["sk"])
            for day in (today, today - timedelta(days=1))
            for row in self.table.query(
                Query(
                    runs_relation(tenant, agent_id, day),
                    index="gsi1",
                    limit=INDEX_ROWS,
                    newest_first=True,
                )
            ).items
        ]
        found = self.table.get_many(keys) if keys else {}
        runs = Run.read_each(found, keys)
        shown = [
            run for run in runs if may_show(run.audience, readers) and status in {None, run.status}
        ][:limit]
        named = {sent.chat_id for run in shown for sent in run.sent}
        chat_ids = sorted(named | {run.chat_id for run in shown if run.chat_id is not None})
        chat_keys = [Chat.key_of(tenant, chat_id) for chat_id in chat_ids]
        items = self.table.get_many(chat_keys) if chat_keys else {}
        now, every = self.clock.now(), Chat.read_each(items)
        chats = {chat.id: chat for chat in every if not chat.awaits(readers, now)}
        hidden = {chat.id for chat in every} - chats.keys()
        return tuple(
            _as_shown(run, chats, here, readers) for run in shown if run.chat_id not in hidden
        )

    def get(self, tenant: str, agent_id: str, run_id: str, *, readers: Audience) -> Run:
        """Return one run of the agent.

        Raises:
            NotFound: The agent has no such run, or `readers` may not see the run.
        """
        try:
            run = Run.read(self.table, Run.key_of(tenant, run_id))
        except ValueError:
            run = None
        if run is None or run.agent_id != agent_id or not may_show(run.audience, readers):
            raise NotFound("run not found: you have no run with this id")
        return run


def _as_shown(run: Run, chats: Mapping[str, Chat], here: Chat | None, readers: Audience) -> Run:
    """Return the run without the sent messages that `readers` may not see in the chat `here`.

    Args:
        chats: The chats of the sent messages, by id.
        here: The chat in which the run is shown.
        readers: The readers to whom the run is shown.
    """
    sent = tuple(
        message
        for message in run.sent
        if may_show(message.audience, readers)
        and message.chat_id in chats
        and not chats[message.chat_id].hides(message.seq, run.created_at, here=here)
    )
    return run.model_copy(update={"sent": sent})
