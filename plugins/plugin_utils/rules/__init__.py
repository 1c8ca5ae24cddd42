"""The rules about inventories and hosts, by subject; `catalogue` has all of them.

A new rule is one function with `@rule`, `@host_rule` or `@hosts_rule` in the module of its subject,
an entry of docs/rules.yml, and in tests/unit/rules/ a case that it refuses and one that it lets
pass.
"""
