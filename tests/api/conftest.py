"""What the tests of the API share."""

import pytest
import requests
import served


class Client(requests.Session):
    """Asks one server: addresses begin with a slash."""

    def __init__(self, url):
        super().__init__()
        self.url = url
        # Proxies of the environment are not for this machine.
        self.trust_env = False

    def request(self, method, url, *args, **options):
        options.setdefault("timeout", 30)
        return super().request(method, self.url + url, *args, **options)


@pytest.fixture(scope="session")
def url():
    """Where the API is."""
    with served.server() as url:
        yield url


@pytest.fixture
def client(url):
    """Asks the server."""
    with Client(url) as client:
        yield client
