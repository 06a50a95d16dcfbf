"""The real servers of the integration tests and benchmarks; `scripts/servers` is the entry."""
