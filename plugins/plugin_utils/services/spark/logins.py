"""The logins of jobs to Kafka, and the files by which executors have them on every host."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...cluster import files
from ...cluster.files import Entry
from ..kafka.node import KafkaNode
from ..kafka.security import STREAM
from .jobs import CONFIG, Job, login_file

KAFKA_AUTHORITY = f"{CONFIG}/kafka-ca.pem"
FORMER = f"{CONFIG}/kafka-login.properties"
"""The login of all jobs, before each had one of its own."""
_KEY = "sasl.jaas.config"
_PROVIDER: Mapping[str, str] = {
    "config.providers": "file",
    "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
    "config.providers.file.param.allowed.paths": CONFIG,
}


@dataclass(frozen=True)
class Logins:
    """The users of Kafka that jobs are, and what a client needs to log in as each."""

    broker: KafkaNode | None
    """One of the inventory's brokers, None without any."""
    jobs: Sequence[Job]
    """All jobs, also those that are to be removed."""
    group: str
    """The group that may read the files."""

    @property
    def users(self) -> list[str]:
        """The users that jobs log in as, that of the platform's own first."""
        users = [STREAM, *(job.user for job in self.jobs if job.user and job.present)]
        return list(dict.fromkeys(users))

    def of(self, user: str) -> Mapping[str, Any]:
        """Return the client properties with which a user logs in, empty if it need not."""
        if self.broker is None or not user:
            return {}
        return self.broker.clients.user_config(user, KAFKA_AUTHORITY)

    def client(self, user: str) -> Mapping[str, Any]:
        """Return the client properties of a job, empty without Kafka."""
        if login := self.of(user):
            reference = f"${{file:{login_file(user)}:{_KEY}}}"
            return {**login, **_PROVIDER, _KEY: reference}
        return self.broker.clients.config if self.broker else {}

    @property
    def without_password(self) -> list[str]:
        """The users whose passwords are not known."""
        users = self.broker.security.users_without_password if self.broker else []
        names = {user.name for user in users}
        return [name for name in self.users if name in names and self.of(name)]

    def files(self) -> dict[str, Entry]:
        """Return what every host needs on which an executor may run."""
        logins = {user: login for user in self.users if (login := self.of(user))}
        if self.broker is None or not logins:
            return {}
        return {
            KAFKA_AUTHORITY: files.text(self.broker.secrets.authority),
            **{
                login_file(user): files.text(
                    files.properties({_KEY: login[_KEY]}),
                    mode="0640",
                    group=self.group,
                    secret=True,
                )
                for user, login in logins.items()
            },
        }
