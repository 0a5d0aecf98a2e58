"""Cards: what a run looks like to people."""
