"""A Faust application: agents, branching, tables and windows.

    CLIENT=DIRECTORY python rides.py worker --without-web

Rides are read from the topic rides.started, whose key is the zone where they began, and go on to
rides.long or rides.short. Long ones are counted by zone, and by zone and hour of the ride; each new
count goes to rides.counts. DIRECTORY is what `clients.yml` has written for the application's user.
"""

import json
import os
import ssl
from datetime import timedelta
from pathlib import Path

import faust

login = json.loads(Path(os.environ["CLIENT"], "kafka-python.json").read_text())
tls = login["security_protocol"].endswith("SSL")
context = ssl.create_default_context(cafile=login.get("ssl_cafile")) if tls else None
credentials = context
if "sasl_mechanism" in login:
    credentials = faust.SASLCredentials(
        mechanism=login["sasl_mechanism"],
        username=login["sasl_plain_username"],
        password=login["sasl_plain_password"],
        ssl_context=context,
    )

app = faust.App(
    "rides",  # the consumer group, and the first part of the names of its tables' topics
    broker=[f"kafka://{address}" for address in login["bootstrap_servers"]],
    broker_credentials=credentials,
    topic_allow_declare=False,  # they are there: the user may not create any
    topic_disable_leader=True,  # it needs a topic of its own
    topic_partitions=2,
    store="memory://",  # filled from the changelog at each start; rocksdb:// keeps it on the disk
)


class Ride(faust.Record, serializer="json"):
    """A ride; its start in seconds since 1970."""

    zone: str
    started: float
    seconds: float


class Count(faust.Record, serializer="json"):
    """How many long rides began in a zone so far, and in the hour of the last one."""

    zone: str
    rides: int
    in_hour: int


started = app.topic("rides.started", key_type=str, value_type=Ride)
long, short = (
    app.topic(f"rides.{name}", key_type=str, value_type=Ride) for name in ("long", "short")
)
counts = app.topic("rides.counts", key_type=str, value_type=Count)

# Their changelogs are rides-by_zone-changelog and rides-by_hour-changelog, with as many partitions
# as rides.long: a worker has the part of a table that belongs to its partitions.
by_zone = app.Table("by_zone", default=int, partitions=2)
by_hour = app.Table("by_hour", default=int, partitions=2).tumbling(
    timedelta(hours=1), expires=timedelta(days=1)
)
hours = by_hour.relative_to_field(Ride.started)


@app.on_rebalance_complete.connect
async def hold_records_back(app, **_):
    """Let nothing through until Faust has set the position where it begins.

    faust-streaming 0.15.3 opens the flow before that, after it has read the tables, and leaves out
    records that come in between. It opens it again afterwards.
    """
    app.consumer.stop_flow()


@app.agent(started)
async def branch(rides):
    """Send each ride on to one of two topics."""
    async for ride in rides:
        await (long if ride.seconds >= 1800 else short).send(key=ride.zone, value=ride)


@app.agent(long)
async def count(rides):
    """Count rides by their key, so that all of a zone are counted by the same worker."""
    async for ride in rides:
        by_zone[ride.zone] += 1
        hours[ride.zone] += 1
        value = Count(ride.zone, by_zone[ride.zone], hours[ride.zone].value())
        await counts.send(key=ride.zone, value=value)


if __name__ == "__main__":
    app.main()
