"""One training run from settings to result."""

from collections.abc import Sequence
from typing import Any

from runner.stage import status, write_result
from runner.train.batches import Source
from runner.train.config import TrainConfig
from runner.train.features import open_features
from runner.train.finish import Captured, finish, memory, write_plan
from runner.train.guards import Alarm, look_at_layers
from runner.train.loop import Loop
from runner.train.ranks import Ranks
from runner.train.setup import prepare


def train(config: TrainConfig) -> None:
    """Open the features and train. Raises StageError."""
    source, captured = open_features(config)
    alarms = list(look_at_layers(config.target, source.features)) if config.check_layers else []
    train_on(config, source, captured, alarms)


def train_on(config: TrainConfig, source: Source, captured: Captured, alarms: Sequence[Alarm] = ()) -> dict[str, Any]:
    """Train on `source`; the first rank exports and writes `result.json`."""
    ranks = Ranks.join(config.device)
    try:
        config.out.mkdir(parents=True, exist_ok=True)
        session = prepare(config, source, len(captured.indices), ranks)
        loop = Loop(session, status())
        loop.notice(alarms)
        if ranks.first:
            write_plan(session, captured)
        loop.run()
        held = memory(session)
        if not ranks.first:
            return {}
        numbers = finish(loop) | held
        write_result(config.out, "train", **numbers)
        status().update("done", message=f"{numbers['steps']} steps, drafter in {numbers['draft']}", force=True)
        return numbers
    finally:
        ranks.leave()
