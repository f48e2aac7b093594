"""Tournaments on many machines: workers take debates from a queue in PostgreSQL and write their journals there."""
