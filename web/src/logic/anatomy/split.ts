// The four-way split of a report's rows, with the memory part of the back end as a fifth share.

import type { ViewDocument } from '../../api/types';
import type { SplitPart } from '../../base/phases';

/** Shares of the slots; they sum to 1. */
export type Split = Record<SplitPart, number>;

/** The split of a row, from the columns with its parts. */
export function splitOf(document: ViewDocument, row: ViewDocument['rows'][number]): Split {
  const share = (id: string) => Number(row.values[document.columns.findIndex((column) => column.id === id)] ?? 0);
  const memory = share('memory_bound');
  return {
    retiring: share('retiring'),
    bad_speculation: share('bad_speculation'),
    frontend_bound: share('frontend_bound'),
    core_bound: Math.max(0, share('backend_bound') - memory),
    memory_bound: memory,
  };
}

/** The report with a column for the bar after the CPI; it sorts by the retiring slots. */
export function withSplit(document: ViewDocument): ViewDocument {
  const behind = document.columns.findIndex(({ id }) => id === 'cpi') + 1;
  const retiring = document.columns.findIndex(({ id }) => id === 'retiring');
  if (behind === 0 || retiring < 0) return document;
  const column = { id: 'split', title: 'Slots', help: 'Where the slots of the core went.', kind: 'parts' as const };
  return {
    ...document,
    columns: document.columns.toSpliced(behind, 0, column),
    rows: document.rows.map(({ depth, values }) => ({ depth, values: values.toSpliced(behind, 0, values[retiring]) })),
  };
}
