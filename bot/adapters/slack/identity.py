"""Who the bot is in this workspace and what it may do there."""

from dataclasses import dataclass
from typing import Final

from slack_sdk import WebClient

from bot.adapters.slack.call import Caller
from bot.adapters.slack.web import FAILURES, open_client, translate
from bot.errors import ChatUnavailable

# What each scope of the bot token is for. ops/slack/manifest.yaml asks for these and the optional ones.
NEEDED_SCOPES: Final = {
    "app_mentions:read": "hear its own name",
    "channels:history": "hear orders in channels, and read back what was said while it was away",
    "channels:read": "check that it was invited to the channel",
    "chat:write": "post status cards, evidence and next steps",
    "files:read": "find a picture that it has shown already",
    "files:write": "show plots",
    "im:history": "hear orders in direct messages",
    "im:write": "remind people in direct messages",
    "metadata.message:read": "find a post again whose confirmation was lost, so that nothing is said twice",
    "reactions:read": "see reactions (they never start anything)",
    "reactions:write": "show that an order was seen, and what became of it",
    "usergroups:read": "know who is in the groups that may give orders",
    "users:read": "names and time zones, for quiet hours",
}
OPTIONAL_SCOPES: Final = {
    "groups:history": "the same in private channels",
    "groups:read": "the same in private channels",
    "im:read": "find direct messages that were written while it was away",
    "mpim:history": "the same in group messages",
}


@dataclass(frozen=True, kw_only=True)
class Identity:
    """What auth.test says. `scopes` is empty when Slack does not tell them."""

    team: str
    team_name: str
    bot_user: str
    bot_id: str
    url: str
    scopes: frozenset[str]

    def is_own(self, user: str, bot_id: str) -> bool:
        return user == self.bot_user or (bool(bot_id) and bot_id == self.bot_id)


@dataclass(frozen=True, kw_only=True)
class MissingScope:
    scope: str
    remedy: str


def identify(call: Caller) -> Identity:
    """Raises ChatUnavailable; `fatal` if the token is no good."""
    answer = call.read("auth.test")
    listed = next((v for k, v in answer.headers.items() if k.lower() == "x-oauth-scopes"), "")
    return Identity(
        team=str(answer["team_id"]),
        team_name=str(answer.get("team") or ""),
        bot_user=str(answer["user_id"]),
        bot_id=str(answer.get("bot_id") or ""),
        url=str(answer.get("url") or ""),
        scopes=frozenset(scope.strip() for scope in str(listed).split(",") if scope.strip()),
    )


def missing_scopes(identity: Identity) -> list[MissingScope]:
    """What the token lacks, each with what to do; in the order of NEEDED_SCOPES."""
    return [
        MissingScope(
            scope=scope,
            remedy=f"Add `{scope}` to the app (api.slack.com/apps > OAuth & Permissions > Bot Token Scopes, or paste "
            f"ops/slack/manifest.yaml again) and reinstall it. Without it the bot cannot {purpose}.",
        )
        for scope, purpose in NEEDED_SCOPES.items()
        if scope not in identity.scopes
    ]


def check_channel(call: Caller, channel: str) -> str:
    """The channel's name; raises ChatUnavailable with what to do when the bot cannot speak there."""
    told = call.read("conversations.info", channel=channel)["channel"]
    name = f"#{told.get('name') or channel}"
    if told.get("is_archived"):
        raise ChatUnavailable(f"{name} is archived: choose another channel", fatal=True, code="is_archived")
    if not told.get("is_member") and not told.get("is_im"):
        raise ChatUnavailable(f"not in {name}: /invite the app there", fatal=True, code="not_in_channel")
    return name


def check_app_token(app_token: str, base_url: str) -> None:
    """Asks for a Socket Mode address and leaves it unused. Raises ChatUnavailable with what to do."""
    ask_socket_url(open_client(app_token, base_url))


def ask_socket_url(client: WebClient, app_token: str | None = None) -> str:
    """One address, good for one connection. Raises ChatUnavailable."""
    try:
        return str(client.apps_connections_open(app_token=app_token or str(client.token))["url"])
    except FAILURES as error:
        trouble = translate(error, "Socket Mode")
        if trouble.code in ("invalid_auth", "not_allowed_token_type", "missing_scope"):
            raise ChatUnavailable(
                f"Socket Mode: {trouble.code}: the app token (xapp-) must be of this app and have the scope "
                "connections:write (api.slack.com/apps > Basic Information > App-Level Tokens)",
                fatal=True,
                code=trouble.code,
            ) from error
        raise trouble from error
