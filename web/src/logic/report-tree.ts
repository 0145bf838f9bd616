// Rows of a report: a flat list with depths, whose subtrees can be closed.

export interface ReportRow {
  depth: number;
  values: unknown[];
}

/** For each row, whether the next one is its child. */
export function hasChildren(rows: readonly ReportRow[]): boolean[] {
  return rows.map(({ depth }, at) => (rows[at + 1]?.depth ?? 0) > depth);
}

/** Indices of the visible rows; rows in `closed` hide their subtrees. */
export function shownRows(rows: readonly ReportRow[], closed: ReadonlySet<number>): number[] {
  const shown: number[] = [];
  let hiddenBelow = Number.POSITIVE_INFINITY;
  rows.forEach(({ depth }, at) => {
    if (depth > hiddenBelow) return;
    shown.push(at);
    hiddenBelow = closed.has(at) ? depth : Number.POSITIVE_INFINITY;
  });
  return shown;
}

/** Indices of the rows whose text contains `search`, and of their ancestors. */
export function matchingRows(rows: readonly ReportRow[], search: string): number[] {
  const wanted = search.trim().toLowerCase();
  if (wanted === '') return rows.map((_, at) => at);
  const found = new Set<number>();
  const parents: number[] = [];
  rows.forEach(({ depth, values }, at) => {
    parents.length = depth;
    parents[depth] = at;
    const hit = values.some((value) => typeof value === 'string' && value.toLowerCase().includes(wanted));
    if (hit) for (const parent of parents) if (parent !== undefined) found.add(parent);
  });
  return [...found].sort((a, b) => a - b);
}

/**
 * The rows, siblings sorted by one column, largest or smallest first; children stay below their parents. `number` gives
 * the value to compare; rows without one come last.
 */
export function sortedRows<R extends ReportRow>(
  rows: readonly R[],
  number: (row: R) => number | string | null,
  descending: boolean,
): R[] {
  const sign = descending ? -1 : 1;
  const order = (a: R, b: R) => {
    const [x, y] = [number(a), number(b)];
    if (x === null || y === null) return (x === null ? 1 : 0) - (y === null ? 1 : 0);
    if (typeof x === 'string' || typeof y === 'string') return sign * String(x).localeCompare(String(y));
    return sign * (x - y);
  };
  const level = (from: number, to: number, depth: number): R[] => {
    const blocks: R[][] = [];
    for (let at = from; at < to; ) {
      let end = at + 1;
      while (end < to && (rows[end]?.depth ?? 0) > depth) end += 1;
      const head = rows[at];
      if (head) blocks.push([head, ...level(at + 1, end, depth + 1)]);
      at = end;
    }
    return blocks.sort(([a], [b]) => (a && b ? order(a, b) : 0)).flat();
  };
  return level(0, rows.length, rows[0]?.depth ?? 0);
}
