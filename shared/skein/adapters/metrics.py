"""Metrics in CloudWatch's embedded format, one line each, by way of the function's own log."""

from aws_lambda_powertools.metrics import MetricUnit, single_metric

NAMESPACE = "Skein"
SERVICE = "skein"


class EmfMetrics:
    """Writes each metric as one line of the log, from which CloudWatch reads it."""

    def count(self, name: str, value: float = 1, *, unit: str = "Count") -> None:
        """Add `value` to a metric of the namespace `Skein`."""
        metric = single_metric(name=name, unit=MetricUnit(unit), value=value, namespace=NAMESPACE)
        with metric as line:
            line.add_dimension(name="service", value=SERVICE)
