// Compares two results: the metrics of each name side by side, and their difference.

import { useMemo, useState } from 'react';
import type { Document, Info, ResultInfo } from '../api/types';
import { t, title } from '../base/texts';
import { commandName, programName } from '../base/units';
import { comparison } from '../logic/compare';
import { reportCsv, reportText } from '../logic/copy';
import { useDispatch, useView } from '../state/provider';
import { selectionQuery, withParams } from '../state/query';
import { useCall, useJson } from '../state/resource';
import { field, ReportGrid } from './grid/report-grid';
import { Notes } from './parts/notes';
import { Empty, Loaded } from './parts/states';
import { CopyMenu, SearchField, Toolbar } from './parts/toolbar';

const LEVELS = ['object', 'function', 'module', 'thread', 'object-type', 'process'];

export default function CompareView() {
  const results = useJson<ResultInfo[]>('/api/results');
  const info = useCall('info');
  const { result, compare } = useView((state) => ({ result: state.result, compare: state.compare }));
  const [level, setLevel] = useState('object');
  const others = (results.data ?? []).filter(
    ({ id, problem, analysis }) => id !== result && !problem && analysis !== 'anatomy',
  );
  const other =
    compare ||
    before(
      others,
      results.data?.find(({ id }) => id === result),
    ) ||
    '';
  const url = useView((state) => (other ? compareUrl(selectionQuery(state), other, result, level) : ''));
  const document = useJson<Document>(url || null);
  if (results.data && others.length === 0) return <Empty>{t('compare.alone')}</Empty>;
  return (
    <section className="pane" aria-label={t('tab.compare')}>
      <Toolbar>
        <OtherPicker others={others} other={other} result={result} />
        <label>
          {t('grid.group-by')}
          <select value={level} onChange={({ target }) => setLevel(target.value)}>
            {LEVELS.map((id) => (
              <option key={id} value={id}>
                {title(id, info.data?.levels.find((known) => known.id === id)?.title ?? id)}
              </option>
            ))}
          </select>
        </label>
        <SearchField />
        <span className="grow" />
        {document.data && <Notes of={document.data} />}
      </Toolbar>
      <Loaded of={document}>
        {(data) => (info.data ? <Table document={data} info={info.data} level={level} other={other} /> : null)}
      </Loaded>
    </section>
  );
}

/** The default: the previous result of the same program, or any other. */
function before(others: readonly ResultInfo[], current: ResultInfo | undefined): string | undefined {
  if (!current) return undefined;
  const rank = ({ id, program }: ResultInfo) =>
    (programName(program) === programName(current.program) ? 2 : 0) + (id < current.id ? 1 : 0);
  const order = [...others].sort((a, b) => rank(b) - rank(a) || (a.id < b.id ? 1 : -1));
  return order[0]?.id;
}

interface TableProps {
  document: Document;
  info: Info;
  level: string;
  /** The first result; the second is the view's. */
  other: string;
}

/** The other result is the first, this one the second: a positive difference is a gain. */
function compareUrl(selection: URLSearchParams, first: string, second: string, level: string): string {
  return `/api/compare?${withParams(selection, { a: first, b: second, level })}`;
}

function OtherPicker({ others, other, result }: { others: ResultInfo[]; other: string; result: string }) {
  const dispatch = useDispatch();
  return (
    <label>
      <select
        aria-label={t('compare.first')}
        value={other}
        onChange={({ target }) => dispatch({ compare: target.value })}
      >
        {others.map(({ id, program }) => (
          <option key={id} value={id}>
            {id} {commandName(program)}
          </option>
        ))}
      </select>
      − {result}
    </label>
  );
}

function Table({ document, info, level, other }: TableProps) {
  const { search, result } = useView((state) => ({ search: state.search, result: state.result }));
  const dispatch = useDispatch();
  const view = useMemo(() => {
    const sides = { first: other, second: result, difference: t('compare.difference'), ratio: t('compare.ratio') };
    return comparison(document, info.metrics, (metric, id, side) => {
      if (metric && side) return `${title(metric.id, metric.title)}: ${sides[side]}`;
      if (id === 'share') return t('compare.share', { result: other });
      return title(id, info.levels.find((known) => known.id === id)?.title ?? id);
    });
  }, [document, info, other, result]);
  const open = (name: string) => {
    if (level === 'object') dispatch({ tab: 'objects', object: name });
    else if (level === 'function') dispatch({ tab: 'caller-callee', function: name });
  };
  return (
    <>
      <ReportGrid
        name="compare"
        label={t('tab.compare')}
        document={view}
        search={search}
        onOpen={(row) => open(String(field(view, row, level)))}
      />
      <footer className="totals">
        <span className="faint">{t('compare.help', { first: other, second: result })}</span>
        <span className="grow" />
        <CopyMenu text={() => reportText(view)} csv={() => reportCsv(view)} align="up" />
      </footer>
    </>
  );
}
