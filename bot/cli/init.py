"""`python -m bot init`: a configuration to start from."""

from pathlib import Path

from bot.cli import arguments
from bot.config import DEFAULT_PATH
from bot.errors import CommandError

LISTS = "ops/requirements/gpu-host.txt"
TEMPLATE = """\
# Pointsman's configuration. `python -m bot check` looks at everything that is named here.
version: 1
database: sqlite:///var/pointsman.db # or postgresql+psycopg://USER@HOST/NAME; its password from ~/.pgpass or PGPASSWORD

slack:
  # Both tokens come from the environment, never from this file:
  #   SLACK_BOT_TOKEN  xoxb-…  OAuth & Permissions > Bot User OAuth Token
  #   SLACK_APP_TOKEN  xapp-…  Basic Information > App-Level Tokens, scope connections:write
  # Create the app from ops/slack/manifest.yaml (https://api.slack.com/apps > Create New App > From a manifest),
  # install it, and invite it to the channel: /invite @pointsman
  channel: {channel} # the channel's id: its name > View channel details, at the bottom

hosts:
  {host}:
    kind: ssh # or openssh, local, embedded
    address: {address} # [user@]name, or an alias of your ssh_config
    root: ~/.pointsman # everything that Pointsman puts on the host
    python: python3 # 3.11 or later. What stages run with: a venv made of it by `python -m bot host setup {host}`, …
    packages: [{lists}] # … of these lists. Leave `packages` out, and stages run with `python` as it is;
    # container: [apptainer, exec, --nv, image.sif] # or behind this prefix, with the `python` in there
    # slurm: {{ partition: gpu }} # a login node: every attempt is a job, of the size that its stage says in `slurm`
    secrets: [] # names of environment variables of the bot that stages there may get, e.g. [HF_TOKEN]

pipelines:
  - {pipeline}

roles: # Slack user ids (U…) and user groups (S…); without operators everybody in the channel operates
  operators: []
  admins: []

undo_s: 10 # an order that starts something can be taken back for so long
"""


def main(argv: list[str]) -> int:
    to = arguments.parser("init", "Write a configuration, and say what is still needed.")
    to.add_argument("--config", type=Path, default=DEFAULT_PATH, help="where to write it (default: %(default)s)")
    to.add_argument("--channel", default="C0123456789", help="the channel's id")
    to.add_argument("--host", default="box1", help="a name for the host (default: %(default)s)")
    to.add_argument("--address", default="ml@box1.example", help="[user@]name or an alias of ssh_config")
    to.add_argument("--pipeline", default="ops/pipelines/kimi-k2.5-eagle3.yaml", help="a pipeline file")
    args = to.parse_args(argv)
    path: Path = args.config
    if path.exists():
        raise CommandError(f"{path} exists", "edit it, or give another name with --config")
    text = TEMPLATE.format(
        channel=args.channel, host=args.host, address=args.address, pipeline=args.pipeline, lists=LISTS
    )
    path.write_text(text, encoding="utf-8")
    print(f"wrote {path}")
    print("next: create the Slack app from ops/slack/manifest.yaml, set SLACK_BOT_TOKEN and SLACK_APP_TOKEN,")
    print(f"edit {path}, then: python -m bot check, and: python -m bot host setup {args.host}")
    return 0
