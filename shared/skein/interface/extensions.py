"""The extension points: what the subjects add to the core.

Each entry names a class by its module. The module is imported when the class is first needed, so
that no function loads the code of subjects that its events do not reach.
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
question. `consent/orders` is for a consent whose data has `orders`."""

DUE_EFFECTS: Mapping[str, str] = {
    "ERRAND": "skein.errands.models.errand.Errand",
    "FORGETREQUEST": "skein.privacy.models.forgetting.ForgetRequest",
    "FORGETTING": "skein.privacy.models.forgetting.Forgetting",
    "MEETING": "skein.errands.models.meeting.Meeting",
}
"""The items with the due kind `choice` that follow from an answer, by the kind
that their sort keys name. The tick sends the `job` of an item (`skein/services/outbox/tick.py`)."""


class RegisteredExtensions:
    """The classes that the subjects have registered."""

    def effect(self, purpose: str, data: Iterable[str]) -> type[Any]:
        """Return the class of the effect for a purpose, or for a purpose with certain data.

        Args:
            purpose: The purpose of a question.
            data: The names in its data.

        Raises:
            KeyError: No effect is registered.
        """
        special = (f"{purpose}/{name}" for name in data)
        name = next((name for name in special if name in EFFECTS), purpose)
        return _imported(EFFECTS[name])

    def due_effect(self, kind: str) -> type[Any] | None:
        """Return the class of an item that is due because of an answer; None if it is the core's.

        Args:
            kind: The kind of item that its sort key names.
        """
        path = DUE_EFFECTS.get(kind)
        return _imported(path) if path is not None else None


def _imported(path: str) -> type[Any]:
    module, _, name = path.rpartition(".")
    found: type[Any] = getattr(import_module(module), name)
    return found
