"""Tournaments: many debates, and what their verdicts add up to."""
