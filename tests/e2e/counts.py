"""A plugin of pytest for run.sh, whichever folders it runs: how many tests passed and failed, and which failed."""

import os
from pathlib import Path


def pytest_terminal_summary(terminalreporter):
    """For run.sh: the counts in one form, zeros included, and the tests that failed, or the files
    whose beginning did, a line each."""
    counted = {k: len(terminalreporter.stats.get(k, [])) for k in ("passed", "failed", "error")}
    if "E2E_COUNTS" in os.environ:
        Path(os.environ["E2E_COUNTS"]).write_text(f"{counted['passed']} passed, {counted['failed'] + counted['error']} failed\n")
    if "E2E_FAILED" in os.environ:
        stats = terminalreporter.stats
        bad = {report.nodeid for report in stats.get("failed", [])}
        bad |= {report.nodeid.split("::")[0] for report in stats.get("error", [])}  # the beginning of a file fails once for all its tests
        Path(os.environ["E2E_FAILED"]).write_text("".join(f"{name}\n" for name in sorted(bad)))
