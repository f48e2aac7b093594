"""A debate run by an agent host: the engine lays out briefs as files, the host's agents answer them,
and the engine takes the replies that are there.

`desk` is the folder between the two, `asking` the setup conversation, `stepping` the debate.
"""
