"""Who and what is in the workspace: people, the bot, user groups, channels, tokens and scopes."""

from dataclasses import dataclass, field
from typing import Final

from bot.workspace.refusal import Json, Refusal

TEAM: Final = "T0LOCAL"
APP: Final = "A0LOCAL"
BOT: Final = "B0POINTSMAN"
BOT_USER: Final = "U0BOT"
OPERATOR: Final = "U0ADA"
SECOND_OPERATOR: Final = "U0BEN"
VIEWER: Final = "U0VERA"
GROUP: Final = "S0MLOPS"
RUNS: Final = "C0RUNS"
EVALS: Final = "C0EVALS"
RANDOM: Final = "C0RANDOM"  # the bot is not a member here
DIRECT: Final = "D0ADA"
BOT_TOKEN: Final = "xoxb-local-workspace"
APP_TOKEN: Final = "xapp-local-workspace"

SCOPES: Final = (
    "app_mentions:read",
    "channels:history",
    "channels:read",
    "chat:write",
    "files:read",
    "files:write",
    "im:history",
    "im:read",
    "im:write",
    "metadata.message:read",
    "reactions:read",
    "reactions:write",
    "usergroups:read",
    "users:read",
)


@dataclass(kw_only=True)
class Person:
    id: str
    name: str
    real_name: str
    title: str = ""
    tz: str = "Europe/Berlin"
    is_bot: bool = False

    def public(self) -> Json:
        profile = {"display_name": self.name, "real_name": self.real_name, "title": self.title}
        return {
            "id": self.id,
            "team_id": TEAM,
            "name": self.name,
            "real_name": self.real_name,
            "deleted": False,
            "is_bot": self.is_bot,
            "is_admin": False,
            "tz": self.tz,
            "profile": profile,
        }


@dataclass(kw_only=True)
class Channel:
    id: str
    name: str
    topic: str = ""
    members: set[str] = field(default_factory=set)
    direct: str | None = None  # the person on the other side of a direct message

    @property
    def kind(self) -> str:
        return "im" if self.direct else "channel"


@dataclass(kw_only=True)
class Group:
    id: str
    handle: str
    name: str
    members: list[str]


class Roster:
    """People, groups, channels and tokens; lookups raise Refusal with Slack's error."""

    def __init__(self) -> None:
        self.people = {p.id: p for p in _people()}
        self.groups = {GROUP: Group(id=GROUP, handle="ml-ops", name="ML Ops", members=[OPERATOR, SECOND_OPERATOR])}
        self.channels = {c.id: c for c in _channels()}
        self.tokens = {BOT_TOKEN: "bot", APP_TOKEN: "app"}
        self.revoked: set[str] = set()
        self.scopes = list(SCOPES)

    def person(self, user: str) -> Person:
        if user not in self.people:
            raise Refusal("user_not_found")
        return self.people[user]

    def channel(self, channel: str) -> Channel:
        """By id, or the direct message with a person by that person's id."""
        found = self.channels.get(channel) or self.direct(channel)
        if found is None:
            raise Refusal("channel_not_found")
        return found

    def direct(self, user: str) -> Channel | None:
        return next((c for c in self.channels.values() if c.direct == user), None)

    def open_direct(self, user: str) -> Channel:
        self.person(user)
        found = self.direct(user)
        if found is None:
            found = Channel(id="D" + user[1:], name=self.people[user].name, members={BOT_USER, user}, direct=user)
            self.channels[found.id] = found
        return found

    def joined(self, channel: str) -> Channel:
        """The channel, if the bot is in it; one it may not even see is not found."""
        found = self.channel(channel)
        if BOT_USER not in found.members:
            raise Refusal("channel_not_found" if found.direct else "not_in_channel")
        return found


def _people() -> list[Person]:
    return [
        Person(id=BOT_USER, name="pointsman", real_name="Pointsman", title="Runs the points", tz="UTC", is_bot=True),
        Person(id=OPERATOR, name="ada", real_name="Ada Reyes", title="Operator, drafter training"),
        Person(id=SECOND_OPERATOR, name="ben", real_name="Ben Okafor", title="Operator, serving"),
        Person(id=VIEWER, name="vera", real_name="Vera Lindt", title="Research, reads along"),
    ]


def _channels() -> list[Channel]:
    people = {OPERATOR, SECOND_OPERATOR, VIEWER}
    return [
        Channel(id=RUNS, name="ml-runs", topic="Extraction, training, benchmarks", members={BOT_USER, *people}),
        Channel(id=EVALS, name="ml-evals", topic="Figures and comparisons", members={BOT_USER, *people}),
        Channel(id=RANDOM, name="random", topic="The bot is not in here", members=people),
        Channel(id=DIRECT, name="ada", members={BOT_USER, OPERATOR}, direct=OPERATOR),
    ]
