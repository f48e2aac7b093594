"""Debates that visitors start on topics of their own, within what the owner of the site permits."""
