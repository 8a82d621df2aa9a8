"""Benchmarks of tokbench's own speed, run by pytest-benchmark and never by the tests."""
