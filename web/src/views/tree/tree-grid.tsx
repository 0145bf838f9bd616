import { type KeyboardEvent, type ReactNode, useCallback, useMemo } from 'react';
import type { ChoiceWord, MetricInfo } from '../../api/types';
import { nameText, shortText } from '../../base/names';
import { help, t, title } from '../../base/texts';
import type { Subject } from '../../logic/context';
import { tableCsv, tableText } from '../../logic/copy';
import { ALL_FUNCTIONS, CALLEES, CALLERS, filtersOf, levelAt, namesTitle } from '../../logic/grouping';
import type { FlatRow, GridRow as GridData, Tree } from '../../logic/tree';
import { useKeys } from '../../logic/use-keys';
import { amount, asText, kindOf } from '../../logic/values';
import { filterIn, filterOut } from '../../state/actions';
import { type NumberStyle, usePreferences } from '../../state/preferences';
import { useDispatch, useView } from '../../state/provider';
import { asApiError } from '../../state/resource';
import { Cell } from '../grid/cell';
import { Grid, type GridRow } from '../grid/grid';
import { nextSort } from '../grid/report-grid';
import { Empty, Failure, Skeleton } from '../parts/states';
import { CopyMenu, Toolbar } from '../parts/toolbar';
import { useSubjects } from '../parts/use-subjects';
import { metricColumn, SELF, selfColumn } from './columns';
import { questionUrl, useTree } from './use-tree';

interface Props {
  /** The key of the stored widths, and the accessible name. */
  name: string;
  label: string;
  groupBy: readonly string[];
  metrics: MetricInfo[];
  levels: ChoiceWord[];
  search?: string;
  /** Whether to show the self times. */
  self?: boolean;
  /** Only stacks through this function. */
  subject?: string;
  /** Keys of the selected row, outermost first. */
  selection: readonly string[];
  /** The selected row's label, if that identifies it; `selection` then only picks among rows with this label. */
  chosen?: string;
  onSelect: (path: string[], row: GridData) => void;
  /** Called on Enter or a double click; by default these open a function's source. */
  onOpen?: (row: GridData) => void;
  empty?: ReactNode;
  /** The left part of the line above the rows; the right part has the actions. */
  toolbar: (tree: Tree | null) => ReactNode;
}

export function TreeGrid(props: Props) {
  const { groupBy, metrics, subject, selection, search = '', self = false } = props;
  // A sort column of another tree leaves this tree in the server's order.
  const sort = useView(({ sort }) => (self || !SELF.some(({ id }) => id === sort?.metric) ? sort : null));
  const question = useMemo(
    () => ({ groupBy, metrics: metrics.map(({ id }) => id), sort, search, subject, selection }),
    [groupBy, metrics, sort, search, subject, selection],
  );
  const url = useView((state) => questionUrl(state, question));
  const tree = useTree(question, url);
  const fields = useMemo(
    () => [...metrics, ...(self ? SELF.map(({ id }) => ({ id, additive: true })) : [])],
    [metrics, self],
  );
  return (
    <>
      <Toolbar>
        {props.toolbar(tree)}
        <span className="grow" />
        {tree && <Actions tree={tree} fields={fields} />}
      </Toolbar>
      <Content {...props} tree={tree} fields={fields} sort={sort} />
    </>
  );
}

interface ContentProps extends Props {
  tree: Tree | null;
  fields: Field[];
  sort: { metric: string; descending: boolean } | null;
}

function Content({ tree, ...props }: ContentProps) {
  const { search = '', empty } = props;
  if (!tree) return <Skeleton rows={12} />;
  if (tree.error && !tree.ready) {
    const { text, advice } = asApiError(tree.error);
    return <Failure error={text} hint={advice} retry={() => void tree.start()} />;
  }
  if (tree.rows().length === 0) {
    const found = props.groupBy.includes(CALLERS) ? 'empty.search.callers' : 'empty.search';
    return <Empty>{search ? t(found, { search }) : empty}</Empty>;
  }
  return <Rows {...props} tree={tree} />;
}

/** The actions on all rows. */
function Actions({ tree, fields }: { tree: Tree; fields: Field[] }) {
  const rows = tree.rows();
  return (
    <>
      {rows.some(({ row }) => row?.children) && (
        <button type="button" className="quiet" onClick={() => void tree.expandAll([])}>
          {t('grid.expand-all')}
        </button>
      )}
      <CopyMenu text={() => rowsText(rows, fields)} csv={() => rowsCsv(rows, fields)} />
    </>
  );
}

const FUNCTIONS: readonly string[] = ['function', ALL_FUNCTIONS, CALLERS, CALLEES];

function moduleOf({ values }: GridData): string {
  return typeof values.module === 'string' ? values.module : '';
}

function Rows(props: ContentProps & { tree: Tree }) {
  const { tree, metrics, fields, levels, groupBy, sort, selection, self } = props;
  const { numbers } = usePreferences();
  const dispatch = useDispatch();
  const groupsOf = useSubjects();
  useSelectionKeys(groupBy, tree.labels(selection));
  const rows = tree.rows();
  const full = largest(rows, fields);
  const columns = useMemo(
    () => [
      {
        id: 'name',
        title: namesTitle(groupBy, levels),
        numeric: false,
        width: 220,
        least: 160,
        sortable: true,
      },
      ...metrics.map(metricColumn),
      ...(self ? SELF.map(selfColumn) : []),
    ],
    [metrics, levels, groupBy, self],
  );
  const pathOf = (index: number): string[] => {
    const at = rows[index];
    return at?.row ? [...at.parent, at.row.key] : [];
  };
  const select = (index: number) => {
    const row = rows[index]?.row;
    if (row) props.onSelect(pathOf(index), row);
  };
  // A function opens its source, other rows open their children.
  const open = (index: number) => {
    const at = rows[index];
    if (!at?.row) return;
    if (props.onOpen) props.onOpen(at.row);
    else if (FUNCTIONS.includes(levelAt(groupBy, at.parent.length)))
      dispatch({ tab: 'source', function: at.row.label, module: moduleOf(at.row) });
    else tree.toggle(pathOf(index), !at.expanded);
  };
  const visible = useCallback((first: number, last: number) => tree.need(first, last), [tree]);
  const key = (event: KeyboardEvent, index: number): boolean => {
    if (event.key === '*') void tree.expandAll(pathOf(index));
    else if (event.key === 'c') navigator.clipboard?.writeText(rowText(rows[index], fields));
    else return false;
    return true;
  };
  return (
    <>
      <Grid
        name={props.name}
        label={props.label}
        columns={columns}
        rows={rows.length}
        row={(index) => gridRow(rows[index], groupBy, fields, { full, total: tree.total, style: numbers })}
        selected={selectedRow(tree, selection, props.chosen)}
        onSelect={select}
        onToggle={(index, open) => tree.toggle(pathOf(index), open)}
        onOpen={open}
        onKey={key}
        menu={(index) => groupsOf(subjectOfRow(rows[index], groupBy))}
        sort={sort}
        onSort={(metric) => dispatch({ sort: nextSort(sort, metric) }, 'touch')}
        onVisible={visible}
      />
      {props.subject === undefined && <Totals tree={tree} metrics={metrics} />}
    </>
  );
}

function subjectOfRow(at: FlatRow | undefined, groupBy: readonly string[]): Subject[] {
  return at?.row ? [{ level: levelAt(groupBy, at.parent.length), name: at.row.label }] : [];
}

function selectedRow(tree: Tree, selection: readonly string[], chosen: string | undefined): number {
  const at = tree.find(selection);
  if (chosen === undefined || tree.rows()[at]?.row?.label === chosen) return at;
  return tree.rows().findIndex(({ row }) => row?.label === chosen);
}

/** A column of numbers. */
type Field = Pick<MetricInfo, 'id' | 'additive'>;

interface Scale {
  full: Map<string, number>;
  total: Record<string, unknown>;
  style: NumberStyle;
}

function gridRow(
  at: FlatRow | undefined,
  groupBy: readonly string[],
  fields: Field[],
  { full, total, style }: Scale,
): GridRow {
  const row = at?.row;
  if (!at || !row) {
    return { key: String(at?.index), depth: at?.parent.length ?? 0, expanded: null, cells: [<Waiting key="name" />] };
  }
  const name = nameText(row.label, levelAt(groupBy, at.parent.length));
  const cells: ReactNode[] = [
    <span key="name" className="cell-text" data-tip={name.length > 30 ? name : undefined}>
      {shortText(name)}
    </span>,
    ...fields.map(({ id, additive }) => (
      <Cell
        key={id}
        kind={kindOf(id, row.values[id])}
        value={row.values[id]}
        full={full.get(id) ?? 0}
        total={additive ? amount(total[id]) : null}
        style={style}
      />
    )),
  ];
  return { key: row.key, depth: at.parent.length, expanded: row.children ? at.expanded : null, cells };
}

/** A row whose page has not arrived. */
function Waiting() {
  return <span className="skeleton-bar skeleton-inline" />;
}

/**
 * The largest value of each column among the known rows, whose bar fills the column. Self times may be larger further in.
 */
function largest(rows: readonly FlatRow[], fields: Field[]): Map<string, number> {
  return new Map(
    fields.map(({ id }) => [id, rows.reduce((most, { row }) => Math.max(most, amount(row?.values[id]) ?? 0), 0)]),
  );
}

function rowText(at: FlatRow | undefined, fields: Field[]): string {
  const row = at?.row;
  if (!row) return '';
  return [row.label, ...fields.map(({ id }) => asText(kindOf(id, row.values[id]), row.values[id]))].join('\t');
}

/** The open rows as text, as on the screen. */
function rowsText(rows: readonly FlatRow[], fields: Field[]): string {
  return tableText(rows.map((at) => [`${'  '.repeat(at.parent.length)}${rowText(at, fields)}`]));
}

/** The open rows as CSV with exact numbers; `depth` gives the nesting. */
function rowsCsv(rows: readonly FlatRow[], fields: Field[]): string {
  const head = ['depth', 'name', ...fields.map(({ id }) => id)];
  const lines = rows.flatMap(({ parent, row }) =>
    row ? [[parent.length, row.label, ...fields.map(({ id }) => amount(row.values[id]) ?? row.values[id])]] : [],
  );
  return tableCsv([head, ...lines]);
}

/** The sums over all rows. */
function Totals({ tree, metrics }: { tree: Tree; metrics: MetricInfo[] }) {
  const known = metrics.filter(({ id, additive }) => additive && amount(tree.total[id]) !== null);
  return (
    <footer className="totals">
      <strong>{t('grid.total')}</strong>
      {known.map(({ id, title: english, detail }) => (
        <span key={id} data-total={id} data-tip={help(id, detail)}>
          <span className="faint">{title(id, english)}</span> {asText(kindOf(id, tree.total[id]), tree.total[id])}
        </span>
      ))}
    </footer>
  );
}

/** `f` and `F` filter the selected row in or out. */
function useSelectionKeys(groupBy: readonly string[], labels: string[]): void {
  const dispatch = useDispatch();
  const filters = filtersOf(groupBy, labels);
  useKeys({
    'filter-in': () => {
      if (filters.length === 0) return false;
      dispatch((state) => filters.reduce((next, { key, value }) => filterIn(next, key, value), state));
      return true;
    },
    'filter-out': () => {
      // Filters of the ancestors would also hide their other rows, so only the innermost counts.
      const innermost = filters.at(-1);
      if (!innermost) return false;
      dispatch((state) => filterOut(state, innermost.key, innermost.value));
      return true;
    },
  });
}
