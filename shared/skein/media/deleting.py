"""Deletion of pictures and files: first the stored content in the bucket, then the item.

If a worker dies in between, the item remains. Its due pointer, or the erasure, starts the deletion
again.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from skein.models.chats.chat import chat_partition
from skein.models.chats.media import MediaFile, file_names
from skein.models.common.storage import Delete
from skein.models.outbox.jobs import MediaJob
from skein.ports import Files, Table
from skein.services.common.pagination import items_under


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaDeletion:
    """The service that deletes pictures and files.

    Args:
        files: Returns the file store. It is called only when needed, which is rare.
    """

    table: Table
    files: Callable[[], Files]

    def delete(self, file: MediaFile) -> None:
        """Delete a file and its item (idempotent)."""
        self.delete_stored(file.job)
        self.table.write(Delete(file.key))

    def delete_stored(self, job: MediaJob) -> None:
        """Delete a file's content in the bucket, even if its item is gone."""
        files = self.files()
        for name in file_names(job.tenant, job.chat_id, job.media_id):
            files.delete(name)

    def delete_of_message(self, tenant: str, chat_id: str, seq: int) -> int:
        """Delete the files of a message; return how many there were."""
        return self._delete_all(file for file in self._in_chat(tenant, chat_id) if file.seq == seq)

    def _in_chat(self, tenant: str, chat_id: str) -> Iterator[MediaFile]:
        items = items_under(self.table, chat_partition(tenant, chat_id), MediaFile.PREFIX)
        return MediaFile.each_of(items)

    def _delete_all(self, files: Iterable[MediaFile]) -> int:
        deleted = list(files)
        for file in deleted:
            self.delete(file)
        return len(deleted)
