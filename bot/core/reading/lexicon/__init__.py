"""English words by what they do in a message. To teach the reader a word, add it to its class here.

A class is a string of forms separated by "|"; a form may be several words. The longest form wins, so
"no problem" is read before "no". A word in no class is UNKNOWN, and an order next to it does not act.
"""

from bot.core.reading.lexicon.chatter import CHATTER
from bot.core.reading.lexicon.content import CONTENT
from bot.core.reading.lexicon.moods import MOODS, POLARITY
from bot.core.reading.lexicon.orders import ORDERS

ALL = (ORDERS, POLARITY, MOODS, CONTENT)

__all__ = ["ALL", "CHATTER"]
