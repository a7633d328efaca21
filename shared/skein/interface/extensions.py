"""Extension points: classes that packages such as `memory` or `errands` register with the core.

Each entry is the import path of a class. The module is imported when the class is first needed, so
that a Lambda function does not load code that its events never use.
"""

from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any

EFFECTS: Mapping[str, str] = {
    "question": "skein.services.choices.effects.QuestionEffect",
    "consent": "skein.services.choices.effects.ConsentEffect",
    "consent/orders": "skein.errands.effects.OrderEffect",
    "errand": "skein.errands.effects.ErrandEffect",
    "forgetting": "skein.privacy.effects.ForgettingEffect",
    "invitation": "skein.services.choices.effects.InvitationEffect",
    "number": "skein.inbound.effects.NumberEffect",
    "tool": "skein.own_tools.effects.CallEffect",
}
"""The effect of an answer to a question (`skein/services/choices/effect.py`), by the purpose of the
question. `consent/orders` is for questions with the purpose `consent` whose data has `orders`."""

DUE_ITEMS: Mapping[str, str] = {
    "choice/ERRAND": "skein.errands.models.errand.Errand",
    "choice/FORGETREQUEST": "skein.privacy.models.forgetting.ForgetRequest",
    "choice/FORGETTING": "skein.privacy.models.forgetting.Forgetting",
    "choice/MEETING": "skein.errands.models.meeting.Meeting",
    "event/META": "skein.events.models.event.EventLane",
    "outreach/META": "skein.outreach.models.outreach.Outreach",
    "source/SOURCE": "skein.knowledge.models.source.Source",
    "visit/META": "skein.identity.models.visit.Visit",
    "outreach/PERSON": "skein.outreach.models.outreach.OutreachPerson",
    "trial/TRIAL": "skein.trials.models.trial.Trial",
}
"""The due items of subjects, by the kind of the due pointer and the kind in the sort key. When an
item is due, the tick sends its `job` (`skein/services/outbox/tick.py`)."""


class RegisteredExtensions:
    """Finds the registered classes."""

    def effect(self, purpose: str, data: Iterable[str]) -> type[Any]:
        """Return the effect class that carries out the answers to a kind of question.

        An effect can be registered for a purpose, or for a purpose together with a name in the
        question's data. The latter takes precedence.

        Args:
            purpose: The purpose of a question.
            data: The names in the question's data.

        Raises:
            KeyError: No effect is registered.
        """
        special = (f"{purpose}/{name}" for name in data)
        name = next((name for name in special if name in EFFECTS), purpose)
        return _imported(EFFECTS[name])

    def due_item(self, due: str, kind: str) -> type[Any] | None:
        """Return the class of a due item, which has a `job`; None for items of the core.

        Args:
            due: The kind of the item's due pointer.
            kind: The kind of item, which is part of the item's sort key.
        """
        path = DUE_ITEMS.get(f"{due}/{kind}")
        return _imported(path) if path is not None else None


def _imported(path: str) -> type[Any]:
    module, _, name = path.rpartition(".")
    found: type[Any] = getattr(import_module(module), name)
    return found
