// The visible bands and their places: order, pins, hidden bands, search, and heights.

import { type Band, type BandRow, heightsOf, lanesOf } from './band';

/** The reader's arrangement, by ids of bands. */
export interface Arrangement {
  pinned: readonly number[];
  hidden: readonly number[];
  expanded: readonly number[];
  search: string;
  /** Bands with tasks are expanded, those in `expanded` are not. */
  tasks: boolean;
}

export const NOTHING_ARRANGED: Arrangement = { pinned: [], hidden: [], expanded: [], search: '', tasks: false };

/** Pinned bands first, in the order of pinning, then the others as the server sorted them, without hidden bands and those
 * that the search does not match. A pinned band is always visible. */
export function arrangedBands(bands: readonly Band[], by: Arrangement): BandRow[] {
  const pinned = by.pinned.flatMap((id) => bands.find((band) => band.id === id) ?? []);
  const hidden = new Set(by.hidden);
  const pins = new Set(by.pinned);
  const others = bands.filter((band) => !pins.has(band.id) && !hidden.has(band.id) && matches(band, by.search));
  const toggled = new Set(by.expanded);
  let top = 0;
  return [...pinned, ...others].map((band) => {
    const expanded = toggled.has(band.id) !== (by.tasks && lanesOf(band) > 0 && band.state !== false);
    const row = { band, top, pinned: pins.has(band.id), expanded, ...heightsOf(band, expanded) };
    top += row.height;
    return row;
  });
}

/** Whether the label or the process contains each word of the search, ignoring case. */
function matches({ label, process }: Band, search: string): boolean {
  const text = `${label} ${process}`.toLowerCase();
  return search
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

export function heightOf(rows: readonly BandRow[]): number {
  const last = rows.at(-1);
  return last ? last.top + last.height : 0;
}

/** Indices of the first visible row and one past the last. */
export function visibleBands(
  rows: readonly BandRow[],
  scrollTop: number,
  height: number,
): [first: number, end: number] {
  const first = firstEndingAfter(rows, scrollTop);
  let end = first;
  while (end < rows.length && (rows[end]?.top ?? 0) < scrollTop + height) end += 1;
  return [first, end];
}

/** Index of the row at `y`; -1: none. */
export function rowAt(rows: readonly BandRow[], y: number): number {
  if (y < 0 || y >= heightOf(rows)) return -1;
  return firstEndingAfter(rows, y);
}

function firstEndingAfter(rows: readonly BandRow[], y: number): number {
  let [low, high] = [0, rows.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const row = rows[middle];
    if (row && row.top + row.height <= y) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The scroll position nearest to the current one that shows the whole row. */
export function scrollToRow(row: BandRow, scrollTop: number, height: number): number {
  if (row.top < scrollTop) return row.top;
  return Math.max(scrollTop, row.top + row.height - height);
}

/** The list with the id appended, or removed if it was there. */
export function toggled(ids: readonly number[], id: number): number[] {
  return ids.includes(id) ? ids.filter((other) => other !== id) : [...ids, id];
}
