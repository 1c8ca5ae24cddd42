-- Each record with its fields, and what is not JSON or has a value of another type.
CREATE TEMPORARY VIEW events AS
SELECT value, try_cast(event.event_time AS TIMESTAMP) AS departure, event.* EXCEPT (event_time)
FROM (
  SELECT value, from_json(value,
    'event_time STRING, origin STRING, dest STRING, carrier STRING, flight BIGINT, dep_delay BIGINT, unreadable STRING',
    map('columnNameOfCorruptRecord', 'unreadable')) AS event
  FROM STREAM flights
);

-- A stream from a stream: records that can be used.
CREATE STREAMING TABLE departures AS
SELECT departure, origin, dest, carrier, flight, dep_delay FROM STREAM events
WHERE unreadable IS NULL AND departure IS NOT NULL AND carrier IS NOT NULL AND origin IN ('EWR', 'JFK', 'LGA');

-- Its counterpart, so that no record is lost.
CREATE STREAMING TABLE rejected AS
SELECT value FROM STREAM events
WHERE unreadable IS NOT NULL OR departure IS NULL OR carrier IS NULL OR origin IS NULL
  OR origin NOT IN ('EWR', 'JFK', 'LGA');

-- Filter.
CREATE STREAMING TABLE long_delays AS
SELECT * FROM STREAM departures WHERE dep_delay >= 60;

-- Count per key: of all records up to now, computed anew in each run.
CREATE MATERIALIZED VIEW carrier_counts AS
SELECT carrier, count(*) AS departures, count_if(dep_delay >= 60) AS delayed
FROM departures GROUP BY carrier;

-- Count per key and window: a window is written once, when the watermark has passed its end.
CREATE STREAMING TABLE hourly_counts AS
SELECT window.start AS hour, origin, count(*) AS departures
FROM STREAM departures WATERMARK departure DELAY OF INTERVAL 30 DAYS
GROUP BY window(departure, '1 hour'), origin;

-- A table, and the join of a stream with it.
CREATE MATERIALIZED VIEW carriers AS
SELECT * FROM VALUES
  ('9E', 'Endeavor Air Inc.'), ('AA', 'American Airlines Inc.'), ('AS', 'Alaska Airlines Inc.'),
  ('B6', 'JetBlue Airways'), ('DL', 'Delta Air Lines Inc.'), ('EV', 'ExpressJet Airlines Inc.'),
  ('F9', 'Frontier Airlines Inc.'), ('FL', 'AirTran Airways Corporation'), ('HA', 'Hawaiian Airlines Inc.'),
  ('MQ', 'Envoy Air'), ('OO', 'SkyWest Airlines Inc.'), ('UA', 'United Air Lines Inc.'),
  ('US', 'US Airways Inc.'), ('VX', 'Virgin America'), ('WN', 'Southwest Airlines Co.'), ('YV', 'Mesa Airlines Inc.')
  AS carriers(carrier, name);

CREATE STREAMING TABLE named_delays AS
SELECT d.departure, d.origin, d.flight, c.name, d.dep_delay
FROM STREAM long_delays AS d LEFT JOIN carriers AS c ON d.carrier = c.carrier;
