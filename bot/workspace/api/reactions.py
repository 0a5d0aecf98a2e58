"""reactions.add and reactions.remove as the bot."""

from bot.workspace.api.call import Call, method
from bot.workspace.emoji import EMOJI
from bot.workspace.refusal import Json, Refusal
from bot.workspace.roster import BOT_USER


def _react(call: Call, *, remove: bool) -> Json:
    channel, name = call.channel(), call.need("name").strip(":")
    if name not in EMOJI:
        raise Refusal("invalid_name")
    call.workspace.react(channel, BOT_USER, call.need("timestamp"), name, remove=remove)
    return {}


@method("reactions.add", scope="reactions:write")
def add(call: Call) -> Json:
    return _react(call, remove=False)


@method("reactions.remove", scope="reactions:write")
def remove(call: Call) -> Json:
    return _react(call, remove=True)
