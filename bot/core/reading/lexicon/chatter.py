"""The everyday words of chatter: known, so that no slip of the fingers makes an order of them."""

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
