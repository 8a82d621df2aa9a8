"""The sections of `report.md`."""
