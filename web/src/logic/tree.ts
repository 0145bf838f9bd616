// The rows of a tree that the server sends one level at a time, in pages: the known rows, the open rows, and the requests
// for the visible rows.

import type { Grid } from '../api/types';

export type GridRow = Grid['rows'][number];

/** A row of the flat list; `row` is missing until its page arrives. */
export interface FlatRow {
  /** Keys from the outermost row to this one's parent. */
  parent: readonly string[];
  index: number;
  row: GridRow | undefined;
  expanded: boolean;
}

export type FetchPage = (path: readonly string[], offset: number, limit: number) => Promise<Grid>;

interface Level {
  total: number;
  rows: Map<number, GridRow>;
}

const PAGE = 100;
/** The most rows and levels that "expand all" opens: more than that, nobody reads. */
const EXPAND_ROWS = 500;
const EXPAND_DEPTH = 40;

const name = (path: readonly string[]) => JSON.stringify(path);

export class Tree {
  /** Sums of the whole tree, once the first page has arrived. */
  total: Record<string, unknown> = {};
  error: Error | null = null;
  private readonly levels = new Map<string, Level>();
  private readonly asked = new Set<string>();
  /** Rows that a search opened and the reader closed again. */
  private readonly shut = new Set<string>();
  private flat: FlatRow[] | null = null;

  /**
   * `fetchPage` knows the question (filters, grouping, sort); another question needs another tree. `open` holds the names
   * of open rows; the next tree may share it. The tree calls `changed` when rows arrive. `search` is the question's search:
   * rows that do not contain it lead to rows that do, and are open.
   */
  constructor(
    private readonly fetchPage: FetchPage,
    readonly open: Set<string>,
    private readonly changed: () => void,
    private readonly search = '',
  ) {}

  /** Whether the outermost rows are known. */
  get ready(): boolean {
    return this.levels.has(name([]));
  }

  start(): Promise<void> {
    return this.page([], 0);
  }

  /** Every row of the list. */
  rows(): readonly FlatRow[] {
    this.flat ??= this.flatten([], []);
    return this.flat;
  }

  toggle(path: readonly string[], open: boolean): void {
    if (open) {
      this.open.add(name(path));
      this.shut.delete(name(path));
    } else {
      this.open.delete(name(path));
      this.shut.add(name(path));
    }
    if (open && !this.levels.has(name(path))) void this.page(path, 0);
    this.update();
  }

  /** Requests the missing rows from `first` to `last`. */
  need(first: number, last: number): void {
    for (const { parent, index, row, expanded } of this.rows().slice(first, last)) {
      if (!row) void this.page(parent, Math.floor(index / PAGE) * PAGE);
      else if (expanded) {
        const path = [...parent, row.key];
        if (!this.levels.has(name(path))) void this.page(path, 0);
      }
    }
  }

  /** Opens everything below a row, level by level, up to the limits. */
  async expandAll(path: readonly string[]): Promise<void> {
    let opened = 0;
    let front: (readonly string[])[] = [path];
    for (let depth = 0; depth < EXPAND_DEPTH && front.length > 0 && opened < EXPAND_ROWS; depth += 1) {
      for (const at of front) if (at.length > 0) this.open.add(name(at));
      await Promise.all(front.map((at) => this.page(at, 0)));
      const next = front.flatMap((at) => this.children(at));
      opened += next.length;
      front = next.slice(0, EXPAND_ROWS);
    }
    this.update();
  }

  /** Index of the row with these keys; -1 when it is not in the list. */
  find(path: readonly string[]): number {
    const last = path.length - 1;
    if (last < 0) return -1;
    return this.rows().findIndex(
      ({ parent, row }) =>
        row?.key === path[last] && parent.length === last && parent.every((key, depth) => key === path[depth]),
    );
  }

  /** Labels of the row's ancestors and its own, as far as they are known. */
  labels(path: readonly string[]): string[] {
    return path.flatMap((key, depth) => {
      const rows = this.levels.get(name(path.slice(0, depth)))?.rows.values() ?? [];
      return [...rows].find((row) => row.key === key)?.label ?? [];
    });
  }

  private children(path: readonly string[]): string[][] {
    const rows = this.levels.get(name(path))?.rows.values() ?? [];
    return [...rows].filter(({ children }) => children).map(({ key }) => [...path, key]);
  }

  private async page(path: readonly string[], offset: number): Promise<void> {
    const question = `${offset} ${name(path)}`;
    if (this.asked.has(question)) return;
    this.asked.add(question);
    try {
      this.take(path, offset, await this.fetchPage(path, offset, PAGE));
    } catch (error) {
      this.asked.delete(question);
      if (error instanceof DOMException && error.name === 'AbortError') return;
      this.error = error instanceof Error ? error : new Error(String(error));
    }
    this.update();
  }

  private take(path: readonly string[], offset: number, grid: Grid): void {
    const level = this.levels.get(name(path)) ?? { total: 0, rows: new Map() };
    level.total = grid.total_rows;
    grid.rows.forEach((row, at) => {
      level.rows.set(offset + at, row);
    });
    this.levels.set(name(path), level);
    if (path.length === 0) this.total = grid.total;
  }

  private update(): void {
    this.flat = null;
    this.changed();
  }

  /** `found`: an ancestor contains the search. */
  private flatten(path: readonly string[], into: FlatRow[], found = this.search === ''): FlatRow[] {
    const level = this.levels.get(name(path));
    if (!level) return into;
    for (let index = 0; index < level.total; index += 1) {
      const row = level.rows.get(index);
      const below = row?.children ? [...path, row.key] : null;
      const has = found || (row?.label.toLowerCase().includes(this.search.toLowerCase()) ?? false);
      const expanded = below !== null && this.isOpen(name(below), has);
      into.push({ parent: path, index, row, expanded });
      if (below && expanded) this.flatten(below, into, has);
    }
    return into;
  }

  /** A row that does not contain the search leads to rows that do. */
  private isOpen(row: string, found: boolean): boolean {
    return this.open.has(row) || (!found && !this.shut.has(row));
  }
}
