"""Citations: the passages of a tenant's sources on which an answer rests."""

from typing import Annotated

from pydantic import Field

from skein.models.common.base import Identifier, Value

MAX_CITED = 20  # of one message


class Citation(Value):
    """A passage of a source."""

    source_id: Annotated[Identifier, Field(description="The id of the source.")]
    version: Annotated[int, Field(description="The version of the source.")]
    place: Annotated[
        str, Field(max_length=300, description="Where it is: headings, a page or a row.")
    ] = ""
    url: Annotated[
        str | None, Field(max_length=2_000, description="The address of its page; null for none.")
    ] = None


class MarkedCitation(Citation):
    """A passage as a prompt or a tool showed it, with the mark by which the model cites it."""

    mark: str

    @property
    def plain(self) -> Citation:
        """The citation without its mark."""
        return Citation(**self.model_dump(exclude={"mark"}))
