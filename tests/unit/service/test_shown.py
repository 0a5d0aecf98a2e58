"""What the terminal and the log show holds no secrets."""

import io
import json
import logging
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.adapters.store import open_store
from bot.cli import audit
from bot.cli.logs import MaskedLines
from bot.config import load_config
from bot.core.masking import MASK
from bot.core.orders import Order
from bot.service.chat import secret_values

DEMO = Path(__file__).parents[3] / "ops/pipelines/demo.yaml"
AT = datetime(2026, 1, 2, tzinfo=UTC)
SAID = "continue with p&ss-word7, password=hunter22 hf_abcdefghijklmnopqrstuv"


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A configuration whose host has a secret, and a database with one order that tells it."""
    monkeypatch.setenv("BOX_SECRET", "p&ss-word7")
    path = tmp_path / "pointsman.yaml"
    path.write_text(
        "version: 1\nslack: {channel: C1}\nhosts: {demo: {kind: local, secrets: [BOX_SECRET]}}\n"
        f"pipelines: [{DEMO}]\n"
        "database: sqlite:///bot.db\n"
    )
    store = open_store(load_config(path).database_url())
    store.claim("k", AT, {})
    [(event_id, _)] = store.pending_events()
    intents = ({"kind": "advance", "because": ["p&ss-word7"]},)
    order = Order(run="r1", claim="k#0", ts="1.0", who="U1", at=AT, text=SAID, intents=intents, outcome=f"no: {SAID}")
    store.note_order(event_id, "r1", order, (), AT, "done")
    store.close()
    return path


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_the_audit_shows_orders_without_secrets(
    config: Path, capsys: pytest.CaptureFixture[str], more: list[str]
) -> None:
    assert audit.main(["--config", str(config), *more]) == 0
    shown = capsys.readouterr().out
    assert f"continue with {MASK}, password={MASK} {MASK}" in shown
    assert "ss-word7" not in shown and "hunter22" not in shown
    if more:
        assert json.loads(shown)["who"] == "U1"
    assert audit.main(["--config", str(config), "verify"]) == 0, "what is kept stays as it was said"


def test_log_lines_and_tracebacks_hold_no_secrets(config: Path) -> None:
    lines = MaskedLines("%(levelname)s %(message)s")
    known = secret_values(load_config(config))
    lines.known = lambda: known
    handler = logging.StreamHandler(told := io.StringIO())
    handler.setFormatter(lines)
    log = logging.Logger("told")
    log.addHandler(handler)
    try:
        raise ValueError("the host said p&ss-word7")
    except ValueError:
        log.exception("launch with %s of r1, 3f9a1b2c4d5e", "HF_TOKEN=abcdef12")
    assert told.getvalue().startswith(f"ERROR launch with HF_TOKEN={MASK} of r1, 3f9a1b2c4d5e\nTraceback")
    assert told.getvalue().endswith(f"ValueError: the host said {MASK}\n")
