"""Programs of ours that run beside the services: console, lag exporter, host metrics, ledger, dashboards."""
