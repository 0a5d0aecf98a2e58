"""What a benchmark leaves in its data folder."""

RESULT = "result.json"  # the figures; written last
RECORDS = "requests.jsonl"  # one line a request
STARTS = "servers.jsonl"  # one line a server start, with what that server says of itself
PROMPTS = "prompts.jsonl"  # the token ids that were sent
PICTURE = "bench.png"
ALL = (RESULT, RECORDS, STARTS, PROMPTS, PICTURE)
