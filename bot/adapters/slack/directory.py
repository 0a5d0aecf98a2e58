"""People and user groups, remembered for a while."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from bot.adapters.slack.call import Caller
from bot.errors import ChatUnavailable

GROUP_FRESH_S: Final = 300.0
GROUP_USABLE_S: Final = 3_600.0  # when Slack cannot be asked: who left the group keeps his rights no longer
PERSON_FRESH_S: Final = 3_600.0


@dataclass(frozen=True, kw_only=True)
class Person:
    """`tz` is an IANA name, "" when Slack does not tell."""

    id: str
    name: str
    tz: str
    is_bot: bool


class Directory:
    """Look-ups for any number of threads; a look-up may cost a call and raise ChatUnavailable."""

    def __init__(self, call: Caller, now: Callable[[], float] = time.monotonic) -> None:
        self._call = call
        self._now = now
        self._groups: dict[str, tuple[float, frozenset[str]]] = {}
        self._people: dict[str, tuple[float, Person]] = {}
        self._lock = threading.Lock()

    def members(self, group: str) -> frozenset[str]:
        """The user ids in a user group (`S...`); empty if there is no such group."""
        with self._lock:
            asked_at, known = self._groups.get(group, (float("-inf"), frozenset[str]()))
        age_s = self._now() - asked_at
        if age_s < GROUP_FRESH_S:
            return known
        try:
            found = frozenset(map(str, self._call.read("usergroups.users.list", usergroup=group)["users"]))
        except ChatUnavailable as trouble:
            if trouble.code == "no_such_subteam":
                found = frozenset()
            elif age_s < GROUP_USABLE_S:
                return known
            else:
                raise
        with self._lock:
            self._groups[group] = (self._now(), found)
        return found

    def person(self, user: str) -> Person:
        """Remembered beyond its time when Slack cannot be asked."""
        with self._lock:
            asked_at, known = self._people.get(user, (float("-inf"), None))
        if known and self._now() - asked_at < PERSON_FRESH_S:
            return known
        try:
            told = self._call.read("users.info", user=user)["user"]
        except ChatUnavailable:
            if known:
                return known
            raise
        profile = told.get("profile") or {}
        name = profile.get("display_name") or profile.get("real_name") or told.get("name") or user
        person = Person(id=user, name=str(name), tz=str(told.get("tz") or ""), is_bot=bool(told.get("is_bot")))
        with self._lock:
            self._people[user] = (self._now(), person)
        return person
