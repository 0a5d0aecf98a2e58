"""What is told beside an order: reasons and assessments pass, errands, wishes and doubts do not."""

import pytest

from bot.core.reading import Kind, read
from bot.core.reading.fixtures import FIXTURES


def kinds(code: str, text: str) -> list[Kind]:
    return [intent.kind for intent in read(text, FIXTURES[code])]


@pytest.mark.parametrize(
    "text",
    ["cancel, wrong tokenizer", "cancel, wrong lr", "cancel this run, lr is wrong", "kill it. wrong base model",
     "abort training, we picked the wrong checkpoint", "pls stop this one, need gpus for eval", "kill it, it hangs",
     "cancel, forgot to set the lr", "sorry cancel that, wrong config", "kill it because lr is wrong",
     "nvm cancel this training, wrong tokenizer 🤦", "cancel the training as the vocab is wrong",
     "stop the run bc loss diverged", "oops, cancel"],
)  # fmt: skip
def test_a_reason_for_the_end_leaves_the_order_clear(text: str) -> None:
    assert kinds("T62", text) == [Kind.CANCEL]


@pytest.mark.parametrize(
    "text",
    ["kill it, he's joking", "stop it, you are making me laugh", "cancel, the meeting moved", "cancel, i mean lunch",
     "cancel if lr is bad", "cancel tomorrow, wrong lr", "cancel? wrong lr", "cancel, wrong thread",
     "kill the other job, wrong lr", "kill it because it's funny", "stop because of me", "kill it 🤦",
     "kill it, lr is fine", "abort the pizza order, wrong address", "bob wants to cancel, lr is wrong",
     "kill it, or keep it"],
)  # fmt: skip
def test_what_is_no_reason_about_the_work_ends_nothing(text: str) -> None:
    assert not {Kind.CANCEL} & set(kinds("T62", text))


@pytest.mark.parametrize(
    "text",
    ["retry please, oom was from the other job", "retry, was just a network blip", "rerun, the node was rebooted",
     "relaunch pls, i freed the gpus", "try again, disk is cleaned up now", "retry, i fixed the path",
     "retry, cable was unplugged", "retry because the network was down", "it was a cuda hiccup, retry",
     "resume from the last good shard", "pick it up from the latest checkpoint", "try it once more please",
     "give it another shot"],
)  # fmt: skip
def test_what_happened_leaves_a_retry_clear(text: str) -> None:
    assert kinds("F", text) == [Kind.RETRY]


@pytest.mark.parametrize(
    "text",
    ["retry, fix the disk", "retry, please fix the mount", "retry, i'll fix the disk", "retry, clear the cache",
     "retry if box1 has enough disk", "retry, disk permitting", "retry, node will be rebooted",
     "retry, need to free the disk", "retry, the other one", "resume from the first shard", "resume from shard 0",
     "resume from bob's checkpoint", "resume from the last meeting", "retry clean", "no retry please",
     "retry, was it oom?"],
)  # fmt: skip
def test_an_errand_a_promise_or_another_place_retries_nothing(text: str) -> None:
    assert Kind.RETRY not in kinds("F", text)


@pytest.mark.parametrize(
    "text",
    ["Samples look clean. Start the training.", "final token counts look right, continue", "go ahead, gpus are free",
     "the chat template is right, continue", "tokenizer output is fine, go", "config is correct, start training",
     "pls to continue, extraction is ok", "everything is fine so you can continue now", "continue since all is good",
     "nothing looks wrong, continue", "no samples are missing, continue", "disk has 2 TB free, continue",
     "samples verified by hand, continue", "the extraction came out clean, start training",
     "continue because the samples look fine", "extraction went fine, continue"],
)  # fmt: skip
def test_an_assessment_with_a_noun_nobody_listed_passes_the_gate(text: str) -> None:
    assert kinds("G1", text) == [Kind.ADVANCE]


@pytest.mark.parametrize(
    "text",
    ["samples look fishy, continue", "samples look almost fine, continue", "samples are far from fine, continue",
     "samples look suspiciously good, continue", "bob pretends extraction is fine, continue", "boss is happy, continue",
     "the tokenizer guy is happy, continue", "config will be fine, continue", "gpus are busy, continue",
     "gpus are not free, continue", "update the config, continue", "correct the labels, continue",
     "accuracy went down, continue", "continue because i said so", "continue due to reasons", "continue as it is",
     "use 2 TB, continue", "no, samples are missing, continue", "nothing is right, continue", "start clean",
     "continue, the movie is good", "the template is wrong, continue"],
)  # fmt: skip
def test_a_doubt_a_person_or_an_errand_passes_no_gate(text: str) -> None:
    assert Kind.ADVANCE not in kinds("G1", text)
