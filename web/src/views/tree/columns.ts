// Columns of grids, from the server's metric table.

import type { MetricInfo } from '../../api/types';
import { help, title } from '../../base/texts';
import { kindOf } from '../../logic/values';
import { type GridColumn, titleWidth } from '../grid/grid';

/** The default columns of Bottom-up. */
export const BOTTOM_UP = [
  'effective_by_class',
  'spin_ns',
  'overhead_ns',
  'wait_by_class',
  'wait_count',
  'preemption_ns',
];

/** The default columns of trees of callers and callees. */
export const CALLS = ['cpu_ns', 'wait_ns'];

/** Self times: the columns of call trees that exclude callees. */
export const SELF = [
  { id: 'cpu_self_ns', english: 'CPU Time: Self', total: { id: 'cpu_ns', english: 'CPU Time' } },
  { id: 'wait_self_ns', english: 'Wait Time: Self', total: { id: 'wait_ns', english: 'Wait Time' } },
] as const;

/** The chosen metrics that the server knows, in the chosen order; without a choice, the `usual` ones. */
export function chosenMetrics(
  chosen: readonly string[],
  known: readonly MetricInfo[],
  usual: readonly string[],
): MetricInfo[] {
  const ids = chosen.length > 0 ? chosen : usual;
  return ids.flatMap((id) => known.find((metric) => metric.id === id) ?? []);
}

export function selfColumn({ id, english }: (typeof SELF)[number]): GridColumn {
  const shown = title(id, english);
  const width = Math.max(100, titleWidth(shown));
  return { id, title: shown, help: help(id, english), numeric: true, width, sortable: true };
}

export function metricColumn({ id, title: english, detail, help: short }: MetricInfo): GridColumn {
  const kind = kindOf(id, 0);
  const shown = title(id, english);
  const least = { by_class: 164, ns: 100 }[kind as string] ?? 64;
  const width = Math.max(least, Math.min(titleWidth(shown), 190));
  return { id, title: shown, help: help(id, detail || short), numeric: true, width, sortable: true };
}
