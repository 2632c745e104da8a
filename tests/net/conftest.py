import pytest

from lab import become_root
from servers import Pki, Servers


def pytest_configure():
    become_root()


@pytest.fixture(scope="session")
def servers():
    return Servers()


@pytest.fixture(scope="session")
def pki(tmp_path_factory):
    return Pki(tmp_path_factory.mktemp("pki"), "lab")


@pytest.fixture(scope="session")
def stranger(tmp_path_factory):
    """A CA that the operator does not know."""
    return Pki(tmp_path_factory.mktemp("stranger"), "stranger")
