"""Secrets never leave."""

import pytest

from bot.core.cards import Button, Buttons, Card, StageLine, Stages, Table, Text
from bot.core.masking import MASK, mask
from bot.service.chat import mask_card

KEY = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAA\n-----END OPENSSH PRIVATE KEY-----"


@pytest.mark.parametrize(
    "secret",
    [
        "hf_abcdefghijklmnopqrstuvwxyz",
        "xoxb-1234567890-abcdef",
        "xapp-1-A0000-123-abcdef",
        "AKIAIOSFODNN7EXAMPLE",
        "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
        "sk-abcdefghijklmnopqrstuvwx",
        KEY,
        KEY[:60],
    ],
)
def test_shapes_of_secrets_are_masked(secret: str) -> None:
    told = mask(f"login with {secret} failed")
    assert secret not in told and MASK in told and told.startswith("login with ")


def test_named_values_and_known_values_are_masked() -> None:
    assert mask("HF_TOKEN=abc123xyz") == f"HF_TOKEN={MASK}"
    assert mask("export AWS_SECRET_ACCESS_KEY='wJalrXUtnFEMI'") == f"export AWS_SECRET_ACCESS_KEY='{MASK}'"
    assert mask("it was correct-horse", ["correct-horse"]) == f"it was {MASK}"


@pytest.mark.parametrize("text", ["21,000,000 tokens = tokens sent", "next_token 4/4", "token: ok", "lr 2e-4", "sk-1"])
def test_plain_words_stay(text: str) -> None:
    assert mask(text, ["on"]) == text


def test_every_text_of_a_card_is_masked() -> None:
    secret = "hunter2-hunter2"
    card = Card(
        title=secret,
        fallback=secret,
        parts=(
            Text(text=secret),
            Stages(title=secret, lines=(StageLine(id="a", title="a", mark="pending", detail=secret),)),
            Table(header=(secret,), rows=((secret,),)),
            Buttons(buttons=(Button(action="a", label=secret, value=secret),)),
        ),
    )
    assert secret not in repr(mask_card(card, [secret]))
