"""chat.*: posting, editing, deleting and whispering as the bot."""

from bot.workspace.api.call import Call, method
from bot.workspace.content import read_content
from bot.workspace.events import public_message
from bot.workspace.refusal import Json, Refusal
from bot.workspace.roster import BOT_USER, Channel


def _place(call: Call) -> Channel:
    """chat.postMessage also takes a channel's name and a person's id."""
    named, roster = call.text("channel") or "", call.workspace.roster
    by_name = next((c.id for c in roster.channels.values() if named == f"#{c.name}"), named)
    if by_name in roster.people:
        channel = roster.open_direct(by_name)
        call.workspace.keep(channel)
        return channel
    return roster.joined(by_name)


@method("chat.postMessage", scope="chat:write")
def post_message(call: Call) -> Json:
    channel = _place(call)
    content = read_content(call.args, call.workspace.rules)
    broadcast = call.flag("reply_broadcast")
    message = call.workspace.post(channel, BOT_USER, content, thread_ts=call.text("thread_ts"), broadcast=broadcast)
    return {"channel": channel.id, "ts": message["ts"], "message": public_message(message, metadata=True)}


@method("chat.update", scope="chat:write")
def update(call: Call) -> Json:
    channel, ts = call.channel(), call.need("ts")
    call.workspace.ledger.find(channel.id, ts)
    content = read_content(call.args, call.workspace.rules, update=True)
    message = call.workspace.edit(channel, BOT_USER, ts, content, blocks_given=bool(call.args.get("blocks")))
    public = public_message(message, metadata=True)
    return {"channel": channel.id, "ts": ts, "text": message["text"], "message": public}


@method("chat.delete", scope="chat:write")
def delete(call: Call) -> Json:
    channel, ts = call.channel(), call.need("ts")
    call.workspace.delete(channel, BOT_USER, ts)
    return {"channel": channel.id, "ts": ts}


@method("chat.postEphemeral", scope="chat:write")
def post_ephemeral(call: Call) -> Json:
    channel, user = call.channel(), call.need("user")
    if user not in channel.members:
        raise Refusal("user_not_in_channel")
    content = read_content(call.args, call.workspace.rules)
    message = call.workspace.whisper(channel, user, content, call.text("thread_ts"))
    return {"message_ts": message["ts"]}


@method("chat.getPermalink", scope=None)
def get_permalink(call: Call) -> Json:
    channel, ts = call.channel(), call.need("message_ts")
    message = call.workspace.ledger.find(channel.id, ts)
    thread = message.get("thread_ts") or ts
    return {"channel": channel.id, "permalink": f"{call.workspace.base_url}/#/{channel.id}/{thread}"}
