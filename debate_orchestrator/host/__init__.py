"""A debate run by an agent host: the engine writes briefs as files, the host's agents answer them, and the engine
takes the replies that are there.
"""
