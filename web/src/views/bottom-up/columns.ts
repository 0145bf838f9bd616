// Columns of the Bottom-up grid, from the server's metric table.

import type { MetricDef } from '../../api/types';
import { help, title } from '../../base/texts';
import { kindOf } from '../../logic/values';
import type { GridColumn } from '../grid/grid';

/** As the threading analysis shows them first. */
export const DEFAULT_METRICS = [
  'effective_by_class',
  'spin_ns',
  'overhead_ns',
  'wait_by_class',
  'wait_count',
  'preemption_ns',
];

/** The chosen metrics that the server knows, in the chosen order. */
export function chosenMetrics(chosen: readonly string[], known: readonly MetricDef[]): MetricDef[] {
  const ids = chosen.length > 0 ? chosen : DEFAULT_METRICS;
  return ids.flatMap((id) => known.find((metric) => metric.id === id) ?? []);
}

export function metricColumn({ id, title: english, detail, help: short }: MetricDef): GridColumn {
  const kind = kindOf(id, 0);
  const width = kind === 'by_class' ? 190 : kind === 'ns' ? 120 : 90;
  return { id, title: title(id, english), help: help(id, detail || short), numeric: true, width, sortable: true };
}
