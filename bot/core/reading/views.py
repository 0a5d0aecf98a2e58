"""What can be asked to be shown: words to views and metrics."""

from __future__ import annotations

VIEWS: dict[str, str] = {
    "summary": """
        status|state|update|updates|any update|any updates|news|any news|what's up|whats up
        |how's it going|hows it going|how is it going|how goes it|where are we|where do we stand
        |how are we doing|what's happening|whats happening|what is happening|what's going on
        |what happened|what's the status|overview|summary|summarize|recap|stat|sitrep|how's it looking
        |how does it look|results|result|show results|report|refresh|status report|show status|poll|ping
        |what are you doing|what are you up to|what do you do
        |how did it go|health|can you reach it|can you reach|reach the host|sign of life|signs of life|reconnect
        |check again|poll now|try to reach
    """,
    "eta": """
        eta|e t a|time left|how long left|how long|how much longer|time remaining|remaining time
        |how much time|when will it finish|when is it done|when will it be done|when will it end
        |when does it finish|when does it end|finish time|remaining|estimated time|how long to go|until when|till when
        |how many hours|how many hours left
    """,
    "progress": """
        progress|how far|how far along|percent|percentage|how many samples|how many|how much done
        |samples done|samples so far|count|rate|speed|throughput|samples per second|how many left
        |how much is left|how much left|step count|what step|what epoch|which step|which epoch|current step
    """,
    "logs": """
        logs|log|last lines|lines|tail|log lines|tail logs|tail log|tail -f|show logs|show log|stderr
        |stdout|traceback|stack trace|stacktrace|error message|show error|show the error
        |show me the error|the error|console|console output|what error|which error
    """,
    "plan": """
        plan|dry run|dryrun|what's next|whats next|what is next|what next|what comes next|next steps
        |show plan|what would you do|what will you do|what will happen|preview|what would happen
        |show config|config|settings|params|parameters|hyperparams|hyperparameters|show params
        |which params|cost|estimate|what settings|what lr|which lr|what config|what happens|what happens if
        |what happens when|what happens next
        |what happens now|what comes after|what happens then
    """,
    "audit": """
        audit|who approved|who started|who cancelled|who canceled|who stopped|who killed|who held
        |history|audit log|who did|who ordered|who paused|who said|who put|who launched|who may|who can
        |audit trail|who owns|whose run
    """,
    "help": """
        help|usage|commands|what can i say|what can you do|what can i do|how do i|options|man
        |how does this work|what are my options|help me|instructions
    """,
    "list": """
        list|list runs|runs|all runs|what's running|whats running|what is running|who is running
        |show runs|running runs|active runs|queue|which runs|list all
    """,
    "compare": """
        compare|compare with|compare to|compared to|compare against|vs|versus|against|diff|diff with
        |comparison with|relative to|better than
    """,
    "disk": """
        disk|disk space|disk usage|free space|how much disk|how much space|how much room|free disk|free storage
        |disk left|storage|df|space left
    """,
    "gpu": """
        gpu usage|gpu util|gpu utilization|utilization|nvidia smi|gpu memory|vram|gpu load|gpu use
        |gpu status
    """,
    "samples": """
        show samples|sample outputs|example samples|show me samples|show me some samples
        |show a few samples|preview samples
    """,
    "cleanup": "cleanup|clean up|what can be deleted|free up space",
}
METRICS: dict[str, str] = {
    "loss": "loss|losses|train loss|training loss|val loss|validation loss|loss curve",
    "accuracy": "accuracy|acc|acc 1|accuracy 1|top1|top 1",
    "acceptance_length": "acceptance length|acceptance|accept length|accept len|tau|acc len",
    "speedup": "speedup|speed up|speed-up",
    "grad_norm": "grad norm|gradient norm|gradnorm|grad",
    "perplexity": "perplexity|ppl",
}
