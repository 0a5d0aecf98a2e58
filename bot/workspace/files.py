"""Uploaded files: Slack's two-step upload, and what may be shown afterwards."""

import mimetypes
import uuid
from dataclasses import dataclass

from bot.workspace.archive import Archive
from bot.workspace.refusal import Json, Refusal
from bot.workspace.roster import BOT_USER


@dataclass(frozen=True, kw_only=True)
class Ticket:
    name: str
    length: int


class Files:
    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._tickets: dict[str, Ticket] = {}
        self.files: dict[str, Json] = {f["id"]: f for f in archive.load("file")}

    def ask(self, name: object, length: object) -> str:
        """The id under which `length` bytes may now be uploaded."""
        if not isinstance(name, str) or not name or not str(length or "").isdigit() or int(str(length)) == 0:
            raise Refusal("invalid_arguments", ["filename and a length above 0 are required"])
        file_id = "F" + uuid.uuid4().hex[:9].upper()
        self._tickets[file_id] = Ticket(name=name, length=int(str(length)))
        return file_id

    def receive(self, file_id: str, body: bytes) -> None:
        """Raises Refusal file_not_found, or when the length is not the one announced."""
        ticket = self._tickets.get(file_id)
        if ticket is None:
            raise Refusal("file_not_found")
        if len(body) != ticket.length:
            raise Refusal("file_upload_size_mismatch")
        self._archive.save_bytes(file_id, body)

    def complete(self, file_id: str, title: str | None, base_url: str, at: int) -> Json:
        ticket, body = self._tickets.pop(file_id, None), self._archive.load_bytes(file_id)
        if ticket is None or body is None:
            raise Refusal("file_not_found")
        mimetype = mimetypes.guess_type(ticket.name)[0] or "application/octet-stream"
        path = f"{base_url}/files/{file_id}"
        file = {
            "id": file_id,
            "name": ticket.name,
            "title": title or ticket.name,
            "mimetype": mimetype,
            "filetype": ticket.name.rpartition(".")[2].lower() or "binary",
            "size": len(body),
            "user": BOT_USER,
            "created": at,
            "url_private": path,
            "url_private_download": path,
            "permalink": path,
        }
        self.files[file_id] = file
        self._archive.save("file", file_id, file)
        return file

    def known(self, id_or_url: str) -> bool:
        """Whether a block's `slack_file` may name it."""
        return id_or_url.rpartition("/")[2] in self.files

    def body(self, file_id: str) -> tuple[Json, bytes]:
        body = self._archive.load_bytes(file_id) if file_id in self.files else None
        if body is None:
            raise Refusal("file_not_found")
        return self.files[file_id], body
