"""What modules do on a host: files, units, distributions, storage, mounts."""
