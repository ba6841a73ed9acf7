"""Known vulnerabilities of the packages in the lock file, and whether anybody could be asked.

Exit codes: 0 every package was looked up and none is known to be vulnerable, 1 some are, 3 some or all could
not be looked up (pip-audit itself passes over those in silence and says that nothing was found).
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

LOCK = Path(__file__).parents[1] / "requirements-dev.lock"


def verdict(dependencies: list[dict[str, Any]]) -> tuple[int, list[str]]:
    """The exit code, and what to say."""
    lines = [
        f"{one['name']} {one['version']}: {found['id']}, mended in {', '.join(found['fix_versions']) or 'no version'}"
        for one in dependencies
        for found in one.get("vulns", [])
    ]
    if lines:
        return 1, lines
    skipped = [one["name"] for one in dependencies if "skip_reason" in one]
    asked = len(dependencies) - len(skipped)
    if not asked:
        return 3, [
            f"NOT AUDITED: the vulnerability service was not reached, or knows none of {len(skipped)} packages"
        ]
    if skipped:
        return 3, [f"{asked} packages have no known vulnerability; NOT AUDITED: {', '.join(skipped)}"]
    return 0, [f"{asked} packages, no known vulnerability"]


def main() -> int:
    command = [
        sys.executable,
        "-m",
        "pip_audit",
        "--requirement",
        str(LOCK),
        "--disable-pip",
        "--format",
        "json",
    ]
    done = subprocess.run([*command, "--progress-spinner", "off"], capture_output=True, text=True)
    try:
        dependencies = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        told = (done.stderr.strip().splitlines() or ["pip-audit said nothing"])[-1]
        print(told, file=sys.stderr)
        return 3 if re.search("connect|timed out|resolve|HTTP", told, re.IGNORECASE) else 1
    code, lines = verdict(dependencies)
    print("\n".join(lines))
    return code


if __name__ == "__main__":
    sys.exit(main())
