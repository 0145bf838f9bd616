// A report of the server as a grid, with closing of subtrees, sorting, searching and copying.

import { type ReactNode, useMemo, useState } from 'react';
import type { ViewDocument } from '../../api/types';
import { nameText } from '../../base/names';
import { help, t, title } from '../../base/texts';
import { subjectsOf } from '../../logic/context';
import { reportCsv, reportText } from '../../logic/copy';
import { hasChildren, matchingRows, type ReportRow, shownRows, sortedRows } from '../../logic/report-tree';
import { amount, asText, isLength, isNumeric } from '../../logic/values';
import { usePreferences } from '../../state/preferences';
import { Notes } from '../parts/notes';
import { Empty } from '../parts/states';
import { CopyMenu, Toolbar } from '../parts/toolbar';
import { useSubjects } from '../parts/use-subjects';
import { Cell } from './cell';
import { Grid, type GridColumn, NAME_WIDTH, titleWidth } from './grid';

type Column = ViewDocument['columns'][number];

interface Props {
  name: string;
  label: string;
  document: ViewDocument;
  /** Ids of columns to hide, because only programs need them. */
  hidden?: readonly string[];
  search?: string;
  /** Content in place of a cell's value, by column id. */
  show?: (column: string, row: ReportRow) => ReactNode | undefined;
  selected?: (row: ReportRow) => boolean;
  onSelect?: (row: ReportRow) => void;
  onOpen?: (row: ReportRow) => void;
  empty?: ReactNode;
}

/** Columns whose values are words of Dwell, not names of the program. */
const WORDS: readonly string[] = ['role', 'kind', 'type', 'object_type'];

/** The value of a column by id. */
export function field(document: ViewDocument, row: ReportRow, id: string): unknown {
  return row.values[document.columns.findIndex((column) => column.id === id)];
}

export function ReportGrid(props: Props) {
  const { document, name, label, hidden = [], search = '' } = props;
  const { numbers } = usePreferences();
  const groupsOf = useSubjects();
  const [sort, setSort] = useState<{ metric: string; descending: boolean } | null>(null);
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const [cursor, setCursor] = useState(-1);
  const columns = useMemo(() => shownColumns(document, hidden), [document, hidden]);
  const rows = useMemo(() => order(document, sort, search), [document, sort, search]);
  const identity = useMemo(() => identities(rows), [rows]);
  const shown = useMemo(() => shownRows(rows, closedIndices(identity, closed)), [rows, identity, closed]);
  const children = useMemo(() => hasChildren(rows), [rows]);
  const full = useMemo(() => maxima(document, columns), [document, columns]);
  const texts = useMemo(() => longest(document, columns), [document, columns]);
  if (rows.length === 0) return <Empty>{search ? t('empty.search', { search }) : props.empty}</Empty>;
  const at = (index: number) => rows[shown[index] ?? 0];
  const chosen = props.selected ? shown.findIndex((row) => rows[row] && props.selected?.(rows[row])) : cursor;
  const toggle = (index: number, open: boolean) => {
    const key = identity[shown[index] ?? -1];
    if (key === undefined) return;
    const next = new Set(closed);
    if (open) next.delete(key);
    else next.add(key);
    setClosed(next);
  };
  const cellsOf = (row: ReportRow): ReactNode[] =>
    columns.map(({ column, index }) => {
      const own = props.show?.(column.id, row);
      if (own !== undefined) return own;
      const value = row.values[index];
      if (WORDS.includes(column.id) && typeof value === 'string') {
        return (
          <span key={column.id} className="cell-text">
            {title(value, value)}
          </span>
        );
      }
      const total = amount(document.total?.[column.id]);
      return (
        <Cell
          key={column.id}
          kind={column.kind}
          value={column.kind === 'text' && typeof value === 'string' ? nameText(value, column.id) : value}
          full={isLength(column.id) ? 0 : (full.get(column.id) ?? 0)}
          total={total}
          style={numbers}
        />
      );
    });
  return (
    <Grid
      name={name}
      label={label}
      columns={columns.map(({ column }, at) => gridColumn(column, at === 0, texts.get(column.id) ?? 0))}
      rows={shown.length}
      row={(index) => {
        const original = shown[index] ?? 0;
        const row = rows[original] ?? { depth: 0, values: [] };
        const expanded = children[original] ? !closed.has(identity[original] ?? '') : null;
        return { key: identity[original] ?? '', depth: row.depth, expanded, cells: cellsOf(row) };
      }}
      selected={chosen}
      onSelect={(index) => {
        setCursor(index);
        const row = at(index);
        if (row) props.onSelect?.(row);
      }}
      onToggle={toggle}
      onOpen={(index) => {
        const row = at(index);
        if (row) props.onOpen?.(row);
      }}
      onKey={(event, index) => event.key === 'c' && copyRow(columns, at(index))}
      menu={(index) => groupsOf(subjectsOf(document.columns, at(index)?.values ?? []))}
      sort={sort}
      onSort={(metric) => setSort(nextSort(sort, metric))}
    />
  );
}

/** The next sort order: largest first, then smallest first, then the report's own. */
export function nextSort(sort: { metric: string; descending: boolean } | null, metric: string) {
  if (sort?.metric !== metric) return { metric, descending: true };
  return sort.descending ? { metric, descending: false } : null;
}

interface Shown {
  column: Column;
  index: number;
}

function shownColumns(document: ViewDocument, hidden: readonly string[]): Shown[] {
  const all = document.columns.map((column, index) => ({ column, index }));
  return all.filter(
    ({ column }) => column.kind !== 'rows' && column.kind !== 'histogram' && !hidden.includes(column.id),
  );
}

function order(
  document: ViewDocument,
  sort: { metric: string; descending: boolean } | null,
  search: string,
): ReportRow[] {
  const found = matchingRows(document.rows, search).flatMap((at) => document.rows[at] ?? []);
  if (!sort) return found;
  const index = document.columns.findIndex((column) => column.id === sort.metric);
  const number = (row: ReportRow) => {
    const value = row.values[index];
    return typeof value === 'string' ? value : amount(value);
  };
  return sortedRows(found, number, sort.descending);
}

/** An identity for each row, stable under sorting and filtering: its path of names. */
function identities(rows: readonly ReportRow[]): string[] {
  const path: string[] = [];
  const seen = new Map<string, number>();
  return rows.map(({ depth, values }) => {
    path.length = depth;
    path[depth] = values.slice(0, 2).map(String).join('\u0001');
    const name = path.join('\u0002');
    const times = seen.get(name) ?? 0;
    seen.set(name, times + 1);
    return times === 0 ? name : `${name}\u0003${times}`;
  });
}

function closedIndices(identity: readonly string[], closed: ReadonlySet<string>): ReadonlySet<number> {
  return new Set(identity.flatMap((name, at) => (closed.has(name) ? [at] : [])));
}

function maxima(document: ViewDocument, columns: Shown[]): Map<string, number> {
  const largest = ({ index }: Shown) =>
    document.rows.reduce((most, { values }) => Math.max(most, Math.abs(amount(values[index]) ?? 0)), 0);
  return new Map(columns.map((shown) => [shown.column.id, largest(shown)]));
}

/** Kinds whose values vary so much in length that they determine the column's width. */
const OF_VALUES: readonly string[] = ['text', 'count', 'real'];

/** Letters of the longest value of each such column, including the indentation. */
function longest(document: ViewDocument, columns: Shown[]): Map<string, number> {
  const texts = columns.filter(({ column }) => OF_VALUES.includes(column.kind));
  const letters = ({ column: { kind }, index }: Shown) =>
    document.rows.reduce(
      (most, { values, depth }) => Math.max(most, asText(kind, values[index]).length + (index === 0 ? 2 * depth : 0)),
      0,
    );
  return new Map(texts.map((shown) => [shown.column.id, letters(shown)]));
}

/** Width of a letter of the widest font that the style sheet names, px. */
const LETTER = 7.4;

/** Least widths of names and of other texts, px. */
const LEAST_NAME = 230;
const LEAST_TEXT = 150;

function gridColumn(column: Column, names: boolean, letters: number): GridColumn {
  const { id, title: english, help: text, kind } = column;
  const numeric = isNumeric(kind);
  const shown = title(id, english);
  const sums = isLength(id) ? 76 : 92;
  const digits = Math.max(64, letters * LETTER + 16);
  const ofKind = { by_class: 164, parts: 164, ns: sums, count: digits, fraction: 64, real: digits, stack: 240 }[
    kind as string
  ];
  // A cause appears with its name and colour, not as an id.
  const least = id === 'cause' ? 150 : (ofKind ?? Math.max(70, Math.min(letters * LETTER + 22, 250)));
  // The column shows its whole heading, unless that is a sentence.
  const width = names
    ? Math.max(kind === 'text' ? 120 : 150, Math.min(letters * LETTER + 34, 330))
    : Math.max(least, Math.min(titleWidth(shown) - 2, 170));
  const grow = kind === 'stack';
  const isCut = grow || (kind === 'text' && id !== 'instruction');
  const room = isCut ? Math.min(width, names ? LEAST_NAME : Math.max(titleWidth(shown), LEAST_TEXT)) : width;
  const made = { id, title: shown, help: help(id, text), numeric, width, least: room, grow, sortable: true };
  // The first column is as wide as its numbers or names: if wider, the others would be far from them.
  return { ...made, most: numeric ? width : Math.min(letters * LETTER + 34, NAME_WIDTH) };
}

function copyRow(columns: Shown[], row: ReportRow | undefined): boolean {
  if (!row) return false;
  navigator.clipboard?.writeText(columns.map(({ column, index }) => asText(column.kind, row.values[index])).join('\t'));
  return true;
}

/** The line above a report: the list's controls on the left; on the right the notes and copying, once it has loaded. */
export function ReportToolbar({ of, children }: { of: ViewDocument | undefined; children: ReactNode }) {
  return (
    <Toolbar>
      {children}
      <span className="grow" />
      {of && <Notes of={of} />}
      {of && <CopyMenu text={() => reportText(of)} csv={() => reportCsv(of)} />}
    </Toolbar>
  );
}
