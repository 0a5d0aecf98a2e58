"""The patch of the model files: known by content, there and back, and nothing unknown is touched."""

import importlib.util
import shutil
from pathlib import Path

import pytest

from runner import patch
from runner.patch import Patch, known_patches
from runner.protocol.errors import DataError, PatchMismatch

PATCHES = {known.file.rpartition("/")[2]: known for known in known_patches()}


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """The model files of the installed SGLang, in a place of their own."""
    spec = importlib.util.find_spec("sglang")
    if spec is None or spec.submodule_search_locations is None:
        pytest.skip("needs sglang")
    for known in PATCHES.values():
        place = tmp_path / known.file
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(Path(spec.submodule_search_locations[0]).parent / known.file, place)
    return tmp_path


def run(site: Path, do: str) -> None:
    assert patch.main([do, "--site", str(site)]) == 0


def bodies(site: Path) -> dict[str, bytes]:
    return {name: (site / known.file).read_bytes() for name, known in PATCHES.items()}


def states(site: Path) -> set[str]:
    return {known.state(site) for known in PATCHES.values()}


def test_there_and_back_as_often_as_one_likes(site: Path) -> None:
    before = bodies(site)
    run(site, "reverse")
    assert bodies(site) == before and states(site) == {"original"}
    run(site, "apply")
    changed = bodies(site)
    run(site, "apply")
    assert bodies(site) == changed and states(site) == {"patched"}
    for name, body in changed.items():
        assert body.count(b"install_in_place()") == 1, name
        compile(body, name, "exec")
    run(site, "reverse")
    assert bodies(site) == before


def test_a_file_in_an_unknown_state_stops_the_change_of_all(site: Path) -> None:
    llama = site / PATCHES["llama.py"].file
    llama.write_bytes(llama.read_bytes() + b"# my own change\n")
    before = bodies(site)
    for do in ("apply", "reverse", "status"):
        with pytest.raises(PatchMismatch, match=r"llama\.py is neither"):
            run(site, do)
    assert bodies(site) == before


def test_one_file_patched_alone_is_completed(site: Path) -> None:
    assert PATCHES["llama.py"].change(site, "patched")
    run(site, "apply")
    assert states(site) == {"patched"}


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(PatchMismatch, match="no such file of SGLang"):
        run(tmp_path, "apply")


def test_a_patch_that_was_edited_changes_nothing(site: Path, tmp_path: Path) -> None:
    source = next(path for path in patch.PATCHES.glob("model-files/llama*.patch"))
    edited = tmp_path / "edited.patch"
    edited.write_text(source.read_text().replace("install_in_place()", "install_in_places()"))
    before = bodies(site)
    with pytest.raises(PatchMismatch, match="do not lead to the file"):
        Patch.read(edited).change(site, "patched")
    assert bodies(site) == before
    edited.write_text("no diff\n")
    with pytest.raises(DataError, match="no patch"):
        Patch.read(edited)
