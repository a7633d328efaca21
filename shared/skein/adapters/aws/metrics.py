"""Metrics in CloudWatch's embedded metric format (EMF), written to the function's log."""

from dataclasses import dataclass

from aws_lambda_powertools.metrics import MetricUnit, single_metric

from skein.correlation import current_invocation

NAMESPACE = "Skein"


@dataclass(frozen=True, slots=True)
class EmfMetrics:
    """`Metrics` as log lines, one line per metric; CloudWatch reads the metrics from the log.

    Args:
        stack_name: The value of the dimension `service`, which distinguishes stacks.
    """

    stack_name: str

    def count(
        self, name: str, value: float = 1, *, unit: str = "Count", reason: str | None = None
    ) -> None:
        """Add `value` to a metric of the namespace `Skein`.

        With a reason, `value` is also added to the metric with the dimension `reason`. The log line
        names the Lambda function as metadata, not as a dimension.
        """
        for dimensions in ({}, {"reason": reason}) if reason is not None else ({},):
            metric = single_metric(
                name=name, unit=MetricUnit(unit), value=value, namespace=NAMESPACE
            )
            with metric as line:
                function = current_invocation().get("function_name")
                if function is not None:
                    line.add_metadata("function_name", function)
                for dimension, of in {"service": self.stack_name, **dimensions}.items():
                    line.add_dimension(name=dimension, value=of)
