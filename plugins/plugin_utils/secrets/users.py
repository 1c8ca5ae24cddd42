"""Why a user of Kafka has no password on the control node."""

from ...module_utils.formats.values import listing
from ..services.kafka.node import KafkaNode


def password_problem(broker: KafkaNode, user: str) -> str:
    """Say why nobody can log in as a user with a password that is known here, or return ``""``."""
    present = [entry for entry in broker.security.users if entry.present]
    names = [entry.name for entry in present if entry.scram]
    if user in [entry.name for entry in present if not entry.scram]:
        return f"{user} has no password: its clients need a certificate with that name"
    if user not in names:
        return f"Kafka has no user {user}; there are {listing(names)}"
    if user in [entry.name for entry in broker.security.users_without_password]:
        return (
            f"{broker.secrets.directory} has no password of {user}: run site.yml, or copy the "
            "directory from the control node that made it"
        )
    return ""
