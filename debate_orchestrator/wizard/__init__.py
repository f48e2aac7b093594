"""The setup conversation at a terminal: it asks what the interview asks, and who fills the seats.

`conversation` holds it, `asking` puts one question, `casting` finds who speaks, `moderating` has topics restated and
positions derived, `saving` keeps the answers, and `outlook` tells what they would take.
"""
