"""Words that can be an order."""

from bot.core.reading.tags import Tag

ORDERS: dict[Tag, str] = {
    Tag.PROCEED: """
        continue|proceed|go|go ahead|go on|go forward|goahead|carry on|move on|move ahead|move forward
        |move to|move over to|press on|approve|approved|advance|go for it|do it|next stage|next step|on to|onto
        |i approve|i hereby approve|we approve|approved by me|approved from my side|let's go on|lets go on
        |let us go on|let's go ahead|lets go ahead|let us go ahead|let's go forward
        |lets go forward
    """,
    Tag.YES: "yes|yep|yup|yeah|yes please|affirmative",
    Tag.LGTM: "lgtm|looks good to me",
    Tag.BEGIN: """
        start|begin|launch|kick off|kickoff|run|start up|spin up|fire up|trigger|start it up|spin it up|fire it up
        |kick it off|get it started|get it going|do the
    """,
    Tag.RESUME: """
        resume|unhold|un hold|unpause|un pause|release|lift hold|lift the hold|release the hold|pick up
        |pick it up|pick this up|pick that up|off hold|take it off hold|take off hold|end the hold
        |remove the hold|drop the hold|cancel the hold|clear the hold|undo the hold|release it
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
        |hold your horses|hold the phone|pump the brakes|hit the brakes|tap the brakes|slow your roll|cool your jets
        |hit pause|red light|keep it on hold|keep waiting|stay put|keep holding|wait for|back off
        |leave it for now|hold tight|sit tight|let me think|let me check|let me look|let me see
        |let me verify|hold please|stop there|nothing yet|not ready|not ready yet|not happy
        |not convinced|not good|not ok|not okay|not good enough|not until|veto|reject|rejected|deny
        |denied|decline|declined|disapprove|objection|i object|stay|do nothing|still looking
        |still checking|still reviewing|still looking at|still verifying|still testing|need to think
        |need time|too early|too soon|needs another look|needs a look|needs another check|needs a check|needs work
        |parked|keep it parked|leave it parked|nothing starts|nothing runs|need some time|rather not|better not
        |need to check|need to look|need to verify|need to review|need to inspect|have to check|have to look
        |let it rest|let it sit|not at the moment|not at this time|not at this point|not right now|not for now
        |not this time|not tonight
        |please not|i'd rather not|prefer not
    """,
    Tag.STOP: "stop|halt|stop it|stop that|stop this|stop now|cease",
    Tag.CANCEL: """
        cancel|abort|kill|terminate|shut down|shut it down|shutdown|stop the run|pull the plug
        |take it down|end it
    """,
    Tag.NUKE: """
        nuke|destroy|obliterate|purge|delete|erase|rm rf|wipe out|remove|trash|rm -rf|rm -r|rm -f|scrap|ditch
        |bin it|toss it|throw it away|get rid of
    """,
    Tag.ODD_KILL: "^c|ctrl c|ctrl + c|control c|sigkill|sigterm|sigint|kill 9|kill - 9|kill -9|pkill|scancel",
    Tag.UNDO: "undo|revert|roll back|rollback|take it back|take that back|unstart",
    Tag.KEEP: """
        keep going|keep it going|keep running|keep it running|let it run|let it go on|let it continue
        |let it finish|leave it running|leave it|leave it alone|leave it be|let it be|keep at it
        |keep it up|leave it there|leave it as it is|leave it as is|leave it like that|leave it like this
        |let it cook|keep training|keep extracting|let it train
    """,
    Tag.SKIP: """
        skip|bypass|leave out|jump over|straight to|jump to|skip to|go straight to|directly to
        |jump straight to|skip ahead to|go directly to
    """,
    Tag.EXTEND: "generate|extend|add another|add more|append|produce|collect|regenerate|synthesize|add",
    Tag.WAIVE: """
        anyway|anyways|regardless|nevertheless|ignore it|ignore that|ignore this|accept it|accept that
        |force|force it|override it|waive|waive it|accept|accepted|good enough|close enough
        |fine with that|with what we have|with what is there|with what's there|without them|without the rest
        |without the missing ones|as is|as they are|who cares|i don't care|don't care|dont care|do not care
        |doesn't matter|doesnt matter
        |does not matter|is plenty|are plenty|suffices|that'll do|is enough|are enough|enough
    """,
    Tag.CONFIRM: "confirm|confirmed|i confirm|i am sure|i'm sure",
}
