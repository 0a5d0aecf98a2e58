"""`python -m bot trust HOST SHA256:…`: believe a host's key whose fingerprint a person has compared."""

import re

from bot.adapters.hosts.trust import trust_host
from bot.cli import arguments, wiring
from bot.config import load_config
from bot.errors import CommandError

_FINGERPRINT = re.compile(r"^SHA256:[A-Za-z0-9+/]{43}$")
_WHERE = "on the host, by another way than this network: ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub"


def main(argv: list[str]) -> int:
    to = arguments.parser(
        "trust",
        "Write a host's key into its known_hosts file, in place of an older one, if it has this fingerprint. "
        f"Compare the fingerprint first, {_WHERE}",
    )
    to.add_argument("host", help="a host's name in the configuration")
    to.add_argument("fingerprint", help="SHA256:…, as ssh-keygen prints it")
    arguments.add_config(to)
    args = to.parse_args(argv)
    if not _FINGERPRINT.match(args.fingerprint):
        raise CommandError(f"{args.fingerprint!r} is no fingerprint: SHA256: and 43 characters", f"it is told {_WHERE}")
    config = load_config(args.config)
    path = trust_host(args.host, wiring.host_settings(config, wiring.host_config(config, args.host)), args.fingerprint)
    print(f"{args.host} is trusted with {args.fingerprint}, in {path}")
    return 0
