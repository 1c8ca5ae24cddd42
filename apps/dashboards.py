"""The dashboards of Grafana, made of the views of the console: `python -m apps.dashboards DIRECTORY`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from grafana_foundation_sdk.builders import common, dashboard, prometheus, stat, timeseries
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import dashboard as models

from apps.console.panels import NUMBER, Panel, Query, View, views
from apps.promql import scoped

COLUMNS = 24
"""Width of a dashboard, in Grafana's units."""
NUMBER_SIZE, GRAPH_SIZE = (6, 4), (12, 8)
"""Width and height of a panel."""
SOURCE = models.DataSourceRef(type_val="prometheus", uid="$source")
CLUSTER = 'cluster="$cluster"'
"""The series of one cluster. Where none has that label, the variable is empty: all have none."""
TAG = "millrace"


def text(view: View) -> str:
    """Return the file that Grafana imports."""
    made = (
        dashboard.Dashboard(f"Millrace: {view.title}")
        .uid(f"millrace-{view.name}")
        .tags([TAG])
        .timezone("browser")
        .time("now-1h", "now")
        .refresh("30s")
        .readonly()
        .with_variable(dashboard.DatasourceVariable("source").label("Source").type("prometheus"))
        .with_variable(_variable("cluster", 'label_values(up{job="host"}, cluster)'))
        .link(_others())
    )
    if any(panel.has_host for panel in view.panels):
        made = made.with_variable(_hosts())
    for panel, place in zip(view.panels, _places(view), strict=True):
        made = made.with_panel(_panel(panel).grid_pos(place))
    return json.dumps(made.build(), cls=JSONEncoder, indent=2, sort_keys=True) + "\n"


def query_of(query: Query) -> str:
    """Return a query as a dashboard has it, which shows one cluster of those in Prometheus."""
    return scoped(query.query, CLUSTER)


def _variable(name: str, query: str) -> dashboard.QueryVariable:
    return (
        dashboard.QueryVariable(name)
        .label(name.capitalize())
        .datasource(SOURCE)
        .query(query)
        .refresh(models.VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(models.VariableSort.ALPHABETICAL_ASC)
    )


def _hosts() -> dashboard.QueryVariable:
    return (
        _variable("host", f"label_values(up{{{CLUSTER}}}, host)")
        .multi(True)
        .include_all(True)
        .all_value(".+")
        .current(models.VariableOption(selected=True, text="All", value="$__all"))
    )


def _others() -> dashboard.DashboardLink:
    """Return the links to the other dashboards, for the same cluster and time."""
    return (
        dashboard.DashboardLink("Millrace")
        .type(models.DashboardLinkType.DASHBOARDS)
        .tags([TAG])
        .as_dropdown(True)
        .include_vars(True)
        .keep_time(True)
    )


def _places(view: View) -> list[models.GridPos]:
    """Return where panels are: in rows, from left to right."""
    places, column, row, tallest = [], 0, 0, 0
    for panel in view.panels:
        width, height = NUMBER_SIZE if panel.kind == NUMBER else GRAPH_SIZE
        if column + width > COLUMNS or (tallest and height != tallest):
            column, row, tallest = 0, row + tallest, 0
        places.append(models.GridPos(h=height, w=width, x=column, y=row))
        column, tallest = column + width, height
    return places


def _panel(panel: Panel) -> stat.Panel | timeseries.Panel:
    made = _number(panel) if panel.kind == NUMBER else _graph()
    made = made.title(panel.title).unit(panel.unit).datasource(SOURCE)
    for number, panel_query in enumerate(panel.queries):
        query = prometheus.Dataquery().expr(query_of(panel_query)).ref_id(chr(ord("A") + number))
        query = query.legend_format(panel_query.legend) if panel_query.legend else query
        made = made.with_target(query.instant() if panel.kind == NUMBER else query.range())
    return made


def _number(panel: Panel) -> stat.Panel:
    steps = [models.Threshold(value=None, color="green")]
    if panel.bad_above is not None:
        # Grafana colors what is equal to a step, too.
        steps.append(models.Threshold(value=panel.bad_above + 0.001, color="red"))
    thresholds = dashboard.ThresholdsConfig().mode(models.ThresholdsMode.ABSOLUTE).steps(steps)
    return stat.Panel().thresholds(thresholds).no_value("no data")


def _graph() -> timeseries.Panel:
    legend = common.VizLegendOptions().show_legend(True)
    return timeseries.Panel().fill_opacity(0).line_width(1).axis_soft_min(0).legend(legend)


def main(arguments: Sequence[str] | None = None) -> None:
    """Write a file of each view into a directory, which is made if it is not there."""
    parser = argparse.ArgumentParser(
        prog="python -m apps.dashboards", description="Write the dashboards that Grafana imports."
    )
    parser.add_argument("directory", type=Path)
    directory: Path = parser.parse_args(arguments).directory
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for view in views():
            path = directory / f"{view.name}.json"
            path.write_text(text(view), encoding="utf-8")
            sys.stdout.write(f"{path}\n")
    except OSError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
