// The visible rows of a long list, and the scroll position that shows a row. All rows have one height.

export const ROW_HEIGHT = 22;

/** The first visible row and one past the last, with a few more on both sides. */
export function visibleRows(
  scrollTop: number,
  height: number,
  rows: number,
  extra = 6,
): { first: number; last: number } {
  const first = Math.max(0, Math.floor(scrollTop / ROW_HEIGHT) - extra);
  const last = Math.min(rows, Math.ceil((scrollTop + height) / ROW_HEIGHT) + extra);
  return { first: Math.min(first, last), last };
}

/** The scroll position nearest to `scrollTop` that shows the whole row, below a header of one row. */
export function scrollTo(row: number, scrollTop: number, height: number): number {
  const top = row * ROW_HEIGHT;
  const room = height - ROW_HEIGHT;
  if (top < scrollTop) return top;
  if (top + ROW_HEIGHT > scrollTop + room) return Math.max(0, top + ROW_HEIGHT - room);
  return scrollTop;
}
