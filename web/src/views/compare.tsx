// Two results side by side: the same metrics of the same names, and their difference.

import { useMemo, useState } from 'react';
import type { Document, Info, ResultInfo } from '../api/types';
import { t, title } from '../base/texts';
import { baseName } from '../base/units';
import { comparison } from '../logic/compare';
import { useDispatch, useView } from '../state/provider';
import { selectionQuery, withParams } from '../state/query';
import { useCall, useJson } from '../state/resource';
import { field, ReportGrid, reportCsv } from './grid/report-grid';
import { Notes } from './parts/notes';
import { Empty, Loaded } from './parts/states';
import { CopyButton, SearchField, Toolbar } from './parts/toolbar';

const LEVELS = ['object', 'function', 'module', 'thread', 'object-type', 'process'];

export default function CompareView() {
  const results = useJson<ResultInfo[]>('/api/results');
  const info = useCall('info');
  const { result, compare } = useView((state) => ({ result: state.result, compare: state.compare }));
  const [level, setLevel] = useState('object');
  const others = (results.data ?? []).filter(({ id, problem }) => id !== result && !problem);
  // The result before this one is what one compares with most often.
  const other = compare || others.filter(({ id }) => id < result).at(-1)?.id || others[0]?.id || '';
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
        {document.data && <Notes notes={document.data.notes} />}
      </Toolbar>
      <Loaded of={document}>
        {(data) => (info.data ? <Table document={data} info={info.data} level={level} /> : null)}
      </Loaded>
    </section>
  );
}

/** The other result is the first, this one the second: the difference is what was gained. */
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
            {id} {baseName(program)}
          </option>
        ))}
      </select>
      − {result}
    </label>
  );
}

function Table({ document, info, level }: { document: Document; info: Info; level: string }) {
  const search = useView((state) => state.search);
  const dispatch = useDispatch();
  const view = useMemo(
    () =>
      comparison(document, info.metrics, (metric, id, side) => {
        if (!metric || !side)
          return title(id, info.levels.find((known) => known.id === id)?.title ?? t('compare.share'));
        return `${title(metric.id, metric.title)}: ${t(`compare.${side}`)}`;
      }),
    [document, info],
  );
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
        <span className="faint">{t('compare.help')}</span>
        <span className="grow" />
        <CopyButton label={t('copy.csv')} text={() => reportCsv(view)} />
      </footer>
    </>
  );
}
