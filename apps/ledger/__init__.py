"""The load ledger: no acknowledged record was lost, reordered or duplicated during a change.

`python -m apps.ledger run` keeps a load of known records on a cluster and writes down what it did;
`python -m apps.ledger check` judges what it wrote; `python -m apps.ledger page` reports on the faults of a
suite that ran meanwhile. The claims and their limits are in `verdict.CLAIM`. With transactions it
also processes that load exactly once, and judges that too. `ledger.sink` judges what a stream made
of a source, for the tests of streams. Its clients come from the collection's adapter to Kafka, so
the `collections` directory is on PYTHONPATH.
"""
