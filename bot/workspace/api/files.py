"""files.*: the external upload in two steps, and looking a file up."""

import time

from bot.workspace.api.call import Call, method
from bot.workspace.content import Content, escape
from bot.workspace.refusal import Json, Refusal
from bot.workspace.roster import BOT_USER


@method("files.getUploadURLExternal", scope="files:write")
def get_upload_url(call: Call) -> Json:
    file_id = call.workspace.files.ask(call.args.get("filename"), call.args.get("length"))
    return {"upload_url": f"{call.workspace.base_url}/upload/v1/{file_id}", "file_id": file_id}


@method("files.completeUploadExternal", scope="files:write")
def complete_upload(call: Call) -> Json:
    asked = call.args.get("files")
    if not isinstance(asked, list) or not asked or not all(isinstance(f, dict) and f.get("id") for f in asked):
        raise Refusal("invalid_arguments", ["files must be an array of objects with an id"])
    workspace, now = call.workspace, int(time.time())
    named = [c for c in (call.text("channel_id") or call.text("channels") or "").split(",") if c]
    channels = [workspace.roster.joined(c) for c in named]
    files = [workspace.files.complete(f["id"], f.get("title"), workspace.base_url, now) for f in asked]
    comment = Content(text=escape(call.text("initial_comment") or ""), blocks=[], metadata=None)
    for channel in channels:
        workspace.post(channel, BOT_USER, comment, thread_ts=call.text("thread_ts"), files=files)
    return {"files": files}


@method("files.info", scope="files:read")
def info(call: Call) -> Json:
    file = call.workspace.files.files.get(call.need("file"))
    if file is None:
        raise Refusal("file_not_found")
    return {"file": file}
