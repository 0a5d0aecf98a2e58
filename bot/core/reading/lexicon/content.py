"""Words for what a message is about, and the small words that may stand in an order or beside one."""

from bot.core.reading.tags import Tag

_BETTER = ("better", "faster", "quicker", "smoother", "nicer", "cleaner")
_THAN = ("expected", "i expected", "we expected", "i thought", "we thought", "usual", "last time", "before", "hoped",
         "i hoped", "we hoped", "planned")  # fmt: skip

CONTENT: dict[Tag, str] = {
    Tag.DONE: """
        done|finished|complete|completed|over|ready|ended|through|all done|is done|wrapped up|succeeded
        |passed|through with|fully done|done now|done already|at 100 %|100%|at 100%|doen|dne|finsihed
        |landed|extracted|processed|captured|is finish|are finish|has finish|have finish
    """,
    Tag.GOOD: """
        good|fine|ok|okay|correct|healthy|solid|sane|plausible|reasonable|consistent|valid|intact
        |acceptable|as expected|expected|normal|green|stable|decent|satisfied|happy|clear|all good
        |all fine|all ok|all green|all right|all set|in order|legit|happy with|satisfied with|fine with
        |okay with|ok with
        |pleased|pleased with|content with|comfortable|comfortable with|confident|sound|sensible|looks good
        |match|matches|matching|agree with|add up|adds up|checks out|check out|present|accounted for|in place
        |look good|looks fine|looks ok|looks great|look fine|look great|proven|look right|looks right|is right
        |are right|saved|written|uploaded|synced|passed|passing|nicely|smoothly|cleanly|properly|correctly
        |successfully|flawlessly|read well|reads well|went well|went smoothly|went fine|went great|went ok
        |went okay|went fast|went perfectly|works|worked|works well|promising|converged
        |converging|improving|spot on|on track|usable|readable|coherent|sufficient|identical|finite|resolved
        |natural|realistic|diverse|accurate|relevant|on topic|flawless|pristine|what i expected|what we expected
        |as i expected|as we expected|as intended|as hoped|fixed|sorted out|cleaned|cleaned up|freed|freed up
        |back to normal|back online|convincing|adequate|reassuring|encouraging|trustworthy|impeccable
        |immaculate|faultless
        |top notch|so far so good|plenty of|there is plenty of|there's plenty of|is plenty of|ample|up to par
        |up to scratch|up to standard|in good shape|in great shape|within range|within bounds
        |within limits|in range|what we wanted|what i wanted|what we needed|what we hoped for|what i hoped for
        |as specified
    """,
    Tag.BAD: """
        broken|wrong|garbage|bad|weird|off|odd|corrupt|corrupted|truncated|incomplete|missing|strange
        |suspicious|terrible|awful|worse|empty|crap|stuck|dead|hung|frozen|hanging|stalled|crashed
        |diverged|diverging|exploded|exploding|blew up|blown up|blowing up|failed|failing|fails|fail
        |error|errors|oom|out of memory|spiking|spiked|not converging|not learning|not improving
        |not working|not decreasing|not going down|going up|flat|plateaued|overfitting|wasted|useless
        |junk|messed up|fucked|borked|buggy|bug|problem|problems|issue|issues|mistake in|slow|too slow
        |high|too high|low|too low|garbled|gibberish|nonsense|duplicated|repetitive|cut off|too short
        |not finite|nonfinite|unusable|regressed|repeat themselves|repeats itself|repeating|hangs|leaking|leaks
        |too fast|too quick|too quickly|fishy|sketchy|questionable|iffy|shady|dubious
        |sus|ugly|nasty|poor|mediocre|blank|noisy|jumpy|unstable|degenerate|degraded|degrading|mangled|scrambled
        |misaligned|mismatch|mismatched|mismatches|swapped|inverted|outdated|stale|obsolete|premature|partial
        |inconsistent|invalid|malformed|unreadable|dying|died|badly|poorly|messy|skewed|biased|contaminated
        |collapsed|collapsing|blip|hiccup|glitch|outage|timeout|timed out|crash|crashes|throttled
        |overfits|diverges|explodes|plateaus|oscillates|oscillating|overheating|overheated|disconnected|flaky
        |truncation|corruption|duplicates|duplication|gaps|spikes|regression|regressions|degradation|overflow
        |divergence|contamination|going nowhere|goes nowhere|interrupted|preempted|evicted|rebooted|segfault
        |segfaulted
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
        |compared|sampled|found|spotted|detected|noticed|observed|opened|can confirm|i can confirm|we can confirm
        |done reviewing|done checking|finished reviewing|finished checking|review done|review finished|review complete
        |review is done|done with the review|done with my review|finished my review|finished the review
        |my review is done
        |skimmed|eyeballed|examined|audited|scanned|sanity checked|went over
    """,
    Tag.FILLER: """
        ok|okay|okey|k|kk|okie|oki|sure|fine|alright|all right|roger|ack|copy|copy that|noted|understood
        |got it|right|mhm|uh huh|ok then|okay then|agreed|agree|aye|fair|fair enough|sounds good
        |works for me|sgtm|good|sure thing|will do|certainly|absolutely|definitely|of course|ofc|gotcha
        |fine by me|ok by me|okay by me|good by me|fine for me|ok for me|okay for me|good for me|ok with me
        |fine with me
        |okay with me|makes sense|wfm|seems good|done deal
    """,
    Tag.PRAISE: """
        nice|cool|great|awesome|wow|excellent|amazing|perfect|sweet|neat|lovely|beautiful|wonderful
        |fantastic|brilliant|superb|impressive|good job|great job|nice job|well done|good work
        |great work|nice work|killed it|nailed it|crushed it|congrats|congratulations|bravo|kudos
        |love it|love this|good one|nice one|yay|phew|finally|wicked|dope|sick|neato|super|looking good
        |looking great|good stuff|great stuff|great news|good news|killer|hooray|woot|killer model
        |interesting|at last|about time|smooth|fast|quick|quickly|speedy|swift|super fast|super quick|damn|dang|oh|ah
        |aha|oof|ouch|ugh|gg|fire|legend|rad|glad|happy days
    """
    + "|".join(["", *(f"{how} than {what}" for how in _BETTER for what in _THAN)]),
    Tag.POLITE: """
        please|pls|plz|plox|kindly|thanks|thank you|thx|ty|tysm|thankyou|cheers|many thanks|thanks a lot
        |thanks all|thanks everyone|thank you all|thank you so much|thanks so much|tia|thanks again
        |cool thanks|ta|pretty please|please please
    """,
    Tag.ADDRESS: """
        hi|hello|hey|yo|hey there|hi there|hello there|good morning|good evening|morning all|dear|bot
        |gm|omw|pointsman|folks|team|all|mate|buddy|bro|dude|man|sir|bye|cya|see you|sorry to bother|my friend
        |gn|good night|guys|everyone|hiya|heya|howdy|hallo|hola|greetings|moin|hello all|hi all|hey all
        |hello everyone|hi everyone
        |good afternoon|good day
    """,
    Tag.MISTAKE: """
        oops|ooops|whoops|wrong thread|wrong channel|wrong run|wrong one|wrong window|my bad|my mistake
        |by mistake|mistake|didn't mean to|did not mean to|mistyped|misclick|misclicked|never mind
        |nevermind|nvm|sorry|accident|accidentally|forgot|forgot to|scratch that|disregard|oh no|oh shit|shit
        |fuck|argh
        |my fault|typo|not meant|wasn't meant|wasnt meant|was not meant|meant for another|meant another
        |meant the other
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
        |ckpt|ckpts|cfg|eos|bos|template|templates|tokenizer|tokenization|vocabulary|config|configs|format|formatting
        |encoding|mask|masks
        |padding|label|labels|prompt|response|responses|completion|completions|distribution|histogram|histograms
        |eval|evals|norms|gradients|logits|targets|dtype|dtypes|dims|dimensions|lengths|length|sizes|json|jsonl
        |parquet|safetensors|metadata|layers|layer|embeddings|dashboard|wandb|tensorboard|node|nodes|network
        |space|room|headroom|driver|drivers|cluster|bucket|storage|mount|nfs|cuda|nccl|kernel|container
        |environment|quota|ram|cpu
        |power|engine|cache|directory|folder|path|base model|learning curve
    """,
    Tag.PART: "some|several|most|mostly|many|few|couple",
    Tag.GLUE: """
        it|this|that|so|indeed|already|for me|for us|from my side|from me|from here|on my side|on my end
        |on my part|btw|fyi|then|therefore|hence|thus
    """,
    Tag.RESUMED: """
        from checkpoint|from the checkpoint|from the last checkpoint|from last checkpoint
        |where it stopped|from where it stopped|where it left off|from where it left off|from there
    """,
    Tag.FILL: """
        yet|have|these|those|of|for|there|here|as|up|very|really|from|by hand|manually|personally|myself
        |thoroughly|carefully|in detail|because|since|cause|bc|cuz|coz|due to|mine
        |something|anything|thing|things|ahead|to me|pretty|quite|totally|same here|way|still|though i|per
        |more or less|overall|everywhere|long|under|below|above|least|left|far|also|too|even|by now|now that
        |well|anywhere|whatsoever|unfortunately|sadly|alas|regrettably
        |afraid
    """,
    Tag.STATE: """
        alive|active|ours|all ours|idle|progressing|moving|busy|hanging|lively|healthy|reachable|online|offline
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
    Tag.AGAIN: """
        again|once more|once again|one more try|one more attempt|another attempt|one more go|one last try
        |one more time|anew|another go|another try|another shot|another chance|another spin|second time|re
    """,
    Tag.PAST: """
        continued|continues|continuing|proceeded|proceeds|proceeding|started|starts|starting|launched
        |launches|launching|going|goes|went|gone|stopped|stops|stopping|cancelled|canceled|cancels
        |cancelling|killed|kills|killing|aborted|aborting|waited|waits|waiting|held|holds|holding|paused
        |pausing|resumed|resuming|retried|retries|retrying|restarted|restarting|running|runs|ran
        |terminated|skipped|skipping|approves|approving|approval|begins|beginning|began|begun
        |went down|came down|goes down|dropped|stayed|turned out|came out|benchmarked|benchmarking|trained|trains
        |extracting
    """,
}
