#!/usr/bin/python
"""Documentation of the action monitoring_files, which runs on the control node."""

DOCUMENTATION = r"""
module: monitoring_files
short_description: Write files for Prometheus and Grafana of the site
description:
  - Writes what a Prometheus of the site needs to scrape the exporters of the cluster, the alerts,
    and dashboards of Grafana with its provisioning. Only files that differ are written.
  - Several clusters may use the same directory. Files that differ between them, and all series and
    alerts, have the name of the cluster (C(metrics_cluster)).
  - No file that it does not write is changed or removed.
options:
  path:
    description: The directory on the control node. It is created.
    type: path
    required: true
  with_token:
    description: Also write the token that the exporters ask for, into a file that only its owner can
      read.
    type: bool
    default: false
  grafana_dashboards:
    description: The directory in which Grafana finds the dashboards.
    type: str
    default: /var/lib/grafana/dashboards/millrace
  grafana_prometheus:
    description: The address at which Grafana reaches Prometheus.
    type: str
    default: http://localhost:9090
attributes:
  check_mode:
    description: Reports the same change and diff as the real run and writes nothing.
    support: full
  diff_mode:
    description: Shows content and mode of each file that differs; never the token.
    support: full
"""

EXAMPLES = r"""
- name: Write the files for the Prometheus of the site
  millrace.streaming.monitoring_files:
    path: build/monitoring
  run_once: true
"""

RETURN = r"""
files:
  description: All files.
  returned: success
  type: list
  elements: str
changed_files:
  description: Those that were written, or would be.
  returned: success
  type: list
  elements: str
"""
