"""Words that decide whether an order is meant: negations, times, conditions, hedges, reports, questions."""

from bot.core.reading.tags import Tag

POLARITY: dict[Tag, str] = {
    Tag.NO: "no|nope|nah|n|noo|nay|negative|no way|nuh uh|hell no|no thanks|no thank you|heck no|thumbs down",
    Tag.NOT: """
        not|don't|dont|do not|donot|don t|dun|dnt|dotn|never|can't|cant|cannot|can not|won't|wont
        |will not|shouldn't|shouldnt|should not|mustn't|must not|isn't|isnt|aren't|arent|wasn't|doesn't
        |doesnt|didn't|didnt|haven't|havent|hasn't|hasnt|wouldn't|wouldnt|couldn't|couldnt|ain't|aint
        |not a single|not one|nobody|no one|noone|nothing|none of|neither of|nowhere|hardly|barely|stop asking
        |refuse|refrain
        |far from|anything but|nowhere near|under no circumstances|under no circumstance|under no condition
        |under no conditions|on no account|in no case|by no means|at no point|in no way|at no time
        |avoid|forbid|prevent|nor|hadn't|weren't|needn't|no longer|dont't
    """,
    Tag.WITHOUT: "without|w/o|w o|instead|instead of|rather than|except|minus|unlike",
    Tag.BOUND: """
        no problem|no problems|no prob|np|no worries|no issues|no issue|no objections|no objection
        |no complaints|no errors|no error|no concerns|no doubt|nothing wrong|nothing weird
        |nothing unusual|nothing to add|nothing against it|nothing speaks against it|nothing speaks against that
        |nothing to complain about|nothing to worry about|nothing to report|nothing stood out|nothing stands out
        |nothing in the way|nothing stands in the way|nothing out of the ordinary|no remarks|no comments|no notes
        |no questions|no further questions|no reservations|no red flags|no doubts|no anomalies|no outliers
        |nothing suspicious|nothing odd|nothing strange|no nans|no nan|no need to wait
        |no reason to wait|no warnings|no surprises|no blockers|not bad
    """,
}

MOODS: dict[Tag, str] = {
    Tag.LATER: """
        later|in a bit|in a while|in a moment|in a minute|in a sec|soon|some other time|another time
        |not today|later today|sometime|later on|after lunch|after dinner|after the meeting
        |after my meeting|when i am back|when i'm back|when im back|when i get back|until i'm back
        |until i am back
    """,
    Tag.TIME: """
        tomorrow|tonight|tmrw|tmr|this evening|this afternoon|in the morning|in the evening
        |tomorrow morning|next week|next month|monday|tuesday|wednesday|thursday|friday|saturday|sunday
        |weekend|midnight|noon|eod|end of day|overnight|today|morning|evening|o'clock|oclock|am|pm
        |half an hour|an hour|hour|hours|minute|minutes|mins|min|hrs|hr|seconds|secs|day|days|week|weeks
    """,
    Tag.CONDITION: """
        if|when|once|unless|until|till|as soon as|after|provided|providing|assuming|in case|whenever
        |as long as|so long as|depending|depends|given that|on condition|only if|iff|while|should it
        |subject to|if and when|suppose|otherwise|or else|pending|conditional|conditionally|upon
        |by the time|permitting|provided that|finish|finish it|finish this|finish the
    """,
    Tag.BEFORE: "before|prior to|b4|ahead of",
    Tag.FIRST: "first|1st|the first|first one|the first one|former|the former|beforehand",
    Tag.SECOND: """
        second|2nd|the second|second one|the second one|latter|the latter|the last|last one|the last one
    """,
    Tag.HEDGE: """
        maybe|perhaps|probably|possibly|presumably|i think|i guess|i suppose|i believe|i'd say
        |i would say|i reckon|guess|think|might|seems|seemingly|not sure|unsure|not certain|kinda
        |kind of|sort of|sorta|i hope|hopefully|i would|i'd|i'd like|would like|would|would be|could be
        |ideally|wish|i wish|want to|wanna|want|wants|like to|tempted|inclined|imo|imho|afaik|iirc
        |apparently|supposedly|or something|or whatever|whatever|i could|we could|we might|we should
        |we can|we may|should be|should be fine|could|consider|considering|thinking|what if|how about
        |what about|in theory|in principle|feels|feel like|worth|plan to|planning to|going to|gonna
        |time to|about to|will be|it'll be|they'll be|ready to|good to|ok to|okay to|safe to|fine to|happy to
        |free to|able to|clear to
        |need to|needs to|have to|has to|ought to|supposed to|must|eventually|or not|tho|though|idk
        |dunno|hm|hmm|hmmm|um|uh|er|eh|meh|ish
    """,
    Tag.REPORT: """
        said|says|say|told|tells|tell|asked|asks|ask|according to|quote|quoted|quoting|wrote|writes
        |write|mentioned|claims|claimed|saying|telling|type|typed|reply|replied|heard|word|words|command
        |message|button|called|named|means|meant|mean|translated|reads|text|e.g.|example|suggested
        |suggests|thinks|believes|reckons|allegedly|pretends|recommends|recommended|insisted|announced
    """,
    Tag.JOKE: """
        lol|lmao|rofl|haha|hahaha|hehe|jk|kidding|just kidding|joking|joke|yeah right|as if|sarcasm|/s
        |s/|lolz|xd|imagine|imagine if|obviously not|ha|oh sure|oh great|oh nice|oh cool|oh wonderful
        |just great|just what|sure jan|good luck|what could go wrong|famous last words
    """,
    Tag.HYPE: """
        lfg|let's go|lets go|let's gooo|let's goo|letsgo|let's fucking go|yolo|hell yeah|hell yes|woo
        |woohoo|wohoo|go go|go go go|gogogo|gogo|go go go go|to the moon|boom|send it|full send
        |let it rip|hyped|hype|wagmi|vamos|let's do this|lets do this|let's roll|let's rock|punch it
        |buckle up
    """,
    Tag.IDIOM: """
        without me|ship it|make it so|full steam ahead|fire away|green light|greenlight|green lit|engage
        |all systems go|make it happen|have at it|knock yourself out|be my guest|all yours|your call
        |up to you|you decide|as you wish|as you like|by all means|whatever you think|onwards|onward
        |you have my approval|you have my ok|you have my blessing|my approval|kick it|off to|off we go|ship|roll
        |rock on|have fun|go nuts|go wild|go crazy|hit it|ready set go|good to go|ready to go
        |ready when you are|cont|contd|next|next please|next up|and next
    """,
    Tag.WH: """
        what|what's|whats|who|who's|whos|whose|why|how|how's|hows|where|where's|when is|when will
        |any idea when|any clue when|do you know when|you know when|wonder when|any idea how long
        |when did|when does|when was|when's|when are|when do|how come|wtf|wat|since when|which|which one
    """,
    Tag.MODAL: """
        should|shall|can|can you|could you|would you|will you|may i|may we|can i|can we|could we|could i
        |shall we|shall i|should i|should we|why not|why don't we|why dont we|do we|do you|do i|may|mind if
        |would it|any chance
    """,
    Tag.AUX: """
        is|it's|are|was|were|has|had|be|been|being|does|did|will|it'll|he's|she's|that's|thats|there's
        |there is|we're|they're|'s
    """,
    Tag.SUBJECT: """
        i|we|he|she|they|i'm|im|i'll|i've|ive|i'd rather|we'll|we've|he'll|she'll|they'll|you|you'll
        |you're|someone|somebody|anyone|anybody|everybody|people|y'all|him|me|us
    """,
    Tag.PERMIT: """
        you can|you may|you can now|you may now|feel free to|please do|let's|lets|let us|pls do
        |let us now|you can go and|go and
    """,
    Tag.BUT: "but|however|although|except that|only that|on the other hand",
}
