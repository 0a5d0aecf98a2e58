"""The emoji short codes that reactions may use and the page can draw: one list for both."""

import json
from pathlib import Path
from typing import Final

EMOJI: Final[dict[str, str]] = json.loads((Path(__file__).parent / "page" / "emoji.json").read_text("utf-8"))
