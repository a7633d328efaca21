"""Decide who may act in a chat: its owners, or operators if the chat has no owner."""

from typing import NamedTuple

from skein.errors import Forbidden, NotFound
from skein.models.chats.chat import Chat
from skein.models.common.base import MemberRef


class Actor(NamedTuple):
    """The person who changes a chat or its members.

    Attributes:
        ref: The person.
        operator: Whether the person is also an operator with the role `owner`.
    """

    ref: MemberRef
    operator: bool = False

    def acts_for_owner(self, chat: Chat) -> bool:
        """Whether the person is an operator and the chat has no owner."""
        return self.operator and not chat.owned

    def check_admitted(self, chat: Chat) -> None:
        """Check that the person is a member of a chat, or acts for an owner.

        Raises:
            NotFound: The person may not act in the chat, so the chat must look as if it did not
                exist.
        """
        if not chat.has(self.ref) and not self.acts_for_owner(chat):
            raise NotFound("chat not found")

    def check_owns(self, chat: Chat) -> None:
        """Check that the person owns a chat, or acts for an owner.

        Raises:
            NotFound: The person is not a member, so the chat must look as if it did not exist.
            Forbidden: The person is a member but not an owner.
        """
        self.check_admitted(chat)
        if chat.role_of(self.ref) == "owner" or self.acts_for_owner(chat):
            return
        if chat.owned:
            raise Forbidden("only an owner of the chat can do this")
        raise Forbidden("the chat has no owner, so only an operator can do this")

    def as_shown(self, chat: Chat) -> Chat:
        """Return a chat as the person may see it: an operator sees no title and no summary."""
        if chat.has(self.ref):
            return chat
        return chat.model_copy(update={"title": None, "summary": None})
