"""Politeness around an order: it neither stands in the order's way nor hides what does."""

import pytest

from bot.core.reading import Kind, read
from bot.core.reading.fixtures import FIXTURES


def kinds(code: str, text: str) -> list[Kind]:
    return [intent.kind for intent in read(text, FIXTURES[code])]


@pytest.mark.parametrize(
    "said",
    ["thank you very much", "thanks a lot", "thanks a bunch", "thanks so much for checking", "many thanks in advance",
     "thank you for the detailed report", "thanks for your patience", "thanks for letting me know", "much appreciated",
     "i really appreciate it", "ta", "thanks again, everyone", "vielen dank", "merci beaucoup", "muchas gracias"],
)  # fmt: skip
def test_thanks_and_what_for_stand_beside_any_order(said: str) -> None:
    assert kinds("G1", f"please continue, {said}") == [Kind.ADVANCE]
    assert kinds("G1", f"{said}, please continue") == [Kind.ADVANCE]
    assert kinds("T62", f"please cancel the training, {said}") == [Kind.CANCEL]
    assert kinds("F", f"{said}. retry please") == [Kind.RETRY]
    assert kinds("G1", f"please wait, {said}") == [Kind.HOLD]


@pytest.mark.parametrize(
    "said",
    ["sorry for the delay", "sorry for the wait", "apologies for the late reply", "my apologies",
     "sorry for keeping you waiting", "sorry to keep you waiting", "sorry, was in a meeting", "back now",
     "just back from lunch", "i was away", "good morning", "hello all", "hiya", "morning!",
     "be so kind as to", "do me a favour and",
     "good to hear", "great to know", "at last", "that was quick", "excellent work", "thanks but"],
)  # fmt: skip
def test_what_leads_in_politely_leaves_the_order_clear(said: str) -> None:
    joined = f"{said} continue" if said.endswith(("to", "and", "!", "but")) else f"{said}, continue"
    assert kinds("G1", joined) == [Kind.ADVANCE]


@pytest.mark.parametrize(
    "said",
    ["have a nice evening everyone", "have a great weekend!", "good night", "bye all", "see you tomorrow",
     "enjoy your lunch", "best regards", "kind regards, tom", "best, anna", "thanks\\ntom", "regards"],
)  # fmt: skip
def test_what_ends_politely_leaves_the_order_clear(said: str) -> None:
    assert kinds("G1", f"please continue. {said}".replace("\\n", "\n")) == [Kind.ADVANCE]


@pytest.mark.parametrize(
    "text",
    ["thank you for waiting until tomorrow to continue", "thanks for letting it continue",
     "thanks for making them continue", "thanks for letting the run continue", "sorry to make you continue",
     "thanks for nothing, continue", "thanks for the warning if any, continue", "sorry for the wrong lr, continue",
     "see you tomorrow, continue then", "have a nice lunch, continue then", "i'm in a meeting, continue then",
     "back at 2, continue then", "see you at 5, continue", "tomorrow morning! continue", "continue in the morning!",
     "continue, have a nice day if all is well", "best regards, tom says continue", "best to continue",
     "i appreciate it if you continue", "be so kind and do not continue", "i am not happy with it, continue",
     "i am happy with it except the headers, continue", "i am happy with some of it, continue", "continue 9 am",
     "i am back at 9 am, continue", "glad to see it continue", "nice to see you continue", "happy to continue",
     "too fast, continue", "thanks to anna we can continue", "thanks but continue later", "had a bad look, continue"],
)  # fmt: skip
def test_politeness_hides_nothing_that_speaks_against_an_order(text: str) -> None:
    assert not any(intent.acts for intent in read(text, FIXTURES["G1"]))


@pytest.mark.parametrize(
    "text",
    ["thanks for continuing", "thank you for starting it", "sorry for continuing", "thanks for the training",
     "thank you very much", "see you tomorrow", "have a nice evening", "best regards, tom", "much appreciated"],
)  # fmt: skip
def test_politeness_alone_is_chatter(text: str) -> None:
    assert kinds("G1", text) == [Kind.IGNORE]


@pytest.mark.parametrize(
    "said",
    ["i am happy with it", "we are happy with this", "happy with the samples", "i am satisfied with the samples",
     "i am fine with this", "anna is fine with it too", "the team agrees", "tom and anna are ok with it",
     "evidence looks good to me", "so far so good", "i see no problem", "i don't see any problems", "zero errors",
     "nothing to add from my side", "no further questions", "took a look at the samples, all good",
     "had a quick look, looks good", "the gpus are idle anyway", "the evidence is convincing", "this went smoothly",
     "it went faster than expected", "no duplicates", "not a single error", "my review is done",
     "fine by me", "we are good to go"],
)  # fmt: skip
def test_an_assessment_in_whole_sentences_leaves_the_order_clear(said: str) -> None:
    assert kinds("G1", f"{said}, so please continue") == [Kind.ADVANCE]
    assert kinds("G1", f"Hello! The extraction has finished and {said}. Please continue. Thank you!") == [Kind.ADVANCE]


@pytest.mark.parametrize(
    "said",
    ["anna might agree", "nobody agrees", "the team disagrees", "anna agreed to wait", "tom isn't fine with it",
     "if anna agrees", "i don't see any samples", "i don't have any gpus", "zero samples", "i see no reason",
     "plenty of errors", "took a look, not good", "had a look at the errors", "it went worse than expected",
     "it went down", "duplicates", "not a single sample", "not one sample is good", "my review is not done",
     "the disk is no longer free", "not good to go", "ready to go home", "yes, some good"],
)  # fmt: skip
def test_what_sounds_like_an_assessment_but_is_none_asks(said: str) -> None:
    assert not any(intent.acts for intent in read(f"{said}, continue", FIXTURES["G1"]))


@pytest.mark.parametrize(
    "text",
    ["i freed some space, please try again", "we freed 2 TB, retry please", "oom was caused by another job, retry",
     "the node was rebooted, please restart it, cheers", "that is enough, cancel it", "vpn is up again, retry",
     "permissions are fixed, retry", "the disk is no longer full, please retry", "my fault, retry please"],
)  # fmt: skip
def test_a_reason_for_a_retry_or_a_cancel_leaves_it_clear(text: str) -> None:
    code = "T62" if "cancel" in text else "F"
    assert kinds(code, text) == [Kind.CANCEL if "cancel" in text else Kind.RETRY]


@pytest.mark.parametrize(
    "text",
    ["i will free some space, retry", "i freed some space? retry", "retry some shards", "fix permissions again, retry",
     "get good permissions, retry", "someone fix the disk, retry", "someone get the gpu back, retry",
     "anna is getting the vpn back, retry",
     "vpn will be up again, retry", "permissions are not fixed, retry", "retry when it's back"],
)  # fmt: skip
def test_a_promise_or_a_part_is_no_reason(text: str) -> None:
    assert kinds("F", text) == [Kind.ASK]


@pytest.mark.parametrize(
    "text",
    ["yep all good, go ahead", "by all means continue", "green light from me, continue", "i approve, thanks",
     "i hereby approve, please continue", "approved by me, go ahead", "let's go on with training"],
)  # fmt: skip
def test_assent_beside_a_plain_order_is_one_order(text: str) -> None:
    assert kinds("G1", text) == [Kind.ADVANCE]


@pytest.mark.parametrize(
    "text",
    ["by all means", "green light", "good to go", "by all means do not continue", "no green light yet, continue",
     "are we good to go? continue", "i approve the budget", "i would approve", "i don't approve", "yes garbage",
     "yes it's done", "yes but all good", "let's go on holiday"],
)  # fmt: skip
def test_assent_alone_or_with_a_doubt_starts_nothing(text: str) -> None:
    assert not any(intent.acts for intent in read(text, FIXTURES["G1"]))


@pytest.mark.parametrize(
    "text",
    ["i still need to check, thanks", "let it rest for now", "unfortunately not yet",
     "unfortunately we have to wait", "i am afraid not", "not at the moment, thank you",
     "sorry but please wait", "thanks but no", "no thank you"],
)  # fmt: skip
def test_a_polite_no_holds(text: str) -> None:
    assert kinds("G1", text) == [Kind.HOLD]
