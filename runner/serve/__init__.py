"""An SGLang server for as long as a stage needs it, and talking to it."""

from runner.serve.client import generate, get_json
from runner.serve.process import Server, launch, serve, wait_until_ready
from runner.serve.settings import CaptureSettings, DraftSettings, ServerSettings

__all__ = [
    "CaptureSettings",
    "DraftSettings",
    "Server",
    "ServerSettings",
    "generate",
    "get_json",
    "launch",
    "serve",
    "wait_until_ready",
]
