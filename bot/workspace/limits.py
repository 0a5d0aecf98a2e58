"""The numbers at which Slack refuses, truncates or slows down; docs.slack.dev unless noted."""

from typing import Final

POST_TEXT: Final = 40_000  # chat.postMessage truncates here, it does not refuse
UPDATE_TEXT_BYTES: Final = 4_000  # chat.update counts the escaped text's bytes
BLOCKS: Final = 50
BLOCKS_TEXT: Final = 13_200  # all block text together; undocumented, measured in bolt-js issue 2509
BLOCK_ID: Final = 255
SECTION_TEXT: Final = 3_000
SECTION_FIELDS: Final = 10
FIELD_TEXT: Final = 2_000
HEADER_TEXT: Final = 150
MARKDOWN_TEXT: Final = 12_000  # summed over the markdown blocks of one message
CONTEXT_ELEMENTS: Final = 10
ACTIONS_ELEMENTS: Final = 25
BUTTON_TEXT: Final = 75
BUTTON_VALUE: Final = 2_000
ACTION_ID: Final = 255
URL: Final = 3_000
IMAGE_TEXT: Final = 2_000
CONFIRM_TITLE: Final = 100
CONFIRM_TEXT: Final = 300
CONFIRM_BUTTON: Final = 30
TABLE_ROWS: Final = 100
TABLE_COLUMNS: Final = 20
TABLE_TEXT: Final = 10_000
METADATA_BYTES: Final = 8_000
REACTIONS: Final = 23

CONNECTIONS: Final = 10
ACK_TIMEOUT_S: Final = 3.0
RETRY_DELAYS_S: Final = (0.0, 60.0, 300.0)
RESPONSE_URL_USES: Final = 5
RESPONSE_URL_LIFE_S: Final = 1_800.0

# calls allowed in a sliding window of seconds, for a whole workspace
TIERS: Final[dict[str, tuple[int, float]]] = {
    "chat.update": (50, 60.0),
    "chat.delete": (50, 60.0),
    "chat.postEphemeral": (100, 60.0),
    "conversations.history": (50, 60.0),
    "conversations.replies": (50, 60.0),
    "reactions.add": (50, 60.0),
    "reactions.remove": (20, 60.0),
    "users.info": (100, 60.0),
    "usergroups.users.list": (20, 60.0),
    "apps.connections.open": (20, 60.0),
}
CHANNEL_POSTS: Final = (8, 5.0)  # about one a second in each channel, short bursts allowed
