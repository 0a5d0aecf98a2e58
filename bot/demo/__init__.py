"""The whole job on one machine: embedded workspace, the bot, embedded host, and, if wanted, a scripted operator."""
