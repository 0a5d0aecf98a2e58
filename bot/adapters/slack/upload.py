"""The bytes of a file, to the address that Slack names for them."""

from urllib.request import HTTPSHandler, ProxyHandler, Request, build_opener

from slack_sdk import WebClient

from bot.adapters.slack.web import FAILURES, TIMEOUT_S
from bot.errors import ChatUnavailable


def send_bytes(client: WebClient, url: str, body: bytes) -> None:
    """Raises ChatUnavailable. Nothing is shown anywhere until the upload is completed."""
    if not url.startswith(("https://", "http://")):
        raise ChatUnavailable(f"upload: not an address: {url[:80]}", code="invalid_upload_url")
    proxies = {"http": client.proxy, "https": client.proxy} if client.proxy else {}
    opener = build_opener(ProxyHandler(proxies), HTTPSHandler(context=client.ssl))
    try:
        with opener.open(Request(url, data=body, method="POST"), timeout=TIMEOUT_S) as response:
            response.read()
    except FAILURES as error:
        raise ChatUnavailable(f"upload: {error}") from error
