"""Looks up every locked dependency in the database of known vulnerabilities: exit 1 where one is affected, and a line
that says so where the database can't be reached."""

from __future__ import annotations

import json
import subprocess
import sys

COMMAND = "pip-audit --require-hashes --disable-pip -r requirements.lock --progress-spinner off --format json"


def main() -> int:
    ran = subprocess.run(COMMAND.split(), capture_output=True, check=False, text=True, timeout=300)
    if not ran.stdout.lstrip().startswith("{"):
        said = (ran.stderr.strip().splitlines() or ["no answer"])[-1]
        print(f"audit: not done: {said}")
        return 0 if "onnection" in said or "resolve" in said else 1
    found = json.loads(ran.stdout)["dependencies"]
    looked_up = [one for one in found if "skip_reason" not in one]
    affected = {one["name"]: [v["id"] for v in one["vulns"]] for one in looked_up if one["vulns"]}
    if not looked_up:
        print(f"audit: not done: the database of advisories can't be reached from here ({len(found)} dependencies)")
    else:
        print(f"audit: {len(looked_up)} of {len(found)} dependencies looked up; affected: {affected or 'none'}")
    return 1 if affected else 0


if __name__ == "__main__":
    sys.exit(main())
