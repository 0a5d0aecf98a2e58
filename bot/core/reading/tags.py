"""What a word can do in a message: the classes that the reader tells apart."""

from enum import StrEnum


class Tag(StrEnum):
    """What a word does. The first block can be orders; the rest decides whether they are."""

    PROCEED = "proceed"  # continue, go ahead, approve
    LGTM = "lgtm"  # as YES, but confirms nothing
    YES = "yes"  # a bare approval: means something only as an answer
    BEGIN = "begin"  # start, launch: needs to know of what
    DO_STAGE = "do_stage"  # a stage's own verb: train, bench
    RESUME = "resume"
    RETRY = "retry"
    FRESH = "fresh"  # from scratch: discards work
    HOLD = "hold"
    STOP = "stop"  # holds at a gate, cancels what runs
    CANCEL = "cancel"
    NUKE = "nuke"  # cancel and more
    ODD_KILL = "odd_kill"  # ^C, kill -9
    UNDO = "undo"
    KEEP = "keep"  # keep going, leave it running
    SKIP = "skip"
    EXTEND = "extend"  # generate 5k more
    WAIVE = "waive"  # anyway, ignore it
    CONFIRM = "confirm"

    NO = "no"
    NOT = "not"
    WITHOUT = "without"
    BOUND = "bound"  # a negation that plainly binds: no problem
    LATER = "later"
    TIME = "time"
    CONDITION = "condition"
    BEFORE = "before"
    FIRST = "first"
    SECOND = "second"
    HEDGE = "hedge"
    REPORT = "report"
    JOKE = "joke"
    HYPE = "hype"
    IDIOM = "idiom"
    WH = "wh"
    MODAL = "modal"
    AUX = "aux"
    SUBJECT = "subject"
    PERMIT = "permit"  # you can, feel free to
    BUT = "but"
    AND = "and"
    AT = "at"
    IN = "in"
    ON = "on"
    TO = "to"

    DONE = "done"
    GOOD = "good"
    BAD = "bad"
    NAN = "nan"
    REVIEW = "review"  # what was looked at
    CHECK = "check"  # what is to be looked at
    FILLER = "filler"
    PRAISE = "praise"
    POLITE = "polite"
    ADDRESS = "address"  # greets or addresses somebody
    MISTAKE = "mistake"
    BULK = "bulk"
    BOTH = "both"
    NEITHER = "neither"
    WHICH = "which"
    SAME = "same"
    RELATIVE = "relative"
    SET = "set"
    MORE = "more"
    MY = "my"
    NOUN = "noun"
    PART = "part"  # less than all
    VIEW = "view"
    NEED = "need"  # with a time: hold
    SHOW = "show"
    STATE = "state"
    METRIC = "metric"
    GLUE = "glue"  # may stand in an order
    RESUMED = "resumed"  # from where it stopped
    FILL = "fill"  # may stand beside one
    NOW = "now"
    ARTICLE = "article"
    ONLY = "only"
    AGAIN = "again"
    PAST = "past"  # forms of order words that tell, not order

    RUN = "run"
    STAGE = "stage"
    PARAM = "param"
    SUITE = "suite"
    HOST = "host"
    MODEL = "model"
    NUMBER = "number"
    ACK = "ack"  # an approving emoji
    LOOK = "look"  # an emoji that says nothing
    DOUBT = "doubt"
    PERSON = "person"
    BOT = "bot"
    LINK = "link"
    MARK = "mark"
    UNKNOWN = "unknown"
