"""The workspace: what people and the app do in it, and who hears of it. Lives on one event loop."""

import time
from collections import Counter
from pathlib import Path

from bot.workspace import events, limits
from bot.workspace.answers import Answers
from bot.workspace.archive import Archive
from bot.workspace.changes import Changes
from bot.workspace.content import Content, Rules
from bot.workspace.delivery import Sockets
from bot.workspace.faults import Faults
from bot.workspace.files import Files
from bot.workspace.ledger import Ledger
from bot.workspace.refusal import Json
from bot.workspace.roster import BOT_USER, Channel, Roster


class Workspace:
    def __init__(
        self,
        state: Path | None = None,
        *,
        ack_timeout_s: float = limits.ACK_TIMEOUT_S,
        retry_delays_s: tuple[float, ...] = limits.RETRY_DELAYS_S,
        enforce_rates: bool = False,
    ) -> None:
        self.archive = Archive(state)
        self.roster = Roster()
        for saved in self.archive.load("channel"):
            self.roster.channels[saved["id"]] = Channel(**{**saved, "members": set(saved["members"])})
        self.ledger = Ledger(self.archive)
        self.files = Files(self.archive)
        self.faults = Faults(enforce_rates=enforce_rates)
        self.sockets = Sockets(self.faults, ack_timeout_s, retry_delays_s)
        self.changes = Changes()
        self.answers = Answers()
        self.calls: Counter[str] = Counter()
        self.refusals: Counter[str] = Counter()
        self.base_url = ""

    @property
    def rules(self) -> Rules:
        return Rules(known_file=self.files.known, refused_types=self.faults.refused_blocks)

    def keep(self, channel: Channel) -> None:
        """Saves a channel that was opened or whose members changed."""
        body = {"id": channel.id, "name": channel.name, "topic": channel.topic, "direct": channel.direct}
        self.archive.save("channel", channel.id, {**body, "members": sorted(channel.members)})
        self.changes.note("roster")

    def post(
        self,
        channel: Channel,
        user: str,
        content: Content,
        *,
        thread_ts: str | None = None,
        broadcast: bool = False,
        files: list[Json] | None = None,
        age_s: float = 0.0,
        silent: bool = False,
    ) -> Json:
        """A message by anyone; `silent` ones reach the history but no event tells of them."""
        message = self.ledger.post(
            channel.id, user, content, thread_ts=thread_ts, broadcast=broadcast, files=files, age_s=age_s
        )
        self._changed(message)
        if not silent:
            self._tell(channel, events.message_event(message, channel))
            if user != BOT_USER and not channel.direct and f"<@{BOT_USER}>" in message["text"]:
                self._tell(channel, events.mention_event(message, channel))
        return message

    def edit(self, channel: Channel, user: str, ts: object, content: Content, *, blocks_given: bool = False) -> Json:
        message, before = self.ledger.edit(channel.id, ts, user, content, blocks_given=blocks_given)
        self._changed(message)
        self._tell(channel, events.changed_event(message, before, channel, message["edited"]["ts"]))
        return message

    def delete(self, channel: Channel, user: str, ts: object) -> None:
        tombstone, before = self.ledger.delete(channel.id, ts, user)
        stamp = self.ledger.stamp()
        if tombstone is not None:
            self._changed(tombstone)
            self._tell(channel, events.changed_event(tombstone, before, channel, stamp))
            return
        self.changes.note("deleted", channel=channel.id, ts=before["ts"], thread_ts=before.get("thread_ts"))
        self._tell(channel, events.deleted_event(before, channel, stamp))
        if parent := self.ledger.parent(before):
            self._changed(parent)
        elif before.get("thread_ts"):
            self.changes.note("deleted", channel=channel.id, ts=before["thread_ts"])

    def react(self, channel: Channel, user: str, ts: object, name: str, *, remove: bool = False) -> Json:
        change = self.ledger.unreact if remove else self.ledger.react
        message = change(channel.id, ts, user, name)
        self._changed(message)
        kind = "reaction_removed" if remove else "reaction_added"
        self._tell(channel, events.reaction_event(kind, user, name, message, self.ledger.stamp()))
        return message

    def whisper(self, channel: Channel, user: str, content: Content, thread_ts: str | None = None) -> Json:
        message = self.ledger.whisper(channel.id, user, content, thread_ts)
        self.changes.note("ephemeral", channel=channel.id, message=message)
        return message

    def forget_whisper(self, ts: str) -> None:
        message = self.ledger.forget_whisper(ts)
        if message is not None:
            self.changes.note("ephemeral_deleted", channel=message["channel"], ts=ts)

    def click(self, channel: Channel, user: str, message: Json, button: Json) -> Json:
        """The interactive payload of one press of a button, with a response URL of its own."""
        person = self.roster.person(user)
        token = self.answers.issue(channel.id, message["ts"], user, message.get("thread_ts"))
        kept = ("type", "action_id", "block_id", "text", "value", "style")
        action = {k: v for k, v in button.items() if k in kept}
        action["action_ts"] = self.ledger.stamp()
        return events.block_actions(action, message, channel, person, f"{self.base_url}/actions/{token}")

    def _tell(self, channel: Channel, event: Json) -> None:
        if BOT_USER in channel.members:
            self.sockets.send("events_api", events.event_callback(event))

    def _changed(self, message: Json) -> None:
        """A reply also changes its parent's reply count."""
        self.changes.note("message", channel=message["channel"], message=message)
        if parent := self.ledger.parent(message):
            self.changes.note("message", channel=message["channel"], message=parent)

    def counters(self) -> Json:
        return {
            "calls": dict(self.calls),
            "refusals": dict(self.refusals),
            "deliveries": dict(self.sockets.counters),
            "connections": len(self.sockets.connections),
            "at": time.time(),
        }
