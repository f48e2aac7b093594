"""Runs debates: start, loop, turns, budget, retry, judging again."""
