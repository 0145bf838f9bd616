// The page: header with the tabs, filter bar, the view, the timeline strip.

import { useEffect, useState } from 'react';
import { type ApiError, fetchResults } from '../api/client';
import { fetchResultsAnew } from '../api/collections';
import type { ResultInfo } from '../api/types';
import { t } from '../base/texts';
import { commandName } from '../base/units';
import { dispatchKey } from '../logic/keyboard';
import { useCollections } from '../state/collections';
import { usePreferences } from '../state/preferences';
import { useDispatch, useView } from '../state/provider';
import { asApiError, useCall } from '../state/resource';
import { TRACE_TABS, tabsBeside } from '../state/view-state';
import { Boundary } from '../views/parts/boundary';
import { ContextMenu } from '../views/parts/context-menu';
import { Banner } from '../views/parts/notes';
import { Split } from '../views/parts/split';
import { Failure, Skeleton } from '../views/parts/states';
import { Tips } from '../views/parts/tips';
import { FilterBar } from './filter-bar';
import { Header } from './header';
import { Help, useAppKeys } from './help';
import { Palette } from './palette';
import { Progress } from './progress';
import { ResultList } from './result-list';
import { TimelineStrip } from './strip';
import { GroupTabs } from './tabs';
import { TracePage } from './trace-page';
import { VIEWS } from './views';

export function App() {
  // A new language renders everything again.
  const { language } = usePreferences();
  useEffect(() => {
    const listen = (event: KeyboardEvent) => dispatchKey(event) && event.preventDefault();
    document.addEventListener('keydown', listen);
    return () => document.removeEventListener('keydown', listen);
  }, []);
  return (
    <>
      <Page key={language} />
      <ContextMenu />
      <Tips />
    </>
  );
}

function Page() {
  const [results, setResults] = useState<ResultInfo[] | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const { result, tab } = useView((state) => ({ result: state.result, tab: state.tab }));
  const dispatch = useDispatch();
  const [dialog, setDialog] = useAppKeys();
  const [collections, refresh] = useCollections();
  useEffect(() => {
    const abort = new AbortController();
    fetchResults(abort.signal).then(setResults, (reason) => !abort.signal.aborted && setError(asApiError(reason)));
    return () => abort.abort();
  }, []);
  // Each collection adds a result when it begins, and that can be read when it has ended.
  const stages = collections?.collections.map(({ id, state }) => `${id} ${state}`).join(' ') ?? '';
  useEffect(() => {
    if (stages === '') return;
    const abort = new AbortController();
    fetchResultsAnew(abort.signal).then(setResults, () => {});
    return () => abort.abort();
  }, [stages]);
  // A folder with one result opens it, where nothing else can be done; a link to a missing result shows the list.
  useEffect(() => {
    const only = results?.length === 1 && collections === null ? results[0] : undefined;
    if (only && result !== only.id) dispatch({ result: only.id }, 'touch');
  }, [results, result, collections, dispatch]);
  const current = results?.find(({ id }) => id === result);
  const isTrace = current?.analysis === 'anatomy';
  // A result's tabs do not fit a trace, nor the reverse.
  useEffect(() => {
    if (current && isTrace !== (tabsBeside(tab) === TRACE_TABS)) {
      dispatch({ tab: isTrace ? 'calls' : 'summary' }, 'touch');
    }
  }, [current, isTrace, tab, dispatch]);
  if (error) return <Failure error={error.text} hint={error.advice} />;
  return (
    <div className="page">
      <SkipLink />
      <Progress />
      <Header results={results ?? []} current={current} isHome={collections !== null} open={setDialog} />
      {current && isTrace ? (
        <TracePage key={current.id} name={`${current.name} ${commandName(current.program)}`} />
      ) : current ? (
        <ResultPage
          key={current.id}
          name={`${current.name} ${commandName(current.program)}`}
          results={results?.filter(({ problem, analysis }) => !problem && analysis !== 'anatomy').length ?? 1}
        />
      ) : results ? (
        <ResultList results={results} collections={collections} refresh={refresh} />
      ) : (
        <Skeleton rows={6} />
      )}
      {dialog === 'help' && <Help close={() => setDialog(null)} />}
      {dialog === 'palette' && (
        <Palette
          hasNames={current !== undefined && !isTrace}
          hasScreens={current !== undefined}
          openHelp={() => setDialog('help')}
          close={() => setDialog(null)}
        />
      )}
    </div>
  );
}

/** The first stop of the Tab key: leads past the tabs and the filters. The address is the view, so it is no link. */
function SkipLink() {
  return (
    <button type="button" className="skip" onClick={() => document.querySelector('main')?.focus()}>
      {t('app.skip')}
    </button>
  );
}

function ResultPage({ name, results }: { name: string; results: number }) {
  const tab = useView((state) => state.tab);
  const { stripOpen } = usePreferences();
  const info = useCall('info');
  const { View, strip } = VIEWS[tab];
  useEffect(() => {
    document.title = `${t(`tab.${tab}`)} · ${name} · Dwell`;
  }, [tab, name]);
  const main = (
    <main className="main" aria-label={t(`tab.${tab}`)} tabIndex={-1}>
      <Boundary key={tab}>
        <View />
      </Boundary>
    </main>
  );
  return (
    <>
      <GroupTabs results={results} />
      {info.data && <Banner losses={info.data.losses} />}
      <FilterBar info={info.data} />
      {strip && stripOpen ? (
        <Split name="strip" second="below" size={148} least={60}>
          {main}
          <TimelineStrip />
        </Split>
      ) : (
        <>
          {main}
          {strip && <TimelineStrip />}
        </>
      )}
    </>
  );
}
