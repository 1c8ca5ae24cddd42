"""The rules about SASL: mechanisms, JAAS entries and the addresses of OAuth."""

from __future__ import annotations

import re

from ..model.kafka import KafkaNode
from ..model.values import listing, texts
from ..model.versions import release_numbers
from .engine import Finding, Findings, rule
from .shared import Property, nodes, place, properties

_JAAS = "sasl.jaas.config"
_ENTRY = re.compile(
    r"\s*[\w.$]+\s+(?:required|requisite|sufficient|optional)\b.*;\s*", re.DOTALL | re.IGNORECASE
)
_ENABLED, _DEFAULT = "sasl.enabled.mechanisms", "GSSAPI"
_OAUTH_URLS = re.compile(r".*sasl\.oauthbearer\.(?:jwks|token)\.endpoint\.url")
_ALLOWED = "org.apache.kafka.sasl.oauthbearer.allowed.urls"


@rule("jaas-config", each=properties("kafka"))
def _jaas_config(_: KafkaNode, one: Property) -> Findings:
    """Kafka does not start with an entry that it cannot parse (JaasConfig)."""
    text = str(one.value)
    if one.key.endswith(_JAAS) and "${" not in text and not _ENTRY.fullmatch(text):
        fix = "Write the class of the login module, required, its options, and a semicolon at the "
        fix += "end."
        yield Finding(f"{one.key} is not an entry of JAAS.", fix, one.where)


@rule("sasl-mechanism", each=nodes)
def _sasl_mechanism(node: KafkaNode) -> Findings:
    """Nodes could not log in to each other, and the cluster would not form."""
    inner = node.settings["kafka_inter_broker_listener"].upper()
    used = [
        (one, "sasl.mechanism.inter.broker.protocol")
        for one in node.broker_listeners
        if one.name.upper() == inner
    ]
    if node.mode == "kraft":
        used.append((node.controller_listener, "sasl.mechanism.controller.protocol"))
    for listener, key in used:
        config = node.listener_config(listener)
        enabled = texts(config.get(_ENABLED)) or [_DEFAULT]
        mechanism = str(node.config.get(key, _DEFAULT))
        known = mechanism in enabled or any("${" in text for text in (mechanism, *enabled))
        if listener.protocol.startswith("SASL_") and not known:
            what = f"{key} is {mechanism}, and the listener {listener.name} accepts "
            what += f"{listing(enabled)}."
            yield Finding(what, f"Set {key}: {enabled[0]}.", place(node, key))


@rule("oauth-url", each=nodes)
def _oauth_url(node: KafkaNode) -> Findings:
    """Since 4.0 Kafka does not start with an address that is not allowed by name
    (ConfigurationUtils).
    """
    options = " ".join(node.settings["kafka_java_options"])
    found = re.search(rf"-D{re.escape(_ALLOWED)}=(\S+)", options)
    allowed = found[1].split(",") if found else []
    for key, value in node.config.items():
        wanted = _OAUTH_URLS.fullmatch(key) and release_numbers(node.version) >= (4,)
        if wanted and "${" not in str(value) and str(value) not in allowed:
            fix = f"Add -D{_ALLOWED}={value} to kafka_java_options."
            yield Finding(f"{value} is not an allowed address.", fix, place(node, key))
