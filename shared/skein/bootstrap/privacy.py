"""Services for exports and erasures of a person's data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skein.bootstrap.background import Background
from skein.bootstrap.part import part

if TYPE_CHECKING:
    from skein.services.privacy.erasure_requests import Erasures
    from skein.services.privacy.erasure_worker import Eraser
    from skein.services.privacy.export import Exports
    from skein.services.runs.completion import RunCompletion


class Privacy(Background):
    """The services for erasures and exports."""

    @part
    def completion(self) -> RunCompletion:
        """The service that ends runs."""
        from skein.services.runs.completion import RunCompletion

        return RunCompletion(
            table=self.table,
            clock=self.clock,
            ids=self.ids,
            dispatch=self.dispatch,
            metrics=self.metrics,
            settings=self.settings,
        )

    @part
    def erasures(self) -> Erasures:
        """The service by which operators request and view erasures."""
        from skein.services.privacy.erasure_requests import Erasures

        return Erasures(table=self.table, clock=self.clock, ids=self.ids, dispatch=self.dispatch)

    @part
    def eraser(self) -> Eraser:
        """The erasure worker."""
        from skein.services.privacy.erasure_agent_data import KeptEraser
        from skein.services.privacy.erasure_memberships import Places
        from skein.services.privacy.erasure_messages import ChatEraser
        from skein.services.privacy.erasure_run_search import RunSearch
        from skein.services.privacy.erasure_runs import RunEraser
        from skein.services.privacy.erasure_worker import Eraser

        runs = RunEraser(table=self.table, completion=self.completion)
        return Eraser(
            table=self.table,
            clock=self.clock,
            dispatch=self.dispatch,
            places=Places(table=self.table, clock=self.clock, completion=self.completion),
            chats=ChatEraser(table=self.table, runs=runs),
            kept=KeptEraser(
                table=self.table,
                clock=self.clock,
                documents=self.documents,
                settings=self.settings,
            ),
            runs=RunSearch(table=self.table, runs=runs),
        )

    @part
    def exports(self) -> Exports:
        """The export of all data about a person."""
        from skein.services.privacy.export import Exports

        return Exports(table=self.table)
