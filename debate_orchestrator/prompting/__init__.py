"""Briefs out, replies in: the prompt that a seat is sent, and what comes back."""
