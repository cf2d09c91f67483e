from __future__ import annotations

from collections.abc import Iterator

import pytest
from service_fleet import Fleet, started

_VARIABLES = ("CENOTE_CONFIG", "CENOTE_SERVICE", "CENOTE_FINGERPRINT", "CENOTE_TOKEN", "CENOTE_TOKEN_FILE")


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in _VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    made = started(tmp_path_factory.mktemp("fleet") / "parties")
    try:
        yield made
    finally:
        made.stop()
