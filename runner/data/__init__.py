"""Data that ships: prompts to train on and to benchmark with."""
