"""Which log directories brokers have taken out of use."""

from __future__ import annotations

from typing import Any

from ansible_collections.millrace.streaming.plugins.module_utils.kafka import library, log_dirs


class Admin:
    """An admin client; brokers 3 and 4 do not answer."""

    def describe_log_dirs(self, brokers: list[int]) -> list[dict[str, Any]]:
        [broker] = brokers
        if broker == 3:
            raise library.errors.KafkaTimeoutError
        if broker == 4:
            raise ConnectionResetError  # in its TLS handshake
        codes = {"/d2": 56 if broker == 1 else 0, "/d1": 0, "/d3": 56 if broker == 1 else 29}
        directories = [{"log_dir": path, "error_code": code} for path, code in codes.items()]
        return [{"broker": broker, "log_dirs": directories}]


def test_directories_out_of_use_are_named_by_broker() -> None:
    assert log_dirs.failed(Admin(), [1, 2, 3, 4]) == {1: ["/d2", "/d3"]}
    assert log_dirs.failed(Admin(), []) == {}
