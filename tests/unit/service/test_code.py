"""The archive of code that goes to hosts."""

import io
import os
import tarfile
from pathlib import Path

from bot.service.code import pack


def tree(root: Path) -> Path:
    (root / "runner/__pycache__").mkdir(parents=True)
    (root / "patches").mkdir()
    (root / "runner/a.py").write_text("x = 1\n")
    (root / "runner/__pycache__/a.pyc").write_text("junk")
    (root / "patches/p.patch").write_text("+\n")
    return root


def test_the_same_files_have_the_same_digest_and_caches_stay_out(tmp_path: Path) -> None:
    one, two = pack(tree(tmp_path / "1")), pack(tree(tmp_path / "2"))
    os.utime(tmp_path / "2/runner/a.py", (1, 1))
    assert (one.digest, one.body) == (two.digest, pack(tmp_path / "2").body)
    with tarfile.open(fileobj=io.BytesIO(one.body)) as tar:
        assert sorted(tar.getnames()) == ["patches/p.patch", "runner/a.py"]


def test_a_changed_file_changes_the_digest(tmp_path: Path) -> None:
    root = tree(tmp_path)
    before = pack(root).digest
    (root / "runner/a.py").write_text("x = 2\n")
    assert pack(root).digest != before
