"""The last lines of a log, put together from what each look at the host brings."""

from tests.unit.core.story import Story

LOG = b"step 1\nstep 2\nstep 3\nst"


def looks(*pieces: tuple[int, int]) -> Story:
    """A running attempt after looks that brought these pieces of the log."""
    story = Story()
    story.advance()
    story.begin()
    for start, end in pieces:
        story.seen("running", log=LOG[start:end], log_offset=end)
    return story


def test_two_looks_that_asked_for_the_same_lines_tell_them_once() -> None:
    last = looks((0, 14), (0, 14), (0, 21)).last()
    assert (last.log_tail, last.log_offset) == ("step 1\nstep 2\nstep 3", 21)


def test_a_look_that_comes_late_takes_nothing_back() -> None:
    last = looks((0, 14), (14, 23), (0, 7)).last()
    assert (last.log_tail, last.log_offset) == ("step 1\nstep 2\nstep 3", 21)


def test_a_log_that_was_begun_anew_is_read_from_its_beginning() -> None:
    story = looks((0, 21))
    story.seen("running", log=b"again\n", log_offset=6, log_reset=True)
    assert (story.last().log_tail, story.last().log_offset) == ("again", 6)
