"""What holds for all tests of conversions."""

from __future__ import annotations

import pytest

from dpasp.limits import Limits, memory_in_use


@pytest.fixture(autouse=True)
def trials_have_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Grounding that is tried ends by its memory, if it does not end: never by its time."""
    limits = Limits(megabytes=memory_in_use() + 200)
    for module in ("problog", "problog.adapt"):
        monkeypatch.setattr(f"dpasp.converters.{module}.TRIAL_LIMITS", limits)
