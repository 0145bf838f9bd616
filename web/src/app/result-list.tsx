// The results of a folder.

import type { ResultInfo } from '../api/types';
import { dateText, problemText, t } from '../base/texts';
import { bytes, duration } from '../base/units';
import { openResult } from '../state/actions';
import { useDispatch } from '../state/provider';

export function ResultList({ results }: { results: ResultInfo[] }) {
  const dispatch = useDispatch();
  if (results.length === 0) {
    return (
      <main className="message">
        <p>{t('result.none')}</p>
        <p>{t('error.hint', { hint: t('result.none.hint') })}</p>
      </main>
    );
  }
  const open = (id: string) => dispatch((state) => openResult({ ...state, tab: 'summary' }, id));
  return (
    <main className="main scroll pad">
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
          {results.map(
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
