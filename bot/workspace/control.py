"""The control plane: what people do in the workspace, what tests look at, and the faults they switch on.

JSON in and out, under /control; refusals are `{"ok": false, "error": ...}` with status 400.
  POST post         user text [channel thread_ts reply_broadcast age_s silent]  -> message
  POST edit         user ts text [channel]                                      -> message
  POST delete       user ts [channel]
  POST react        user ts name [channel remove]                               -> message
  POST click        user ts action_id [channel value times wait]                -> {acked: [bool]}
  POST direct       user                          opens the direct message with the bot
  POST invite       channel user [remove]         who is in a channel (the bot too)
  POST person       id name [real_name tz]        POST group  id handle members
  POST redeliver    ts [type attempt]             a recent event once more, in a new envelope
  POST fault        kind [method times ...]       see `faults`; POST faults/clear
  POST settings     [refused_blocks enforce_rates ack_timeout_s retry_delays_s scopes revoked]
  POST disconnect   reason [close_after_s]        POST drop (TCP reset)     POST raw  text (to the sockets)
  GET  roster | counters | envelopes
  GET  messages     ?channel                      what the channel shows, oldest first
  GET  thread       ?channel&ts                   parent and replies
  GET  ephemerals   [?user&channel]
  GET  changes      ?since&wait_s                 long poll -> {seq, boot, changes}
  GET  stream       ?since                        the same as server-sent events
`channel` is #ml-runs when left out.
"""

import json
from collections.abc import Awaitable, Callable

from aiohttp import web

from bot.workspace import events
from bot.workspace.content import read_content
from bot.workspace.emoji import EMOJI
from bot.workspace.refusal import Json, Refusal
from bot.workspace.roster import RUNS, Channel, Group, Person
from bot.workspace.workspace import Workspace

Act = Callable[[Json], Json | Awaitable[Json]]


class Control:
    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def routes(self) -> list[web.RouteDef]:
        acts: dict[str, Act] = {
            "post": self.post,
            "edit": self.edit,
            "delete": self.delete,
            "react": self.react,
            "click": self.click,
            "direct": self.direct,
            "invite": self.invite,
            "person": self.person,
            "group": self.group,
            "redeliver": self.redeliver,
            "fault": self.fault,
            "faults/clear": self.clear_faults,
            "settings": self.settings,
            "disconnect": self.disconnect,
            "drop": self.drop,
            "raw": self.raw,
        }
        looks: dict[str, Act] = {
            "roster": self.roster,
            "counters": lambda _: self._workspace.counters(),
            "envelopes": lambda _: {"envelopes": list(self._workspace.sockets.recent)},
            "messages": self.messages,
            "thread": self.thread,
            "ephemerals": self.ephemerals,
            "changes": self.changes,
        }
        posts = [web.post(f"/control/{name}", _as_handler(act)) for name, act in acts.items()]
        gets = [web.get(f"/control/{name}", _as_handler(look)) for name, look in looks.items()]
        return [*posts, *gets, web.get("/control/stream", self.stream)]

    def _channel(self, args: Json) -> Channel:
        return self._workspace.roster.channel(str(args.get("channel") or RUNS))

    def _who(self, args: Json, channel: Channel) -> str:
        user = self._workspace.roster.person(str(args.get("user"))).id
        if user not in channel.members:
            raise Refusal("not_in_channel")
        return user

    def post(self, args: Json) -> Json:
        channel = self._channel(args)
        return self._workspace.post(
            channel,
            self._who(args, channel),
            read_content({"text": args.get("text")}, self._workspace.rules),
            thread_ts=args.get("thread_ts"),
            broadcast=bool(args.get("reply_broadcast")),
            age_s=float(args.get("age_s") or 0.0),
            silent=bool(args.get("silent")),
        )

    def edit(self, args: Json) -> Json:
        channel = self._channel(args)
        content = read_content({"text": args.get("text")}, self._workspace.rules)
        return self._workspace.edit(channel, self._who(args, channel), args.get("ts"), content)

    def delete(self, args: Json) -> Json:
        channel = self._channel(args)
        self._workspace.delete(channel, self._who(args, channel), args.get("ts"))
        return {}

    def react(self, args: Json) -> Json:
        channel, name = self._channel(args), str(args.get("name"))
        if name not in EMOJI:
            raise Refusal("invalid_name")
        remove = bool(args.get("remove"))
        return self._workspace.react(channel, self._who(args, channel), args.get("ts"), name, remove=remove)

    async def click(self, args: Json) -> Json:
        """`acked` says for each press whether the app acked in time; else people see a warning sign."""
        channel, sockets = self._channel(args), self._workspace.sockets
        user = self._who(args, channel)
        message = self._workspace.ledger.ephemerals.get(str(args.get("ts")))
        if message is not None and message["visible_to"] != user:
            raise Refusal("message_not_found")
        message = message or self._workspace.ledger.find(channel.id, args.get("ts"))
        button = events.find_button(message, str(args.get("action_id")), args.get("value"))
        if button is None:
            raise Refusal("no_such_button")
        payloads = [self._workspace.click(channel, user, message, button) for _ in range(int(args.get("times") or 1))]
        acks = [sockets.send("interactive", payload) for payload in payloads]
        if args.get("wait") is False:
            return {"acked": []}
        return {"acked": [await ack is not None for ack in acks]}

    def direct(self, args: Json) -> Json:
        channel = self._workspace.roster.open_direct(str(args.get("user")))
        self._workspace.keep(channel)
        return {"channel": channel.id}

    def invite(self, args: Json) -> Json:
        channel, user = self._channel(args), self._workspace.roster.person(str(args.get("user"))).id
        (channel.members.discard if args.get("remove") else channel.members.add)(user)
        self._workspace.keep(channel)
        return {"members": sorted(channel.members)}

    def person(self, args: Json) -> Json:
        name = str(args["name"])
        person = Person(id=str(args["id"]), name=name, real_name=str(args.get("real_name") or name.title()))
        person.tz = str(args.get("tz") or person.tz)
        self._workspace.roster.people[person.id] = person
        self._channel(args).members.add(person.id)
        self._workspace.keep(self._channel(args))
        return person.public()

    def group(self, args: Json) -> Json:
        group = Group(id=str(args["id"]), handle=str(args["handle"]), name=str(args["handle"]), members=args["members"])
        self._workspace.roster.groups[group.id] = group
        self._workspace.changes.note("roster")
        return {}

    def redeliver(self, args: Json) -> Json:
        kind, ts = args.get("type", "message"), args.get("ts")
        for sent in reversed(self._workspace.sockets.recent):
            event = sent["payload"].get("event") or {}
            if event.get("type") == kind and event.get("ts") == ts:
                attempt = int(args.get("attempt") or 0)
                self._workspace.sockets.send("events_api", sent["payload"], forced_attempt=attempt)
                return {"event_id": sent["payload"]["event_id"]}
        raise Refusal("message_not_found")

    def fault(self, args: Json) -> Json:
        self._workspace.faults.add(args)
        return {}

    def clear_faults(self, args: Json) -> Json:
        self._workspace.faults.clear()
        return {}

    def settings(self, args: Json) -> Json:
        faults, sockets, roster = self._workspace.faults, self._workspace.sockets, self._workspace.roster
        for key, value in args.items():
            match key:
                case "refused_blocks":
                    faults.refused_blocks = frozenset(value)
                case "enforce_rates":
                    faults.enforce_rates = bool(value)
                case "ack_timeout_s":
                    sockets.ack_timeout_s = float(value)
                case "retry_delays_s":
                    sockets.retry_delays_s = tuple(float(v) for v in value)
                case "scopes":
                    roster.scopes = list(value)
                case "revoked":
                    roster.revoked = set(value)
                case _:
                    raise Refusal("invalid_arguments", [f"unknown setting: {key}"])
        return {}

    async def disconnect(self, args: Json) -> Json:
        await self._workspace.sockets.disconnect(str(args.get("reason")), args.get("close_after_s"))
        return {}

    def drop(self, args: Json) -> Json:
        return {"dropped": self._workspace.sockets.drop()}

    async def raw(self, args: Json) -> Json:
        for connection in self._workspace.sockets.connections:
            await connection.socket.send_str(str(args.get("text")))
        return {}

    def roster(self, args: Json) -> Json:
        roster = self._workspace.roster
        channels = [
            {"id": c.id, "name": c.name, "topic": c.topic, "direct": c.direct, "members": sorted(c.members)}
            for c in roster.channels.values()
        ]
        groups = [{"id": g.id, "handle": g.handle, "members": g.members} for g in roster.groups.values()]
        return {"people": [p.public() for p in roster.people.values()], "channels": channels, "groups": groups}

    def messages(self, args: Json) -> Json:
        return {"messages": self._workspace.ledger.roots(self._channel(args).id), **self._place()}

    def thread(self, args: Json) -> Json:
        channel, ts, ledger = self._channel(args), str(args.get("ts")), self._workspace.ledger
        parent = [m for m in ledger.roots(channel.id) if m["ts"] == ts]
        return {"messages": parent + ledger.replies(channel.id, ts), **self._place()}

    def ephemerals(self, args: Json) -> Json:
        wanted = {"visible_to": args.get("user"), "channel": args.get("channel")}
        found = [
            m
            for _, m in sorted(self._workspace.ledger.ephemerals.items())
            if all(v is None or m[k] == v for k, v in wanted.items())
        ]
        return {"messages": found}

    def _place(self) -> Json:
        return {"seq": self._workspace.changes.seq, "boot": self._workspace.changes.boot}

    async def changes(self, args: Json) -> Json:
        since, wait_s = int(args.get("since") or 0), min(float(args.get("wait_s") or 0.0), 60.0)
        found = await self._workspace.changes.wait(since, wait_s)
        return {"changes": found, **self._place()}

    async def stream(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"})
        await response.prepare(request)
        seq = int(request.headers.get("Last-Event-ID") or request.query.get("since") or 0)
        while not self._workspace.changes.closed:
            try:
                for change in await self._workspace.changes.wait(seq, 15.0):
                    seq = change["seq"]
                    await response.write(f"id: {seq}\ndata: {json.dumps(change)}\n\n".encode())
                await response.write(b": still here\n\n")
            except ConnectionError:
                break
        return response


def _as_handler(act: Act) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    async def handle(request: web.Request) -> web.StreamResponse:
        try:
            args = await request.json() if request.method == "POST" else dict(request.query)
            result = act(args)
            body = result if isinstance(result, dict) else await result
        except Refusal as refusal:
            return web.json_response(refusal.body(), status=400)
        except (ValueError, KeyError, TypeError) as error:
            return web.json_response(Refusal("invalid_arguments", [repr(error)]).body(), status=400)
        return web.json_response(body)

    return handle
