"""Briefs out, replies in: what is put before a seat, and what comes back."""
