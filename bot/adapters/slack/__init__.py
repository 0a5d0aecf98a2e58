"""Slack: what is heard, what is said, and who is who. Nothing else in the bot imports its packages."""
