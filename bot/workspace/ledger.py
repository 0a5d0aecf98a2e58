"""Every message of the workspace, and the rules by which Slack files, edits, deletes and threads them."""

import time
import uuid
from collections import defaultdict
from collections.abc import Callable

from bot.workspace import limits
from bot.workspace.archive import Archive
from bot.workspace.content import Content
from bot.workspace.refusal import Json, Refusal
from bot.workspace.roster import APP, BOT, BOT_USER, TEAM


class Ledger:
    """Messages by channel and ts, ephemeral ones apart. Tells nobody: see `workspace` for the events."""

    def __init__(self, archive: Archive, clock: Callable[[], float] = time.time) -> None:
        self._archive, self._clock, self._last_us = archive, clock, 0
        self._messages: dict[str, dict[str, Json]] = defaultdict(dict)
        self.ephemerals: dict[str, Json] = {}
        for message in archive.load("message"):
            self._messages[message["channel"]][message["ts"]] = message
            self._last_us = max(self._last_us, _microseconds(message["ts"]))
        for message in archive.load("ephemeral"):
            self.ephemerals[message["ts"]] = message
            self._last_us = max(self._last_us, _microseconds(message["ts"]))

    def stamp(self, age_s: float = 0.0) -> str:
        """A ts that no other message has; `age_s` seconds ago, for tests of old messages."""
        us = int((self._clock() - age_s) * 1e6)
        if age_s == 0.0:
            us = self._last_us = max(us, self._last_us + 1)
        return f"{us // 10**6}.{us % 10**6:06d}"

    def get(self, channel: str, ts: object) -> Json | None:
        return self._messages[channel].get(str(ts))

    def find(self, channel: str, ts: object) -> Json:
        """Raises Refusal message_not_found, also for a deleted parent of replies."""
        found = self.get(channel, ts)
        if found is None or found.get("subtype") == "tombstone":
            raise Refusal("message_not_found")
        return found

    def post(
        self,
        channel: str,
        user: str,
        content: Content,
        *,
        thread_ts: str | None = None,
        broadcast: bool = False,
        files: list[Json] | None = None,
        age_s: float = 0.0,
    ) -> Json:
        """Raises Refusal thread_not_found, invalid_thread_ts, cannot_reply_to_message."""
        parent = self._thread_parent(channel, thread_ts) if thread_ts else None
        ts = self.stamp(age_s)
        message: Json = {"type": "message", "user": user, "text": content.text, "ts": ts, "team": TEAM}
        message["channel"] = channel
        if content.blocks:
            message["blocks"] = content.blocks
        if content.metadata:
            message["metadata"] = content.metadata
        if files:
            message.update(files=files, upload=True)
        if user == BOT_USER:
            message.update(bot_id=BOT, app_id=APP, bot_profile={"id": BOT, "app_id": APP, "name": "pointsman"})
        else:
            message["client_msg_id"] = str(uuid.uuid4())
        if parent is not None:
            message["thread_ts"] = parent["ts"]
            if broadcast:
                message["subtype"] = "thread_broadcast"
            self._count_reply(parent, message)
        self._messages[channel][ts] = message
        self._save(message)
        return message

    def _thread_parent(self, channel: str, thread_ts: str) -> Json:
        if not _is_ts(thread_ts):
            raise Refusal("invalid_thread_ts", [f"{thread_ts} is not a valid thread_ts"])
        parent = self._messages[channel].get(thread_ts)
        if parent is None:
            raise Refusal("thread_not_found")
        if parent.get("thread_ts", thread_ts) != thread_ts:
            raise Refusal("cannot_reply_to_message")  # a reply cannot have a thread of its own
        return parent

    def _count_reply(self, parent: Json, reply: Json) -> None:
        parent["thread_ts"] = parent["ts"]
        parent["reply_count"] = parent.get("reply_count", 0) + 1
        parent["reply_users"] = sorted({*parent.get("reply_users", []), reply["user"]})
        parent["reply_users_count"] = len(parent["reply_users"])
        parent["latest_reply"] = max(reply["ts"], parent.get("latest_reply", ""))
        self._save(parent)

    def edit(self, channel: str, ts: object, user: str, content: Content, *, blocks_given: bool) -> tuple[Json, Json]:
        """(message, what it was). Text without blocks deletes the blocks; metadata stays unless given."""
        message = self.find(channel, ts)
        if message["user"] != user:
            raise Refusal("cant_update_message")
        before = dict(message)
        if content.text or not blocks_given:
            message["text"] = content.text
        if content.blocks:
            message["blocks"] = content.blocks
        else:
            message.pop("blocks", None)
        if content.metadata:
            message["metadata"] = content.metadata
        message["edited"] = {"user": user, "ts": self.stamp()}
        self._save(message)
        return message, before

    def delete(self, channel: str, ts: object, user: str) -> tuple[Json | None, Json]:
        """(tombstone left because of replies, or None; what the message was)."""
        message = self.find(channel, ts)
        if message["user"] != user:
            raise Refusal("cant_delete_message")
        before = dict(message)
        if message.get("reply_count"):
            for key in ("blocks", "metadata", "files", "reactions", "edited", "bot_id", "app_id", "bot_profile"):
                message.pop(key, None)
            message.update(subtype="tombstone", text="This message was deleted.", user="USLACKBOT", hidden=True)
            self._save(message)
            return message, before
        del self._messages[channel][message["ts"]]
        self._archive.remove("message", _key(message))
        if message.get("thread_ts"):
            self._uncount_reply(message)
        return None, before

    def _uncount_reply(self, reply: Json) -> None:
        parent = self._messages[reply["channel"]][reply["thread_ts"]]
        left = self.replies(reply["channel"], parent["ts"])
        if not left and parent.get("subtype") == "tombstone":
            del self._messages[reply["channel"]][parent["ts"]]  # a tombstone stands only while it has replies
            self._archive.remove("message", _key(parent))
            return
        for key in ("reply_count", "reply_users", "reply_users_count", "latest_reply", "thread_ts"):
            parent.pop(key, None)
        for other in left:
            self._count_reply(parent, other)
        self._save(parent)

    def react(self, channel: str, ts: object, user: str, name: str) -> Json:
        message = self.find(channel, ts)
        reactions = message.setdefault("reactions", [])
        found = next((r for r in reactions if r["name"] == name), None)
        if found and user in found["users"]:
            raise Refusal("already_reacted")
        if found:
            found["users"].append(user)
            found["count"] += 1
        elif len(reactions) >= limits.REACTIONS:
            raise Refusal("too_many_emoji")
        else:
            reactions.append({"name": name, "users": [user], "count": 1})
        self._save(message)
        return message

    def unreact(self, channel: str, ts: object, user: str, name: str) -> Json:
        message = self.find(channel, ts)
        found = next((r for r in message.get("reactions", []) if r["name"] == name and user in r["users"]), None)
        if found is None:
            raise Refusal("no_reaction")
        found["users"].remove(user)
        found["count"] -= 1
        message["reactions"] = [r for r in message["reactions"] if r["count"]]
        self._save(message)
        return message

    def roots(self, channel: str) -> list[Json]:
        """What the channel shows, oldest first: no thread replies, except those also sent to the channel."""
        shown = (m for m in self._messages[channel].values() if not _is_reply(m) or _is_broadcast(m))
        return sorted(shown, key=lambda m: m["ts"])

    def parent(self, message: Json) -> Json | None:
        """The message whose thread this one is a reply in."""
        return self._messages[message["channel"]].get(message["thread_ts"]) if _is_reply(message) else None

    def replies(self, channel: str, thread_ts: str) -> list[Json]:
        return sorted(
            (m for m in self._messages[channel].values() if _is_reply(m) and m["thread_ts"] == thread_ts),
            key=lambda m: m["ts"],
        )

    def whisper(self, channel: str, user: str, content: Content, thread_ts: str | None) -> Json:
        """An ephemeral message: one person sees it, no history holds it."""
        message: Json = {"type": "message", "subtype": "ephemeral", "user": BOT_USER, "bot_id": BOT}
        message.update(text=content.text, ts=self.stamp(), channel=channel, visible_to=user, is_ephemeral=True)
        if content.blocks:
            message["blocks"] = content.blocks
        if thread_ts:
            message["thread_ts"] = thread_ts
        self.ephemerals[message["ts"]] = message
        self._archive.save("ephemeral", message["ts"], message)
        return message

    def forget_whisper(self, ts: str) -> Json | None:
        self._archive.remove("ephemeral", ts)
        return self.ephemerals.pop(ts, None)

    def _save(self, message: Json) -> None:
        self._archive.save("message", _key(message), message)


def _key(message: Json) -> str:
    return f"{message['channel']} {message['ts']}"


def _is_reply(message: Json) -> bool:
    return bool(message.get("thread_ts", message["ts"]) != message["ts"])


def _is_broadcast(message: Json) -> bool:
    return bool(message.get("subtype") == "thread_broadcast")


def _is_ts(value: str) -> bool:
    seconds, dot, fraction = value.partition(".")
    return seconds.isdigit() and len(seconds) == 10 and dot == "." and fraction.isdigit() and len(fraction) == 6


def _microseconds(ts: str) -> int:
    seconds, _, fraction = ts.partition(".")
    return int(seconds) * 10**6 + int(fraction)
