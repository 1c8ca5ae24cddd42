"""Features of a cluster as kafka-python shows them, and raising a level."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.kafka import features, library
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.library import errors

OK, NOT_CONTROLLER, UPDATE_FAILED = (0, None), 41, 96
UPGRADE = 1


class Admin:
    """An admin client with features, whose controller gives one answer."""

    def __init__(
        self,
        overall: tuple[int, str | None] = OK,
        results: list[tuple[int, str | None]] | None = None,
    ) -> None:
        entries = [
            SimpleNamespace(error_code=code, error_message=text)
            for code, text in (overall, *(results or ()))
        ]
        self._answer, self._manager = SimpleNamespace(**vars(entries[0]), results=entries[1:]), self
        self.sent: list[Any] = []

    def describe_features(self) -> dict[str, Any]:
        return {
            "metadata.version": {"supported": (7, 30), "finalized": (7, 25)},
            "share.version": {"supported": (0, 1)},
            "gone.version": {"finalized": (0, 1)},
        }

    def _build_feature_updates(self, levels: dict[str, int]) -> Any:
        return library.KafkaAdminClient._build_feature_updates(levels)

    def _send_request_to_controller(self, request: Any) -> Any:
        self.sent.append(request)
        return self._answer

    def run(self, send: Any, request: Any) -> Any:
        return send(request)


def test_what_is_supported_and_what_is_finalized() -> None:
    assert features.supported(Admin()) == {"metadata.version": (7, 30), "share.version": (0, 1)}
    assert features.finalized(Admin()) == {"metadata.version": 25, "gone.version": 1}


@pytest.mark.parametrize("validate_only", [False, True])
def test_a_level_is_raised_and_never_lowered(validate_only: bool) -> None:
    admin = Admin(results=[OK])
    assert features.update(admin, {"metadata.version": 30}, validate_only=validate_only) == ""
    (request,) = admin.sent
    (update,) = request.feature_updates
    assert (update.feature, update.max_version_level) == ("metadata.version", 30)
    assert update.upgrade_type == UPGRADE
    assert request.validate_only is validate_only


@pytest.mark.parametrize(
    "admin",
    [
        Admin((UPDATE_FAILED, "not today")),
        Admin(results=[OK, (UPDATE_FAILED, "not today")]),
    ],
)
def test_what_the_controller_refuses_is_returned(admin: Admin) -> None:
    assert "not today" in features.update(admin, {"share.version": 1}, validate_only=False)


def test_a_refusal_without_a_message_is_one_too() -> None:
    assert features.update(Admin((UPDATE_FAILED, None)), {"a": 1}, validate_only=False)


def test_an_error_that_may_pass_is_raised() -> None:
    with pytest.raises(errors.NotControllerError):
        features.update(Admin((NOT_CONTROLLER, "moved")), {"a": 1}, validate_only=False)
