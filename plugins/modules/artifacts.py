#!/usr/bin/python
"""Documentation of the action artifacts, which runs on the control node."""

DOCUMENTATION = r"""
module: artifacts
short_description: Pack and verify every distribution of the cluster on the control node
description:
  - Packs each distribution that a host of the inventory gets and that is not in the cache
    (C(service_cache)), by the recipe in C(artifacts/).
  - Compares each with its recorded sha256, and fails where it is another one.
  - Fetches the plugins of C(connect_plugins) and C(kafka_plugins), and the jars of C(spark_jobs),
    and compares them with their C(sha256). It fails at parts that are known to be bad, and at
    classes that the service has itself. It also fails at classes that the inventory names and
    nothing has. All problems are reported at once.
options:
  jars:
    description: With V(true) it does that with the jars of the jobs on Spark alone.
    type: bool
    default: false
  sbom:
    description: Directory for a CycloneDX file of each distribution and each plugin.
    type: path
  jobs:
    description: With V(true) it does that with the Python packages of the jobs on Spark instead,
      which have no recorded sum but the hashes in their requirements.
    type: bool
    default: false
attributes:
  check_mode:
    description: Changes no host, so it does the same.
    support: full
"""
