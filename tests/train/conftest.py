from pathlib import Path

import pytest
import torch

from tests.train import tiny


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)


@pytest.fixture(scope="session")
def shared_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Target, features and vocabulary of a small world; read only."""
    from runner import vocab

    root = tmp_path_factory.mktemp("world")
    target = tiny.write_target(root / "target")
    tiny.write_features(root / "features", tiny.make_samples(target, 24))
    code = vocab.main(["--features", str(root / "features"), "--out", str(root / "vocab"), "--draft-vocab", "88"])
    assert code == 0
    return root


@pytest.fixture
def root(shared_root: Path, tmp_path: Path) -> Path:
    """A folder of its own, with the shared parts by link."""
    for name in ("target", "features", "vocab"):
        (tmp_path / name).symlink_to(shared_root / name)
    return tmp_path
