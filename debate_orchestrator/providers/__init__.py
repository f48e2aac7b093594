"""Model APIs, programs, people and stand-ins: one file each, loaded late."""
