"""Secrets never leave."""

import json
import time
from collections.abc import Callable
from urllib.parse import quote

import pytest

from bot.core.cards import Button, Buttons, Card, StageLine, Stages, Table, Text, escape
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
        "xoxe.xoxp-1-Mi0yLTEtMTIzNDU2",
        "xoxe-1-My0xLTEtMTIzNDU2Nzg",
        "xoxc-1234567890-abc",
        "xoxd-abc%2Fdef%2Bijkl",
        "AIzaSyA1234567890abcdefghijklmnopqrstuv",
        "glpat-abcdefghijklmnopqrst",
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


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ('{"token": "abcdef123456", "x": 1}', f'{{"token": "{MASK}", "x": 1}}'),
        ("{'password': 'hunter2222'}", f"{{'password': '{MASK}'}}"),
        (r'"{\"api_key\": \"abcdef123456\"}"', rf'"{{\"api_key\": \"{MASK}\"}}"'),
        ("x-api-key: abcdef123456", f"x-api-key: {MASK}"),
        ("Authorization: Bearer abcdef1234567890", f"Authorization: Bearer {MASK}"),
        ("-H 'Authorization: Basic dXNlcjpwYXNz'", f"-H 'Authorization: Basic {MASK}'"),
        ("Set-Cookie: d=abcdef", f"Set-Cookie: {MASK}"),
        ("get --hf-token abcdef12 --password s3cretpw x", f"get --hf-token {MASK} --password {MASK} x"),
        ("https://user:s3cretpass@host/x", f"https://user:{MASK}@host/x"),
        ("postgresql://u:p@ss@db/x", f"postgresql://u:{MASK}@db/x"),
        ("POST https://hooks.slack.com/services/T000/B000/XXXX", f"POST https://hooks.slack.com/services/{MASK}"),
        ("PGPASSWORD=abcdefgh DB_PASS=abcdefgh", f"PGPASSWORD={MASK} DB_PASS={MASK}"),
        ("SECRET_KEY_BASE=abcdefgh1 HF_TOKEN_2=abcdefgh1", f"SECRET_KEY_BASE={MASK} HF_TOKEN_2={MASK}"),
        ("passphrase: abcdefgh", f"passphrase: {MASK}"),
        ("password=12345", f"password={MASK}"),
        ('password="correct horse battery" x', f'password="{MASK}" x'),
        ('password="correct horse', f'password="{MASK}'),
        ("clientSecret=abcdefgh", f"clientSecret={MASK}"),
        ("login(token=abcdef123), then", f"login(token={MASK}), then"),
        ("```\ntoken=abcdef123```", f"```\ntoken={MASK}```"),
        ("my_hf_abcdefghijklmnopqrstuv", f"my_{MASK}"),
        ("hf_abcdefgh\x1b[0mijklmnopqrstuv", MASK),
        ("wandb login 0123456789abcdef0123456789abcdef01234567", f"wandb login {MASK}"),
    ],
)
def test_only_the_secret_is_masked_however_it_is_written(said: str, shown: str) -> None:
    assert mask(said) == shown
    assert mask(shown) == shown


@pytest.mark.parametrize("know", [escape, json.dumps, repr, quote, str])
def test_a_known_value_is_masked_in_every_form(know: Callable[[str], str]) -> None:
    value = 'p&s"s <w`rd\\77'
    told = mask(f"it was {know(value)}", [value, "unused-secret"])
    assert told.replace('"', "").replace("'", "") == f"it was {MASK}"


def test_what_a_cut_left_of_a_known_value_is_masked() -> None:
    known = ["correct-horse-battery"]
    assert mask("```horse-battery was wrong```", known) == f"```{MASK} was wrong```"
    assert mask("said correct-horse… (+20 characters)", known) == f"said {MASK}… (+20 characters)"
    assert mask("rse-battery", known) == MASK and mask("a battery", known) == "a battery"


LINES = [f"b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQKEYLINE{i:02d}" for i in range(5)]


@pytest.mark.parametrize("kind", ["OPENSSH PRIVATE KEY", "PRIVATE KEY", "PGP PRIVATE KEY BLOCK"])
def test_a_key_is_masked_whole_and_cut_anywhere(kind: str) -> None:
    key = "\n".join([f"-----BEGIN {kind}-----", *LINES, "AAE=", f"-----END {kind}-----"])
    assert mask(f"before\n{key}\nafter") == f"before\n{MASK}\nafter"
    for first in range(1, 8):
        cut = "\n".join(key.split("\n")[first:])
        told = mask(f"{cut}\nafter")
        assert told == f"{MASK}\nafter", first
    assert mask("loading\nMIIEabc\n" + key[-30:]).startswith("loading\n")
    assert "KEYLINE" not in mask("\n".join(["step 1", *LINES[1:3], "step 2"]))
    assert mask("\n".join(["step 1", *LINES, "step 2"])) == f"step 1\n{MASK}\nstep 2"
    assert mask(f"```{key[:100]}```\nReply `retry`") == f"```{MASK}```\nReply `retry`"


DIGEST = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"


@pytest.mark.parametrize(
    "text",
    [
        "tokens 16,469",
        "max_new_tokens=96 --max-new-tokens 4096 prompt_tokens: 123456",
        "evidence 3f9a1b2c4d5e · /data/runs/r1/extract/evidence.json",
        f"{DIGEST}\n{DIGEST}\n{DIGEST}",
        "commit 709d0446ab1234567890abcdef1234567890abcd",
        "/data/Models/Qwen/ABCDEFGH/checkpoint/step0001200/shard0001\n" * 3,
        "tokenizer: Qwen/Qwen3-30B-A3B-Instruct-2507 tokenizer_name=deepseek-ai/DeepSeek-V3",
        'eos_token: <|im_end|> "pad_token": "<|endoftext|>" eos_token=&lt;|endoftext|&gt;',
        "next_token: 151645, token=151645, s/token: 0.012345",
        "convert_hf_checkpoint_to_safetensors task-with-a-rather-long-name-of-words",
        "https://huggingface.co/Qwen/Qwen3-8B/resolve/main/model.safetensors ssh://git@github.com:22/x/y.git",
        "token: /root/.cache/huggingface/token",
        "secrets (by name): HF_TOKEN; secret HF_TOKEN: missing",
        "secret: HF_TOKEN, from HF_TOKEN=$HF_TOKEN or token: ${HF_TOKEN}",
        "Enter passphrase for key '/root/.ssh/id_ed25519': ",
        "Permission denied (publickey,password).\nPWD=/srv/pointsman/runs",
        "auth_token::validate_session, fwd_pass: 12.3456ms",
        "-----BEGIN CERTIFICATE-----\nMIIabc",
    ],
)
def test_ordinary_text_stays_readable(text: str) -> None:
    assert mask(text, ["correct-horse-battery"]) == text


@pytest.mark.parametrize("piece", ["token=,", "-a", "://a:", "eyJ", "-----END PRIVATE KEY-----", 'a=\\"', "curl "])
def test_no_text_takes_long(piece: str) -> None:
    began_s = time.process_time()
    mask(piece * (40_000 // len(piece)), ["correct-horse-battery"])
    assert time.process_time() - began_s < 5
