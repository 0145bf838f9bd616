// The results of a folder.

import { useState } from 'react';
import type { CollectionList as Collections, ResultInfo } from '../api/types';
import { dateText, problemText, t } from '../base/texts';
import { bytes, duration } from '../base/units';
import { openResult } from '../state/actions';
import { isRunning } from '../state/collections';
import { useDispatch } from '../state/provider';
import { CollectionList } from './collect/collection-list';
import { NewCollection } from './collect/new-collection';

interface Props {
  results: ResultInfo[];
  /** Where the page may start collections. */
  collections: Collections | null;
  /** Looks at them again, after one was started or steered. */
  refresh: () => void;
}

export function ResultList({ results, collections, refresh }: Props) {
  const dispatch = useDispatch();
  const [opened, setOpened] = useState(results.length === 0);
  const started = () => {
    setOpened(false);
    refresh();
  };
  if (results.length === 0 && !collections) {
    return (
      <main className="message">
        <p>{t('result.none')}</p>
        <p>{t('error.hint', { hint: t('result.none.hint') })}</p>
      </main>
    );
  }
  // What is not complete yet stands above.
  const running = collections?.collections.filter(isRunning).map(({ result }) => result) ?? [];
  const complete = results.filter(({ id }) => !running.includes(id));
  const open = (id: string) => dispatch((state) => openResult({ ...state, tab: 'summary' }, id));
  return (
    <main className="main scroll pad">
      {collections && (
        <>
          <button type="button" className="primary" aria-expanded={opened} onClick={() => setOpened(!opened)}>
            {t('collect.new')} …
          </button>
          {opened && <NewCollection started={started} />}
          <CollectionList collections={collections.collections} refresh={refresh} />
        </>
      )}
      <h1>{t('app.results')}</h1>
      <table className="table">
        <thead>
          <tr>
            <th>{t('app.result')}</th>
            <th>{t('result.program')}</th>
            <th>{t('result.analysis')}</th>
            <th className="number">{t('result.elapsed')}</th>
            <th>{t('result.created')}</th>
            <th className="number">{t('result.size')}</th>
          </tr>
        </thead>
        <tbody>
          {complete.map(
            ({ id, name, program, analysis, elapsed_ns, created, size_bytes, problem, problem_kind: kind }) => (
              <tr key={id}>
                <td>
                  <button type="button" className="link" disabled={Boolean(problem)} onClick={() => open(id)}>
                    {name}
                  </button>
                </td>
                <td>{problem ? <span className="bad">{problemText(kind ?? '', problem)}</span> : program}</td>
                <td>{analysis}</td>
                <td className="number">{elapsed_ns > 0 && duration(elapsed_ns)}</td>
                <td>{dateText(new Date(created))}</td>
                <td className="number">{bytes(size_bytes)}</td>
              </tr>
            ),
          )}
        </tbody>
      </table>
    </main>
  );
}
