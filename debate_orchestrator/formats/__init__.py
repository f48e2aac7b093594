"""Formats as data: found, read, validated and copied."""
