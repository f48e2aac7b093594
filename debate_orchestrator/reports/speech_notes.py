"""What a report in markdown says of a speech in a line of its own, right above or below it.

Each is the pattern of such a line without its emphasis. A transcript is read back by them, and a line of a speech that
would be one of them is escaped (`markup.block`), so that only the report says them.
"""

DECLINED = r"[^*\n]+ declined to argue\. A refusal is no concession\."
CUT = r"Here (?:a limit of length cut the speech short|the limit of [\d,]+ words was reached: [^*\n]+)\."
ADDED = r"(?:It writes lines for the other side, which this format forbids|With this, [^\n]+ conceded the debate)\."
ANY = rf"(?:{DECLINED}|{CUT}|{ADDED})"
