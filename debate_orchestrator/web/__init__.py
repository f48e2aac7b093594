"""Debates in a browser: routes, views and live streams over the public API. What is decided is decided elsewhere."""
