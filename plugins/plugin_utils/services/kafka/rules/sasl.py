"""The rules about SASL: mechanisms, JAAS entries and the addresses of OAuth."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .....module_utils.formats.key_table import nearest
from .....module_utils.formats.values import by_name, listing, texts
from .....module_utils.formats.versions import release_numbers
from ....cluster.jvm_options import java_words
from ....cluster.service import Service
from ....rules.engine import Finding, Findings, rule
from ....rules.shared import (
    CLIENT_SETTINGS,
    Property,
    all_services,
    nodes,
    nodes_as_written,
    place,
    properties,
)
from ..listeners import Listener
from ..node import KafkaNode

_JAAS = "sasl.jaas.config"
_ENTRY = re.compile(
    r"\s*[\w.$]+\s+(?:required|requisite|sufficient|optional)\b.*;\s*", re.DOTALL | re.IGNORECASE
)
# Kafka skips comments (JaasConfig); what is in quotes, such as an address, is none.
_QUOTED_OR_COMMENT = re.compile(
    r"""("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|/\*.*?\*/|//[^\n]*""", re.DOTALL
)
_KAFKA = "org.apache.kafka.common.security"
_LOGIN_MODULES = {
    "GSSAPI": "com.sun.security.auth.module.Krb5LoginModule",
    "OAUTHBEARER": f"{_KAFKA}.oauthbearer.OAuthBearerLoginModule",
    "PLAIN": f"{_KAFKA}.plain.PlainLoginModule",
    "SCRAM-SHA-256": f"{_KAFKA}.scram.ScramLoginModule",
    "SCRAM-SHA-512": f"{_KAFKA}.scram.ScramLoginModule",
}
_HANDLER = "sasl.server.callback.handler.class"
_BROKER = re.compile(r"""\busername\s*=\s*["']?([^\s"';]+)""")
_ENTRY_USERS = {
    "PLAIN": re.compile(r"""\buser_([^\s="']+)["']?\s*="""),
    "SCRAM-SHA-256": _BROKER,
    "SCRAM-SHA-512": _BROKER,
}
_LOGIN_FILE = "-Djava.security.auth.login.config="
_MECHANISMS = tuple(_LOGIN_MODULES)
_NAMING = (
    "sasl.enabled.mechanisms",
    "sasl.mechanism.controller.protocol",
    "sasl.mechanism.inter.broker.protocol",
)
_NEARLY = 0.85
_ENABLED, _DEFAULT = "sasl.enabled.mechanisms", "GSSAPI"
_OAUTH_CHECKS = (
    "sasl.oauthbearer.jwks.endpoint.url",
    "sasl.oauthbearer.expected.audience",
    "sasl.oauthbearer.expected.issuer",
)
_OAUTH = "OAUTHBEARER"
_CHECKS_TOKENS = f"{_KAFKA}.oauthbearer.OAuthBearerValidatorCallbackHandler"
_VALIDATOR = "sasl.oauthbearer.jwt.validator.class"
_OAUTH_URLS = re.compile(r".*sasl\.oauthbearer\.(?:jwks|token)\.endpoint\.url")
_UNENCRYPTED = re.compile(r"http://(?!(?:localhost|127\.[\d.]+|\[::1\])(?:[:/]|$))", re.IGNORECASE)
_ALLOWED = "org.apache.kafka.sasl.oauthbearer.allowed.urls"


@rule("jaas-config", each=properties("kafka"))
def _jaas_config(_: KafkaNode, setting: Property) -> Findings:
    """Kafka does not start with an entry that it cannot parse (JaasConfig)."""
    text = _QUOTED_OR_COMMENT.sub(lambda match: match[1] or " ", str(setting.value))
    if setting.key.endswith(_JAAS) and "${" not in text and not _ENTRY.fullmatch(text):
        fix = "Write the class of the login module, required, its options, and a semicolon at the "
        fix += "end."
        yield Finding(f"{setting.key} is not an entry of JAAS.", fix, setting.where)


@rule("sasl-mechanism-name", each=properties("kafka"))
def _sasl_mechanism_name(_: KafkaNode, setting: Property) -> Findings:
    """Kafka finds no entry of JAAS and no provider for it, and does not start."""
    for name in texts(setting.value) if setting.key.endswith(_NAMING) else ():
        near = nearest(name.upper().replace("_", "-"), [*_MECHANISMS], _NEARLY)
        if near and name not in _MECHANISMS:
            yield Finding(f"{setting.key} has {name}.", f"Write {near}.", setting.where)


@rule("sasl-login", each=nodes_as_written)
def _sasl_login(node: KafkaNode) -> Findings:
    """Kafka does not start without an entry of JAAS for each mechanism of a listener
    (JaasContext).
    """
    options = java_words(node.settings["kafka_java_options"])
    if any(word.startswith(_LOGIN_FILE) for word in options):
        return
    for listener in node.listeners.all:
        config = node.properties.at(listener)
        enabled = texts(config.get(_ENABLED))
        missing = [
            name
            for name in enabled or [_DEFAULT]
            if name in _LOGIN_MODULES and f"{name.lower()}.{_JAAS}" not in config
        ]
        # Of a closed cluster's own listeners without TLS, plaintext-listener.
        preset = not enabled and node.is_secured and not listener.encrypted
        if listener.protocol.startswith("SASL_") and missing and not preset:
            problem = (
                f"The listener {listener.name} ({listener.protocol}) has no entry of JAAS for "
            )
            problem += f"{listing(missing)}{'' if enabled else ', the default mechanism'}."
            key = f"listener.name.{listener.name.lower()}.{missing[0].lower()}.{_JAAS}"
            fix = f'Set {key}, from a vault, to "{_LOGIN_MODULES[missing[0]]} required ...;".'
            if not enabled:
                key = _ENABLED
                fix = f"Set {key} to the mechanisms of its clients, and the entry of each: "
                fix += f"listener.name.{listener.name.lower()}.<mechanism>.{_JAAS}."
            yield Finding(problem, fix, f"kafka_config[{key}]")


@rule("sasl-mechanism", each=nodes)
def _sasl_mechanism(node: KafkaNode) -> Findings:
    """Nodes could not log in to each other, and the cluster would not form."""
    inner = node.listeners.between_brokers.upper()
    used = [
        (listener, "sasl.mechanism.inter.broker.protocol")
        for listener in node.listeners.as_broker
        if listener.name.upper() == inner
    ]
    if node.mode == "kraft" and node.is_controller:
        used.append((node.listeners.controller, "sasl.mechanism.controller.protocol"))
    for listener, key in used:
        config = node.properties.at(listener)
        enabled = enabled_mechanisms(config)
        mechanism = str(node.config.get(key, _DEFAULT))
        is_accepted = mechanism in enabled or any("${" in text for text in (mechanism, *enabled))
        if listener.protocol.startswith("SASL_") and not is_accepted:
            problem = f"{key} is {mechanism}, and the listener {listener.name} accepts "
            problem += f"{listing(enabled)}."
            yield Finding(problem, f"Set {key}: {enabled[0]}.", place(node, key))


@rule("oauth-url", each=nodes)
def _oauth_url(node: KafkaNode) -> Findings:
    """Kafka does not start with a URL that is not in its list of allowed ones; before 4.0 it allows
    all if there is no list (ConfigurationUtils).
    """
    prefix = f"-D{_ALLOWED}="
    words = java_words(node.settings["kafka_java_options"])
    configured = [word.removeprefix(prefix) for word in words if word.startswith(prefix)]
    allowed = texts("".join(configured[-1:]))  # Java takes the last one
    urls = {
        str(value): key
        for key, value in node.config.items()
        if _OAUTH_URLS.fullmatch(key) and "${" not in str(value)
    }
    missing = [url for url in urls if url not in allowed]
    if missing and (configured or release_numbers(node.version) >= (4,)):
        fix = f"Set {prefix}{','.join([*allowed, *missing])} in kafka_java_options."
        problem = f"{listing(missing)} {'are' if len(missing) > 1 else 'is'} not allowed by name."
        yield Finding(problem, fix, place(node, urls[missing[0]]))


@rule("sasl-plain-unencrypted", each=nodes)
def _sasl_plain_unencrypted(node: KafkaNode) -> Findings:
    """PLAIN sends the password as it is: whoever sees the connection can log in with it."""
    for listener in node.listeners.all:
        enabled = enabled_mechanisms(node.properties.at(listener))
        if listener.protocol == "SASL_PLAINTEXT" and "PLAIN" in enabled:
            problem = f"The listener {listener.name} takes PLAIN without TLS."
            yield Finding(problem, "Set protocol: SASL_SSL for it.", "kafka_listeners")


@rule("plain-users", each=nodes_as_written)
def _plain_users(node: KafkaNode) -> Findings:
    """PLAIN accepts only the users in its JAAS configuration: nobody could log in."""
    for listener in node.listeners.all:
        config = node.properties.at(listener)
        takes = listener.protocol.startswith("SASL_") and "PLAIN" in enabled_mechanisms(config)
        if takes and entry_users(config, "PLAIN") == set():
            key = f"listener.name.{listener.name.lower()}.plain.{_JAAS}"
            problem = (
                f"The listener {listener.name} accepts PLAIN, "
                "and its JAAS configuration has no user."
            )
            fix = 'Add user_<name>="<password>" for each, from a vault.'
            yield Finding(problem, fix, place(node, key, f"plain.{_JAAS}"))


def enabled_mechanisms(config: Mapping[str, Any]) -> list[str]:
    """Return the mechanisms that a listener with these properties accepts."""
    return texts(config.get(_ENABLED)) or [_DEFAULT]


def has_own_checks(config: Mapping[str, Any], mechanism: str) -> bool:
    """Return whether a custom class checks who logs in at a listener, or may do so."""
    entry = str(config.get(f"{mechanism.lower()}.{_JAAS}") or "")
    handler = any(config.get(f"{prefix}{_HANDLER}") for prefix in ("", f"{mechanism.lower()}."))
    return handler or (_LOGIN_MODULES[mechanism] not in entry and "${" not in entry)


def entry_users(config: Mapping[str, Any], mechanism: str) -> set[str] | None:
    """Return the users in a listener's JAAS configuration: of PLAIN, or the broker's own login.

    None if others may log in, of whom the inventory does not know.
    """
    entry = str(config.get(f"{mechanism.lower()}.{_JAAS}") or "")
    is_readable = mechanism in _ENTRY_USERS and "${" not in entry
    if not is_readable or has_own_checks(config, mechanism):
        return None
    return {*_ENTRY_USERS[mechanism].findall(entry)}


@rule("oauth-unchecked", each=nodes)
def _oauth_unchecked(node: KafkaNode) -> Findings:
    """Without these a token that was made for another service, or by anybody, would be accepted;
    without the handler Kafka checks no signature, whatever else is set (SaslChannelBuilder).
    """
    for listener in node.listeners.all:
        enabled = enabled_mechanisms(node.properties.at(listener))
        if listener.protocol.startswith("SASL_") and _OAUTH in enabled:
            required = _oauth_missing(node, listener)
            if required:
                first = next(iter(required))
                missing = [f"{key}{value and f': {value}'}" for key, value in required.items()]
                problem = (
                    f"The listener {listener.name} accepts {_OAUTH} without {listing(missing)}."
                )
                fix = f"Set {listing(missing)} in kafka_config."
                yield Finding(problem, fix, place(node, first))


def _oauth_missing(node: KafkaNode, listener: Listener) -> dict[str, str]:
    """Return key -> value of what is to be set so that tokens are checked, empty for any value.

    What a custom class checks is not known, so nothing is missing with one.
    """
    of_listener = f"listener.name.{listener.name.lower()}."
    prefixes = (f"{of_listener}{_OAUTH.lower()}.", of_listener, "")  # the first one wins
    written = {
        key: next((f"{prefix}{key}" for prefix in prefixes if f"{prefix}{key}" in node.config), key)
        for key in (_VALIDATOR, *_OAUTH_CHECKS)
    }
    handler = f"{prefixes[0]}{_HANDLER}"  # has no other name
    values = {key: str(node.config.get(key) or "") for key in (handler, written[_VALIDATOR])}
    login = str(node.config.get(f"{prefixes[0]}{_JAAS}") or _KAFKA).strip()
    if _is_custom(values[handler]) or ("${" not in login and _is_custom(login)):
        return {}
    checking = values[handler].rpartition(".")[2] == _CHECKS_TOKENS.rpartition(".")[2]
    missing = {} if checking else {handler: _CHECKS_TOKENS}
    validator = values[written[_VALIDATOR]]
    if _is_custom(validator):
        return missing
    if validator.endswith(".ClientJwtValidator"):  # which checks no signature
        missing[written[_VALIDATOR]] = f"{_KAFKA}.oauthbearer.BrokerJwtValidator"
    required = [written[key] for key in _OAUTH_CHECKS]
    return missing | {key: "" for key in required if not node.config.get(key)}


def _is_custom(name: str) -> bool:
    """Return whether a class may be a custom one, as one that a config provider fills in may."""
    return bool(name) and not name.startswith("org.apache.kafka.")


@rule("oauth-unencrypted", each=all_services)
def _oauth_unencrypted(service: Service) -> Findings:
    """Whoever is between the two hosts can answer with keys of their own, and then sign tokens for
    any user, or read the secret of a client.
    """
    for variable in (*service.own_layers, *CLIENT_SETTINGS.get(service.product, ())):
        for key, value in by_name(service.settings[variable]).items():
            if _OAUTH_URLS.fullmatch(key) and _UNENCRYPTED.match(str(value)):
                problem = f"{key} is a URL without TLS."
                fix = "Set one that begins with https, or, for keys, a file."
                yield Finding(problem, fix, f"{variable}[{key}]")
