// Columns of grids, from the server's metric table.

import type { MetricDef } from '../../api/types';
import { help, title } from '../../base/texts';
import { kindOf } from '../../logic/values';
import type { GridColumn } from '../grid/grid';

/** What Bottom-up shows first. */
export const BOTTOM_UP = [
  'effective_by_class',
  'spin_ns',
  'overhead_ns',
  'wait_by_class',
  'wait_count',
  'preemption_ns',
];

/** What trees of callers and callees show first. */
export const CALLS = ['cpu_ns', 'wait_ns'];

/** The parts of trees through the stacks that belong to the functions themselves, not to what they call. */
export const SELF = [
  { id: 'cpu_self_ns', english: 'CPU Time: Self' },
  { id: 'wait_self_ns', english: 'Wait Time: Self' },
] as const;

/** The chosen metrics that the server knows, in the chosen order; `usual` ones when none are chosen. */
export function chosenMetrics(
  chosen: readonly string[],
  known: readonly MetricDef[],
  usual: readonly string[],
): MetricDef[] {
  const ids = chosen.length > 0 ? chosen : usual;
  return ids.flatMap((id) => known.find((metric) => metric.id === id) ?? []);
}

export function selfColumn({ id, english }: (typeof SELF)[number]): GridColumn {
  return { id, title: title(id, english), help: help(id, english), numeric: true, width: 116, sortable: true };
}

export function metricColumn({ id, title: english, detail, help: short }: MetricDef): GridColumn {
  const kind = kindOf(id, 0);
  const width = kind === 'by_class' ? 168 : kind === 'ns' ? 116 : 88;
  return { id, title: title(id, english), help: help(id, detail || short), numeric: true, width, sortable: true };
}
