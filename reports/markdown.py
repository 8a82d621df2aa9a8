"""placeholder"""

from bench.plugins import ReportPlugin


class Markdown(ReportPlugin):
    def render(self, results):
        return {}
