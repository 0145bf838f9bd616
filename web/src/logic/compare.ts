// The document of `dwell compare A B --format json` as a table: names, and for each metric first, second, difference and
// ratio.

import type { Document, MetricInfo, ViewDocument } from '../api/types';
import type { Kind } from './values';

const SIDES = ['first', 'second', 'difference', 'ratio'] as const;
export type Side = (typeof SIDES)[number];

type Column = ViewDocument['columns'][number];

/** Metric and side of a column's id; null for the others. */
export function sideOf(id: string): { metric: string; side: Side } | null {
  const side = SIDES.find((word) => id.endsWith(`_${word}`));
  return side ? { metric: id.slice(0, -side.length - 1), side } : null;
}

/**
 * The table. `names` gives the title of each column: of a metric's sides, and of the others by id.
 */
export function comparison(
  document: Document,
  metrics: readonly MetricInfo[],
  titleOf: (metric: MetricInfo | null, id: string, side: Side | null) => string,
): ViewDocument {
  const rows = document.rows ?? [];
  const ids = Object.keys(rows[0] ?? {});
  const columns = ids.map((id, at): Column => {
    const parts = sideOf(id);
    const metric = metrics.find((known) => known.id === parts?.metric) ?? null;
    return {
      id,
      title: titleOf(metric, id, parts?.side ?? null),
      help: '',
      kind: at === 0 ? 'text' : kind(id, metric),
    };
  });
  return {
    columns,
    rows: rows.map((row) => ({ depth: 0, values: ids.map((id) => row[id]) })),
    notes: document.notes,
    notes_parts: document.notes_parts ?? [],
    total: {},
  };
}

function kind(id: string, metric: MetricInfo | null): Kind {
  if (id.endsWith('_ratio')) return 'real';
  if (!metric) return id === 'share' ? 'fraction' : 'text';
  return metric.unit === 'count' ? 'count' : 'ns';
}
