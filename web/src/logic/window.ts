// Which rows of a long list are on the screen, and where the list must scroll to show one. Rows have one height.

export const ROW_HEIGHT = 22;

/** First row and one past the last that may be seen, with a few more on both sides. */
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

/** The scroll position nearest to `scrollTop` at which the row is seen whole, under a header of one row. */
export function scrollTo(row: number, scrollTop: number, height: number): number {
  const top = row * ROW_HEIGHT;
  const room = height - ROW_HEIGHT;
  if (top < scrollTop) return top;
  if (top + ROW_HEIGHT > scrollTop + room) return Math.max(0, top + ROW_HEIGHT - room);
  return scrollTop;
}
