"""Requests to a server, with a deadline each."""

import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from typing import Any

from runner.protocol.errors import ServerError

# A proxy of the environment must not see what stays on this machine.
_direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def is_healthy(url: str) -> bool:
    try:
        with _direct.open(f"{url}/health", timeout=5.0) as answer:
            return bool(answer.status == 200)
    except (OSError, http.client.HTTPException):
        return False


def get_json(url: str, path: str, timeout_s: float = 30.0) -> Any:
    """Raises ServerError."""
    return _call(urllib.request.Request(f"{url}{path}"), timeout_s)


def generate(
    url: str,
    input_ids: Sequence[int],
    sampling: Mapping[str, Any],
    timeout_s: float = 600.0,
    partial: bool = False,
    **fields: Any,
) -> dict[str, Any]:
    """One request by token ids: the answer has `output_ids` and `meta_info`.

    `fields` are those of SGLang's /generate (rid, return_logprob, …). Raises ServerError: no connection, no answer
    in time, an error by the server, or an aborted request, unless `partial` takes what there was until then.
    """
    body = {"input_ids": list(input_ids), "sampling_params": dict(sampling), **fields}
    request = urllib.request.Request(f"{url}/generate", json.dumps(body).encode(), {"Content-Type": "application/json"})
    answer = _call(request, timeout_s)
    if not isinstance(answer, dict) or "meta_info" not in answer:
        raise ServerError(f"the server's answer is no generation: {str(answer)[:200]}")
    reason = answer["meta_info"].get("finish_reason") or {}
    if not partial and isinstance(reason, dict) and reason.get("type") == "abort":
        raise ServerError(f"the server aborted the request: {reason.get('message', reason)}")
    return answer


def post_json(url: str, path: str, body: Mapping[str, Any], timeout_s: float = 30.0) -> Any:
    """Raises ServerError. None when the answer is empty."""
    data = json.dumps(body).encode()
    return _call(urllib.request.Request(url + path, data, {"Content-Type": "application/json"}), timeout_s)


def _call(request: urllib.request.Request, timeout_s: float) -> Any:
    try:
        with _direct.open(request, timeout=timeout_s) as answer:
            said = answer.read()
            return json.loads(said) if said.strip() else None
    except urllib.error.HTTPError as error:
        words = error.read(2000).decode("utf-8", "replace")
        raise ServerError(f"the server answered {error.code} to {request.selector}: {words[:500]}") from error
    except (OSError, http.client.HTTPException) as error:
        raise ServerError(f"no answer from {request.full_url}: {error or type(error).__name__}") from error
    except ValueError as error:
        raise ServerError(f"no JSON from {request.full_url}: {error}") from error
