"""The Web API client as the bot uses it, and what its failures mean: translated here, once."""

import logging
from http.client import HTTPException
from typing import Final
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import proxy_bypass

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError, SlackClientError

from bot.errors import ChatUnavailable

TIMEOUT_S: Final = 10
RATE_LIMIT_S: Final = 30.0  # when Slack does not say how long
FAILURES: Final = (SlackClientError, OSError, HTTPException, ValueError)

# Nothing works before a person repairs something, and what he has to do.
_REMEDIES: Final = {
    "account_inactive": "the app or its bot user was removed; install it again",
    "invalid_auth": "the token is wrong, or of another workspace; copy it anew",
    "missing_scope": "the app lacks a scope; `python -m bot check` names it",
    "no_permission": "the workspace does not let the app do this",
    "not_allowed_token_type": "the bot token (xoxb-) and the app token (xapp-) are mixed up",
    "not_authed": "no token was given",
    "org_login_required": "the workspace is being moved by Slack; nothing to do but wait",
    "token_expired": "the token has expired; install the app again",
    "token_revoked": "the token was revoked; install the app again and put the new token in place",
    "channel_not_found": "no such channel, or the app was not invited to it",
    "is_archived": "the channel is archived",
    "not_in_channel": "invite the app to the channel",
    "restricted_action": "an administrator restricted who may post there",
    "socket_mode_disabled": "switch Socket Mode on in the app's settings",
}
_OF_THE_APP: Final = (
    "account_inactive",
    "invalid_auth",
    "not_allowed_token_type",
    "not_authed",
    "org_login_required",
    "token_expired",
    "token_revoked",
)
_OUTCOME_UNKNOWN: Final = (
    "fatal_error",
    "internal_error",
    "service_unavailable",
    "request_timeout",
    "team_added_to_org",
)


def open_client(token: str | None, base_url: str) -> WebClient:
    """A client that never repeats a request by itself: the SDK's handlers post twice when a reply is lost."""
    client = WebClient(
        token, base_url=base_url, timeout=TIMEOUT_S, retry_handlers=[], logger=logging.getLogger("bot.slack")
    )
    if bypasses_proxy(base_url):
        client.proxy = None  # the SDK takes HTTP_PROXY and does not know NO_PROXY
    return client


def bypasses_proxy(url: str) -> bool:
    """Whether NO_PROXY names the host."""
    return bool(proxy_bypass(urlsplit(url).hostname or ""))


def translate(error: Exception, doing: str) -> ChatUnavailable:
    """`code` is Slack's own word, "" when it is not known whether the call was carried out."""
    if not isinstance(error, SlackApiError):
        cut = isinstance(error, URLError)  # urllib's word for a request that could not be sent
        return ChatUnavailable(f"{doing}: no answer from Slack ({error or type(error).__name__})", whole=cut)
    response = error.response
    status, code = response.status_code, str(response.get("error") or "")
    if status == 429 or code in ("ratelimited", "rate_limited"):
        return ChatUnavailable(
            f"{doing}: rate limited", retry_after_s=_retry_after_s(response.headers), code="ratelimited"
        )
    if status >= 500 or code in _OUTCOME_UNKNOWN or not code.replace("_", "").isalnum():
        return ChatUnavailable(
            f"{doing}: Slack is in trouble (HTTP {status}{', ' + code if code in _OUTCOME_UNKNOWN else ''})"
        )
    remedy = _REMEDIES.get(code)
    needed = f" ({response['needed']})" if code == "missing_scope" and response.get("needed") else ""
    return ChatUnavailable(
        f"{doing}: {code}{needed}" + (f": {remedy}" if remedy else ""),
        fatal=remedy is not None,
        code=code,
        whole=code in _OF_THE_APP,
    )


def _retry_after_s(headers: dict[str, str]) -> float:
    told = next((value for name, value in headers.items() if name.lower() == "retry-after"), "")
    try:
        return max(float(told), 1.0)
    except ValueError:
        return RATE_LIMIT_S
