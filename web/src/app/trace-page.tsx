// An instruction trace: the machine that replays it, the progress of the replay, and the view.

import { useEffect } from 'react';
import type { TraceInfo } from '../api/types';
import { t } from '../base/texts';
import { percent } from '../base/units';
import { useDispatch, useView } from '../state/provider';
import { useReplayProgress, useTrace } from '../state/trace';
import { TRACE_TABS, tabsBeside } from '../state/view-state';
import { PartPicker } from '../views/anatomy/parts';
import { PhaseBar } from '../views/anatomy/phase-bar';
import { Boundary } from '../views/parts/boundary';
import { Failure } from '../views/parts/states';
import { VIEWS } from './views';

/** The machines, until the server's list arrives. */
const DEFAULT_MACHINE = 'skylake-sp';

export function TracePage({ name }: { name: string }) {
  const tab = useView((state) => (tabsBeside(state.tab) === TRACE_TABS ? state.tab : 'calls'));
  const info = useTrace('info');
  const done = useReplayProgress(info.loading);
  const { View } = VIEWS[tab];
  useEffect(() => {
    document.title = `${t(`tab.${tab}`)} · ${name} · Dwell`;
  }, [tab, name]);
  if (info.error) return <Failure error={info.error.text} hint={info.error.advice} retry={info.retry} />;
  if (!info.data) return <Replaying done={done} />;
  return (
    <>
      <TraceBar info={info.data} done={info.loading ? (done ?? 0) : null} />
      <main
        className={info.loading ? 'main stale' : 'main'}
        tabIndex={-1}
        aria-label={t(`tab.${tab}`)}
        aria-busy={info.loading}
      >
        <Boundary key={tab}>
          <View />
        </Boundary>
      </main>
    </>
  );
}

/** Shown during the first replay. */
function Replaying({ done }: { done: number | null }) {
  return (
    <main className="message" aria-label={t('anatomy.replaying')}>
      <p role="status">{t('anatomy.replaying')}</p>
      <progress aria-label={t('anatomy.replaying')} value={done ?? undefined} max={1} />
      <p className="faint">{done === null ? ' ' : percent(done)}</p>
    </main>
  );
}

function TraceBar({ info, done }: { info: TraceInfo; done: number | null }) {
  const { machine, tab } = useView((state) => ({ machine: state.machine, tab: state.tab }));
  const dispatch = useDispatch();
  return (
    <section className="trace-bar" aria-label={t('anatomy.machine')}>
      <label>
        {t('anatomy.machine')}{' '}
        <select
          value={machine || DEFAULT_MACHINE}
          onChange={({ target }) => dispatch({ machine: target.value === DEFAULT_MACHINE ? '' : target.value })}
        >
          {info.machines.map(({ id, title }) => (
            <option key={id} value={id}>
              {title}
            </option>
          ))}
        </select>
      </label>
      {tab === 'calls' && <PartPicker info={info} />}
      {done !== null && <progress aria-label={t('anatomy.replaying')} value={done} max={1} />}
      <PhaseBar />
    </section>
  );
}
