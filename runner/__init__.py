"""What runs on the GPU host: one verb a stage, and the contract that it shares with the bot."""
