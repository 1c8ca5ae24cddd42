"""The one adapter to Kafka: whoever speaks its protocol goes through here."""
