"""English words by what they do in a message. To teach the reader a word, add it to its class here.

A class is a string of forms separated by "|"; a form may be several words. The longest form wins, so
"no problem" is read before "no". A word in no class is UNKNOWN, and an order next to it does not act.
"""

from __future__ import annotations

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


ORDERS: dict[Tag, str] = {
    Tag.PROCEED: """
        continue|proceed|go|go ahead|go on|go forward|goahead|carry on|move on|move ahead|move forward
        |move to|move over to|press on|approve|approved|advance|go for it|do it|next stage|next step|on to|onto
    """,
    Tag.YES: "yes|yep|yup|yeah|yes please|affirmative",
    Tag.LGTM: "lgtm|looks good to me",
    Tag.BEGIN: """
        start|begin|launch|kick off|kickoff|run|start up|spin up|fire up|trigger|start it up|spin it up|fire it up
        |kick it off|get it started|get it going|do the
    """,
    Tag.RESUME: """
        resume|unhold|un hold|unpause|un pause|release|lift hold|lift the hold|release the hold|pick up
    """,
    Tag.RETRY: """
        retry|re try|try again|rerun|re run|run again|run it again|run that again|redo|re do|do it again
        |try it again|try that again|try once more|start again|start it again|restart|re start|relaunch
        |re launch|retrain|re train|reextract
    """,
    Tag.FRESH: """
        from scratch|start over|fresh|clean|from zero|from the beginning|from the start|from the top
        |afresh|start from scratch|fresh start|wipe|discard
    """,
    Tag.HOLD: """
        hold|hold on|hold off|hold it|hold up|hold that|on hold|wait|wait up|wait a sec|wait a second
        |wait a minute|wait a bit|pause|pause it|hang on|hang tight|one sec|one second|one moment
        |one minute|1 sec|a sec|sec|just a sec|just a moment|moment|give me a sec|give me a second
        |give me a minute|give me a moment|give me a bit|give me some time|need a minute|need a sec
        |need more time|stand by|standby|snooze|not yet|not now|not so fast|not just yet|no go|park it
        |park this|park|freeze|whoa|woah|hodl|easy|slow down|postpone|defer|delay|hold fire
        |hold your horses|keep it on hold|keep waiting|stay put|keep holding|wait for|back off
        |leave it for now|hold tight|sit tight|let me think|let me check|let me look|let me see
        |let me verify|hold please|stop there|nothing yet|not ready|not ready yet|not happy
        |not convinced|not good|not ok|not okay|not good enough|not until|veto|reject|rejected|deny
        |denied|decline|declined|disapprove|objection|i object|stay|do nothing|still looking
        |still checking|still reviewing|still looking at|still verifying|still testing|need to think
        |need time|need some time|rather not|better not|please not|i'd rather not|prefer not
    """,
    Tag.STOP: "stop|halt|stop it|stop that|stop this|stop now|cease",
    Tag.CANCEL: """
        cancel|abort|kill|terminate|shut down|shut it down|shutdown|stop the run|pull the plug
        |take it down|end it
    """,
    Tag.NUKE: "nuke|destroy|obliterate|purge|delete|erase|rm rf|wipe out|remove|trash",
    Tag.ODD_KILL: "^c|ctrl c|ctrl + c|control c|sigkill|sigterm|sigint|kill 9|kill - 9|kill -9|pkill|scancel",
    Tag.UNDO: "undo|revert|roll back|rollback|take it back|take that back|unstart",
    Tag.KEEP: """
        keep going|keep it going|keep running|keep it running|let it run|let it go on|let it continue
        |let it finish|leave it running|leave it|leave it alone|leave it be|let it be|keep at it
        |keep it up|let it cook|keep training|keep extracting|let it train
    """,
    Tag.SKIP: """
        skip|bypass|leave out|jump over|straight to|jump to|skip to|go straight to|directly to
        |jump straight to|skip ahead to|go directly to
    """,
    Tag.EXTEND: "generate|extend|add another|add more|append|produce|collect|regenerate|synthesize|add",
    Tag.WAIVE: """
        anyway|anyways|regardless|nevertheless|ignore it|ignore that|ignore this|accept it|accept that
        |force|force it|override it|waive|waive it|accept|accepted|good enough|close enough
        |fine with that|is enough|are enough|enough
    """,
    Tag.CONFIRM: "confirm|confirmed|i confirm|i am sure|i'm sure",
}

POLARITY: dict[Tag, str] = {
    Tag.NO: "no|nope|nah|n|noo|nay|negative|no way|nuh uh|hell no|no thanks|no thank you|heck no|thumbs down",
    Tag.NOT: """
        not|don't|dont|do not|donot|don t|dun|dnt|dotn|never|can't|cant|cannot|can not|won't|wont
        |will not|shouldn't|shouldnt|should not|mustn't|must not|isn't|isnt|aren't|arent|wasn't|doesn't
        |doesnt|didn't|didnt|haven't|havent|hasn't|hasnt|wouldn't|wouldnt|couldn't|couldnt|ain't|aint
        |nobody|no one|noone|nothing|none of|neither of|nowhere|hardly|barely|stop asking|refuse|refrain
        |avoid|forbid|prevent|nor|hadn't|weren't|needn't|no longer|dont't
    """,
    Tag.WITHOUT: "without|w/o|w o|instead|instead of|rather than|except|minus|unlike",
    Tag.BOUND: """
        no problem|no problems|no prob|np|no worries|no issues|no issue|no objections|no objection
        |no complaints|no errors|no error|no concerns|no doubt|nothing wrong|nothing weird
        |nothing unusual|nothing suspicious|nothing odd|nothing strange|no nans|no nan|no need to wait
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
        |by the time|finish|finish it|finish this|finish the
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
        |about to|ready to|good to|ok to|okay to|safe to|fine to|happy to|free to|able to|clear to
        |need to|needs to|have to|has to|ought to|supposed to|must|eventually|or not|tho|though|idk
        |dunno|hm|hmm|hmmm|um|uh|er|eh|meh|ish
    """,
    Tag.REPORT: """
        said|says|say|told|tells|tell|asked|asks|ask|according to|quote|quoted|quoting|wrote|writes
        |write|mentioned|claims|claimed|saying|telling|type|typed|reply|replied|heard|word|words|command
        |message|button|called|named|means|meant|mean|translated|reads|text|e.g.|example|suggested
        |suggests|recommends|recommended|insisted|announced
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
        |roll|rock on|have fun|go nuts|go wild|go crazy|hit it|ready set go|good to go|ready to go
        |ready when you are|cont|contd|next|next please|next up|and next
    """,
    Tag.WH: """
        what|what's|whats|who|who's|whos|whose|why|how|how's|hows|where|where's|when is|when will
        |when did|when does|when was|when's|when are|when do|how come|wtf|wat|since when|which|which one
    """,
    Tag.MODAL: """
        should|shall|can|can you|could you|would you|will you|may i|may we|can i|can we|could we|could i
        |shall we|shall i|should i|should we|do we|do you|do i|may|mind if|would it|any chance
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

CONTENT: dict[Tag, str] = {
    Tag.DONE: """
        done|finished|complete|completed|over|ready|ended|through|all done|is done|wrapped up|succeeded
        |passed|through with|fully done|done now|done already|at 100 %|100%|at 100%|doen|dne|finsihed
        |landed
    """,
    Tag.GOOD: """
        good|fine|ok|okay|correct|healthy|solid|sane|plausible|reasonable|consistent|valid|intact
        |acceptable|as expected|expected|normal|green|stable|decent|satisfied|happy|clear|all good
        |all fine|all ok|all green|all right|all set|in order|legit|happy with|sound|sensible|looks good
        |match|matches|matching|agree with|add up|adds up|checks out|check out|present|accounted for|in place
        |look good|looks fine|looks ok|looks great|look fine|look great|proven
    """,
    Tag.BAD: """
        broken|wrong|garbage|bad|weird|off|odd|corrupt|corrupted|truncated|incomplete|missing|strange
        |suspicious|terrible|awful|worse|empty|crap|stuck|dead|hung|frozen|hanging|stalled|crashed
        |diverged|diverging|exploded|exploding|blew up|blown up|blowing up|failed|failing|fails|fail
        |error|errors|oom|out of memory|spiking|spiked|not converging|not learning|not improving
        |not working|not decreasing|not going down|going up|flat|plateaued|overfitting|wasted|useless
        |junk|messed up|fucked|borked|buggy|bug|problem|problems|issue|issues|mistake in|slow|too slow
        |high|too high|low|too low|garbled|gibberish|nonsense|duplicated|repetitive|cut off|too short
        |not finite|nonfinite|unusable|regressed
    """,
    Tag.NAN: "nan|nans|inf|infinite",
    Tag.CHECK: """
        check|double check|look at|inspect|review|verify|read|see|spot check|validate|examine
        |sanity check|confirm that|look into|look over|look through|go through|go over|have a look
        |take a look
    """,
    Tag.REVIEW: """
        checked|checking|double checked|double-checked|look|looked|looked at|looked over|looking|looks
        |inspected|reviewed|verified|seen|saw|went through|spot checked|spotchecked|validated|tested
        |compared|sampled|skimmed|eyeballed|examined|audited|scanned|sanity checked|went over
    """,
    Tag.FILLER: """
        ok|okay|okey|k|kk|okie|oki|sure|fine|alright|all right|roger|ack|copy|copy that|noted|understood
        |got it|right|mhm|uh huh|ok then|okay then|agreed|agree|aye|fair|fair enough|sounds good
        |works for me|sgtm|good|sure thing|will do|certainly|absolutely|definitely|of course|ofc|gotcha
        |makes sense|wfm|seems good|done deal
    """,
    Tag.PRAISE: """
        nice|cool|great|awesome|wow|excellent|amazing|perfect|sweet|neat|lovely|beautiful|wonderful
        |fantastic|brilliant|superb|impressive|good job|great job|nice job|well done|good work
        |great work|nice work|killed it|nailed it|crushed it|congrats|congratulations|bravo|kudos
        |love it|love this|good one|nice one|yay|phew|finally|wicked|dope|sick|neato|super|looking good
        |looking great|good stuff|great stuff|great news|good news|killer|hooray|woot|killer model
        |interesting|damn|dang|oh|ah|aha|oof|ouch|ugh|gg|fire|legend|rad|glad|happy days
    """,
    Tag.POLITE: """
        please|pls|plz|plox|kindly|thanks|thank you|thx|ty|tysm|thankyou|cheers|many thanks|thanks a lot
        |thanks all|thanks everyone|thank you all|thank you so much|thanks so much|tia|thanks again
        |cool thanks
    """,
    Tag.ADDRESS: """
        hi|hello|hey|yo|hey there|hi there|hello there|good morning|good evening|morning all|dear|bot
        |pointsman|folks|team|all|mate|buddy|bro|dude|man|sir|bye|cya|see you|sorry to bother|my friend
        |gn|good night|guys|everyone
    """,
    Tag.MISTAKE: """
        oops|ooops|whoops|wrong thread|wrong channel|wrong run|wrong one|wrong window|my bad|my mistake
        |by mistake|mistake|didn't mean to|did not mean to|mistyped|misclick|misclicked|never mind
        |nevermind|nvm|sorry|accident|accidentally|scratch that|disregard|oh no|oh shit|shit|fuck|argh
        |typo|not meant|wasn't meant|wasnt meant|was not meant|meant for another|meant another|meant the other
    """,
    Tag.BULK: """
        everything|all of them|all runs|all the runs|every run|all jobs|all of it|all the jobs|every job
        |each run|them all|the lot|all three|whatever is running
    """,
    Tag.BOTH: "both|both of them|both runs|the two|all|each|them both|both please",
    Tag.NEITHER: """
        neither|none|neither of them|none of them|neither one|not any|neither of those|none of those
    """,
    Tag.WHICH: """
        the other|the other one|other one|that one|this one|other|either|any|either one|whichever
        |any of them|one of them|either of them|the next one|the bigger one|the smaller one|the new one
        |the old one
    """,
    Tag.SAME: """
        same as|same|same settings|same config|same params|usual|the usual|as usual|last time
        |as last time|as before|like before|like last time|as always|default|defaults|previous
        |the previous|like yesterday|like r|as discussed|we discussed|what we discussed|as agreed
        |you know what|the thing|as planned|like we said|as we said|the plan we|old settings|yesterday
    """,
    Tag.RELATIVE: """
        lower|raise|increase|decrease|bump|bump up|reduce|higher|smaller|bigger|larger|double|halve|half
        |more|fewer|less|longer|shorter|drop|crank|crank up|turn down|turn up|tweak|adjust|change|a bit
        |slightly|faster|slower|tune|modify|increase the|decrease the|tad|little|twice|shrink|grow
    """,
    Tag.SET: """
        use|using|set|with|make|make it|switch to|change|try with|put|give it|try|w|let's use|lets use
        |change the|update|have|take|w/|override|pass|move to|move it to
    """,
    Tag.MORE: "more|additional|extra|another|further",
    Tag.MY: "my|your|his|their|our|its|her|someone's|a friend's",
    Tag.NOUN: """
        samples|sample|shards|shard|logs|log|data|dataset|files|file|numbers|number|curve|curves|results
        |result|checkpoint|checkpoints|weights|output|outputs|evidence|headers|tokens|token|plots|plot
        |graph|metrics|run|job|jobs|stage|step|steps|one|card|stats|gate|process|host|model|models
        |hidden states|states|features|examples|rows|quality|count|counts|rate|rates|report|chart|lines
        |line|machine|box|gpu|gpus|server|pilot|tensors|shapes|manifest|checksum|checksums|pipeline|them
        |batch|prompts|answers|generation|generations|values|it all|disk|memory|few|lot|some|couple
        |random|several|most|mostly|many|exit code|exit|code|checks|tests|verification|validation|everything else
    """,
    Tag.PART: "some|several|most|mostly|many|few|couple",
    Tag.GLUE: """
        it|this|that|so|indeed|already|for me|for us|from my side|from me|from here|on my side|on my end
        |on my part|btw|fyi|then
    """,
    Tag.RESUMED: """
        from checkpoint|from the checkpoint|from the last checkpoint|from last checkpoint
        |where it stopped|from where it stopped|where it left off|from where it left off|from there
    """,
    Tag.FILL: """
        yet|have|these|those|of|for|there|here|as|up|very|really|from|because|since|cause|bc|mine
        |something|thing|things|ahead|to me|pretty|quite|totally|same here|way|still|though i|per
        |more or less|overall|long|under|below|above|least|left|far|also|too|even|by now|now that|well
    """,
    Tag.STATE: """
        alive|active|idle|progressing|moving|busy|hanging|lively|healthy|reachable|online|offline
        |unreachable|free|available|full|responding
    """,
    Tag.SHOW: """
        show|last|recent|latest|newest|show me|print|display|get|fetch|let me see|post|send me|tell me
        |gimme|check on|show us|list me|how is|how are|current|final|best|-n|-f|so far
    """,
    Tag.NEED: "need|needs|give me|give us|give it|need another|another",
    Tag.NOW: "now|right now|immediately|asap|right away|straight away|at once|already now|rn|now please",
    Tag.ARTICLE: "the|a|an",
    Tag.ONLY: "only|just|simply|merely",
    Tag.AGAIN: "again|once more|one more time|anew|another go|another try|second time|re",
    Tag.PAST: """
        continued|continues|continuing|proceeded|proceeds|proceeding|started|starts|starting|launched
        |launches|launching|going|goes|went|gone|stopped|stops|stopping|cancelled|canceled|cancels
        |cancelling|killed|kills|killing|aborted|aborting|waited|waits|waiting|held|holds|holding|paused
        |pausing|resumed|resuming|retried|retries|retrying|restarted|restarting|running|runs|ran
        |terminated|skipped|skipping|approves|approving|approval|begins|beginning|began|begun
        |benchmarked|benchmarking|trained|trains|extracted|extracting
    """,
}

# The everyday words of chatter: known, so that no slip of the fingers makes an order of them.
CHATTER = """
    about|actually|after|afternoon|around|away|back|beach|beer|being|bench mark|bench press|best|better
    |big|bike|book|boss|branch|brb|break|brunch|bunch|bus|call|car|cause|coffee|cold|contain|contained
    |content|context|continent|cook|crazy|day|dinner|doc|docs|down|drain|early|eat|end|enjoy|entry|ever
    |every|family|feel|find|fix|food|found|friend|fun|gait|game|get|gold|gone|got|half|hall|halo|halts
    |hand|happen|happens|hard|haste|hats|hear|hell|help me|hod|hole|home|hop|hope|hot|house|into|keep
    |kid|kids|know|lags|late|laws|leave|legs|let|life|light|lights|like|live|loose|lose|lost|lots|loud
    |love|lunch|made|meet|meeting|meetings|might|mind|month|movie|much|music|need|new|news|night|office
    |old|only|open|order|other|out|own|part|party|past|paste|pay|people|person|phone|pizza|plan|plane
    |play|plots|point|pose|post|pr|pull|push|put|rain|ran|real|retro|review|room|rub|rum|sad|sage|save
    |scream|seed|seeds|send|share|ship|shop|should've|show|side|sit|sleep|slot|smart|snack|soccer|sold|song|speed
    |sport|stand|star|stark|stars|starts|stat|state|stay|step|still|stock|stop sign|story|street|stuff
    |sun|table|take|talk|tall|tea|team|thing|ticket|told|took|town|trail|train station|trains|trait
    |travel|trip|true|try|two|vacation|waist|walk|wall|want|war|warm|waste|watch|water|watts|weather
    |went|west|while|wife|wine|wish|work|working|works|world|year|years
"""
