"""A debate on disk: its journal, the names of its files, and writing files atomically."""
