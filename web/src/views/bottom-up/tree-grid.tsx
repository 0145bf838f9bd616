import { type KeyboardEvent, type ReactNode, useCallback, useMemo } from 'react';
import type { MetricDef, Word } from '../../api/types';
import { t, title } from '../../base/texts';
import { CALLEES, CALLERS, filtersOf, levelAt } from '../../logic/grouping';
import type { FlatRow, GridRow as GridData, Tree } from '../../logic/tree';
import { useKeys } from '../../logic/use-keys';
import { amount, asText, csvField, kindOf } from '../../logic/values';
import { filterIn, filterOut } from '../../state/actions';
import { type NumberStyle, usePreferences } from '../../state/preferences';
import { useDispatch, useView } from '../../state/provider';
import { Cell } from '../grid/cell';
import { Grid, type GridRow } from '../grid/grid';
import { nextSort } from '../grid/report-grid';
import { Empty, Failure, Skeleton } from '../parts/states';
import { CopyButton } from '../parts/toolbar';
import { metricColumn } from './columns';
import { levelTitle } from './grouping-menu';
import { questionUrl, useTree } from './use-tree';

export function TreeGrid({ metrics, levels }: { metrics: MetricDef[]; levels: Word[] }) {
  const { groupBy, sort, search } = useView(({ groupBy, sort, search }) => ({ groupBy, sort, search }));
  const ids = useMemo(() => metrics.map(({ id }) => id), [metrics]);
  const question = useMemo(() => ({ groupBy, metrics: ids, sort, search }), [groupBy, ids, sort, search]);
  const url = useView((state) => questionUrl(state, question));
  const tree = useTree(question, url);
  if (!tree) return <Skeleton rows={12} />;
  if (tree.error && !tree.ready) {
    const hint = 'hint' in tree.error && typeof tree.error.hint === 'string' ? tree.error.hint : null;
    return <Failure error={tree.error.message} hint={hint} retry={() => void tree.start()} />;
  }
  if (tree.rows().length === 0) return <Empty>{search ? t('empty.search', { search }) : undefined}</Empty>;
  return <Rows tree={tree} metrics={metrics} levels={levels} groupBy={groupBy} sort={sort} />;
}

const FUNCTIONS: readonly string[] = ['function', CALLERS, CALLEES];

function moduleOf({ values }: GridData): string {
  return typeof values.module === 'string' ? values.module : '';
}

interface RowsProps {
  tree: Tree;
  metrics: MetricDef[];
  levels: Word[];
  groupBy: string[];
  sort: { metric: string; descending: boolean } | null;
}

function Rows({ tree, metrics, levels, groupBy, sort }: RowsProps) {
  const { numbers } = usePreferences();
  const selection = useView((state) => state.selection);
  const dispatch = useDispatch();
  useSelectionKeys(groupBy, tree.labels(selection));
  const rows = tree.rows();
  const full = largest(rows, metrics);
  const columns = useMemo(
    () => [
      {
        id: 'name',
        title: groupBy.map((level) => levelTitle(level, levels)).join(' / '),
        numeric: false,
        width: 220,
        sortable: true,
      },
      ...metrics.map(metricColumn),
    ],
    [metrics, levels, groupBy],
  );
  const pathOf = (index: number): string[] => {
    const at = rows[index];
    return at?.row ? [...at.parent, at.row.key] : [];
  };
  // A function opens its source, as one is used to; any other row what is below it.
  const open = (index: number) => {
    const at = rows[index];
    const level = levelAt(groupBy, at?.parent.length ?? 0);
    if (at?.row && FUNCTIONS.includes(level))
      dispatch({ tab: 'source', function: at.row.label, module: moduleOf(at.row) });
    else tree.toggle(pathOf(index), !at?.expanded);
  };
  const visible = useCallback((first: number, last: number) => tree.need(first, last), [tree]);
  const key = (event: KeyboardEvent, index: number): boolean => {
    if (event.key === '*') void tree.expandAll(pathOf(index));
    else if (event.key === 'c') navigator.clipboard?.writeText(rowText(rows[index], metrics));
    else return false;
    return true;
  };
  return (
    <>
      <span className="expand-all">
        <button type="button" className="quiet" onClick={() => void tree.expandAll([])}>
          {t('grid.expand-all')}
        </button>
        <CopyButton label={t('copy.csv')} text={() => rowsCsv(rows, metrics)} />
      </span>
      <Grid
        name="bottom-up"
        label={t('tab.bottom-up')}
        columns={columns}
        rows={rows.length}
        row={(index) => gridRow(rows[index], metrics, { full, total: tree.total, style: numbers })}
        selected={tree.find(selection)}
        onSelect={(index) => dispatch({ selection: pathOf(index) }, 'touch')}
        onToggle={(index, open) => tree.toggle(pathOf(index), open)}
        onOpen={open}
        onKey={key}
        sort={sort}
        onSort={(metric) => dispatch({ sort: nextSort(sort, metric) }, 'touch')}
        onVisible={visible}
      />
      <Totals tree={tree} metrics={metrics} />
    </>
  );
}

interface Scale {
  full: Map<string, number>;
  total: Record<string, unknown>;
  style: NumberStyle;
}

function gridRow(at: FlatRow | undefined, metrics: MetricDef[], { full, total, style }: Scale): GridRow {
  const row = at?.row;
  if (!at || !row) {
    return { key: String(at?.index), depth: at?.parent.length ?? 0, expanded: null, cells: [<Waiting key="name" />] };
  }
  const cells: ReactNode[] = [
    <span key="name" className="cell-text" data-tip={row.label.length > 30 ? row.label : undefined}>
      {row.label}
    </span>,
    ...metrics.map(({ id, additive }) => (
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

/** A row whose page is on its way. */
function Waiting() {
  return <span className="skeleton-bar skeleton-inline" />;
}

/** The largest value of each column among the outermost rows that are known: its bar is as long as the column is wide. */
function largest(rows: readonly FlatRow[], metrics: MetricDef[]): Map<string, number> {
  const known = rows.filter(({ parent, row }) => parent.length === 0 && row);
  return new Map(
    metrics.map(({ id }) => [id, known.reduce((most, { row }) => Math.max(most, amount(row?.values[id]) ?? 0), 0)]),
  );
}

function rowText(at: FlatRow | undefined, metrics: MetricDef[]): string {
  const row = at?.row;
  if (!row) return '';
  return [row.label, ...metrics.map(({ id }) => asText(kindOf(id, row.values[id]), row.values[id]))].join('\t');
}

/** The rows that are open, as CSV with exact numbers; `depth` says what is below what. */
function rowsCsv(rows: readonly FlatRow[], metrics: MetricDef[]): string {
  const head = ['depth', 'name', ...metrics.map(({ id }) => id)];
  const lines = rows.flatMap(({ parent, row }) =>
    row ? [[parent.length, row.label, ...metrics.map(({ id }) => amount(row.values[id]) ?? row.values[id])]] : [],
  );
  return `${[head, ...lines].map((fields) => fields.map(csvField).join(',')).join('\r\n')}\r\n`;
}

/** The sums of everything that is shown. */
function Totals({ tree, metrics }: { tree: Tree; metrics: MetricDef[] }) {
  const known = metrics.filter(({ id, additive }) => additive && amount(tree.total[id]) !== null);
  return (
    <footer className="totals">
      <strong>{t('grid.total')}</strong>
      {known.map(({ id, title: english }) => (
        <span key={id} data-total={id}>
          <span className="faint">{title(id, english)}</span> {asText(kindOf(id, tree.total[id]), tree.total[id])}
        </span>
      ))}
    </footer>
  );
}

/** `f` and `F`: only what the selected row stands for, or all but it. */
function useSelectionKeys(groupBy: string[], labels: string[]): void {
  const dispatch = useDispatch();
  const filters = filtersOf(groupBy, labels);
  useKeys({
    'filter-in': () => {
      if (filters.length === 0) return false;
      dispatch((state) => filters.reduce((next, { key, value }) => filterIn(next, key, value), state));
      return true;
    },
    'filter-out': () => {
      // All but the innermost would be filtered out with what else is in the rows above.
      const innermost = filters.at(-1);
      if (!innermost) return false;
      dispatch((state) => filterOut(state, innermost.key, innermost.value));
      return true;
    },
  });
}
