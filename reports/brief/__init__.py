"""The sections of `report.md`: short, each fact once; `detail.md` has the rest."""
