"""Who is who: auth.test, users.*, usergroups.*; and apps.connections.open, which opens the socket."""

import uuid

from bot.workspace.api.call import Call, method
from bot.workspace.refusal import Json, Refusal
from bot.workspace.roster import APP, BOT, BOT_USER, TEAM, Group


@method("api.test", scope=None)
def api_test(call: Call) -> Json:
    return {"args": {k: v for k, v in call.args.items() if k != "token"}}


@method("auth.test", scope=None)
def auth_test(call: Call) -> Json:
    who = {"user": "pointsman", "user_id": BOT_USER, "bot_id": BOT, "team": "Local", "team_id": TEAM}
    return {**who, "url": f"{call.workspace.base_url}/", "is_enterprise_install": False}


@method("apps.connections.open", scope="connections:write", token="app")
def open_connection(call: Call) -> Json:
    ticket = uuid.uuid4().hex
    call.workspace.sockets.tickets.add(ticket)
    socket = call.workspace.base_url.replace("http://", "ws://", 1)
    return {"url": f"{socket}/link?ticket={ticket}&app_id={APP}"}


@method("users.info", scope="users:read")
def users_info(call: Call) -> Json:
    return {"user": call.workspace.roster.person(call.text("user") or "").public()}


@method("users.list", scope="users:read")
def users_list(call: Call) -> Json:
    people = [p.public() for p in call.workspace.roster.people.values()]
    return {"members": people, "response_metadata": {"next_cursor": ""}}


@method("usergroups.list", scope="usergroups:read")
def usergroups_list(call: Call) -> Json:
    return {"usergroups": [_public(g) for g in call.workspace.roster.groups.values()]}


@method("usergroups.users.list", scope="usergroups:read")
def usergroups_users_list(call: Call) -> Json:
    group = call.workspace.roster.groups.get(call.need("usergroup"))
    if group is None:
        raise Refusal("no_such_subteam")
    return {"users": group.members}


def _public(group: Group) -> Json:
    body: Json = {"id": group.id, "team_id": TEAM, "is_usergroup": True, "name": group.name}
    return {**body, "handle": group.handle, "user_count": len(group.members)}
