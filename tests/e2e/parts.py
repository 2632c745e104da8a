"""A plugin of pytest for run.sh: several runs, each with a control plane of its own, share the test files. A run claims a file before its
first test by creating E2E_CLAIMS/NAME, and leaves out the files that another run has claimed. Files marked `slow` (they take more than a
minute) are claimed first, then those with many tests, so that all runs end at about the same time. Files marked `tls12` run older
programs, which speak TLS 1.2 alone: a run with E2E_TLS13 leaves them to the others, because its API server refuses that version."""

import itertools
import os
from pathlib import Path

import pytest


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: a file that takes more than a minute")
    config.addinivalue_line("markers", "tls12: a file whose programs speak TLS 1.2 alone")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """Orders whole files; the tests of each keep their order."""
    files = [list(group) for _, group in itertools.groupby(items, key=lambda item: item.path)]
    files.sort(key=lambda group: (not group[0].get_closest_marker("slow"), -len(group)))
    items[:] = [item for group in files for item in group]


def claim(path):
    try:
        Path(os.environ["E2E_CLAIMS"], path.name).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def claimed(items):
    for path, group in itertools.groupby(items, key=lambda item: item.path):
        tests = list(group)
        if "E2E_TLS13" in os.environ and tests[0].get_closest_marker("tls12"):
            continue
        if claim(path):
            yield from tests


def pytest_runtestloop(session):
    if "E2E_CLAIMS" not in os.environ or session.config.option.collectonly or session.testsfailed:
        return None  # pytest's own loop: all items, or what it says about files that could not be read
    mine = claimed(session.items)
    item = next(mine, None)
    while item:
        following = next(mine, None)  # pytest keeps what both tests use, such as the definitions of a session
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        item = following
    return True
