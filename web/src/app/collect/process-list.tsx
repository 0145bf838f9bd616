// The processes that a collection can attach to, with what they do and what they wait for.

import { useEffect, useState } from 'react';
import { fetchProcesses } from '../../api/collections';
import type { ProcessInfo } from '../../api/types';
import { t } from '../../base/texts';
import { duration } from '../../base/units';
import { asApiError } from '../../state/resource';

/** Rows on the screen; a search finds the others. */
const SHOWN = 40;

interface Props {
  chosen: number[];
  choose: (pids: number[]) => void;
}

export function ProcessList({ chosen, choose }: Props) {
  const [processes, setProcesses] = useState<ProcessInfo[] | null>(null);
  const [problem, setProblem] = useState('');
  const [search, setSearch] = useState('');
  const [look, setLook] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: to look again is to begin again.
  useEffect(() => {
    const abort = new AbortController();
    fetchProcesses(abort.signal).then(
      (found) => !abort.signal.aborted && setProcesses(found),
      (reason) => !abort.signal.aborted && setProblem(asApiError(reason).text),
    );
    return () => abort.abort();
  }, [look]);
  if (problem) return <p className="bad">{problem}</p>;
  if (!processes) return <p className="faint">{t('collect.looking')}</p>;
  const wanted = search.trim().toLowerCase();
  const matches = ({ pid, name, command }: ProcessInfo) =>
    `${pid}` === wanted || name.toLowerCase().includes(wanted) || command.toLowerCase().includes(wanted);
  const found = processes.filter((process) => chosen.includes(process.pid) || matches(process));
  const toggle = (pid: number) =>
    choose(chosen.includes(pid) ? chosen.filter((other) => other !== pid) : [...chosen, pid]);
  return (
    <div>
      <div className="collect-field">
        <input
          type="search"
          size={34}
          aria-label={t('collect.search')}
          placeholder={t('collect.search')}
          value={search}
          onChange={({ target }) => setSearch(target.value)}
        />
        <button type="button" onClick={() => setLook(look + 1)}>
          {t('collect.again')}
        </button>
        {found.length > SHOWN && <span className="faint">{t('collect.more', { count: found.length - SHOWN })}</span>}
      </div>
      <div className="collect-processes">
        <table className="table" aria-label={t('collect.kind.process')}>
          <thead>
            <tr>
              <th aria-label={t('collect.choose')} />
              <th className="number">PID</th>
              <th>{t('result.program')}</th>
              <th className="number">{t('collect.threads')}</th>
              <th className="number">{t('collect.running')}</th>
              <th className="number">{t('collect.ready')}</th>
              <th>{t('collect.doing')}</th>
            </tr>
          </thead>
          <tbody>
            {found.slice(0, SHOWN).map(({ pid, name, command, threads, running_ns, runnable_ns, explanation }) => (
              <tr key={pid}>
                <td>
                  <input
                    type="checkbox"
                    aria-label={`${name} ${pid}`}
                    checked={chosen.includes(pid)}
                    onChange={() => toggle(pid)}
                  />
                </td>
                <td className="number">{pid}</td>
                <td className="collect-command" data-tip={command}>
                  {name} <span className="faint">{command}</span>
                </td>
                <td className="number">{threads}</td>
                <td className="number">{duration(running_ns)}</td>
                <td className="number">{duration(runnable_ns)}</td>
                <td className="collect-command" data-tip={explanation}>
                  {explanation}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}
