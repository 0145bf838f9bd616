// What is known of the picked call, or else of the picked function.

import type { CallAnswer, TraceCall, TraceInfo } from '../../api/anatomy';
import { phaseColor } from '../../base/phases';
import { t } from '../../base/texts';
import { count, real } from '../../base/units';
import { useKeys } from '../../logic/use-keys';
import { useDispatch, useView } from '../../state/provider';
import { useTrace } from '../../state/trace';
import { Loaded } from '../parts/states';
import { Toolbar } from '../parts/toolbar';
import { FunctionPane } from './function-pane';
import { Instructions } from './instructions';

export function PickedPane() {
  const { call, name } = useView((state) => ({ call: state.call, name: state.function }));
  if (call !== null) return <CallPane number={call} />;
  return name ? <FunctionPane /> : null;
}

function CallPane({ number }: { number: number }) {
  const info = useTrace('info');
  const call = useTrace('call', { number });
  return (
    <section className="pane" aria-label={t('anatomy.call')}>
      <Loaded of={call}>{(data) => (info.data ? <Call data={data} info={info.data} /> : null)}</Loaded>
    </section>
  );
}

function Call({ data: { call, above }, info }: { data: CallAnswer; info: TraceInfo }) {
  const dispatch = useDispatch();
  const cycles = (ticks: number) => ticks / info.ticks_per_cycle;
  const taken = cycles(call.end - call.begin);
  return (
    <>
      <Toolbar>
        <strong className="ellipsis">{call.function}</strong>
        <span className="faint ellipsis">{call.module}</span>
        <span className="grow" />
        <Siblings call={call} info={info} />
        <button type="button" onClick={() => dispatch({ call: null, function: call.function, module: call.module })}>
          {t('anatomy.function')}
        </button>
      </Toolbar>
      <nav className="above" aria-label={t('anatomy.above')}>
        {above.map((caller) => (
          <button key={caller.number} type="button" className="link" onClick={() => dispatch({ call: caller.number })}>
            {caller.function}
          </button>
        ))}
      </nav>
      <dl className="figures call-figures">
        <Figure id="cycles" title={t('anatomy.figure.cycles')} value={count(taken)} />
        <Figure id="instructions" title={t('anatomy.figure.instructions')} value={count(call.instructions)} />
        <Figure id="cpi" title="CPI" value={real(taken / Math.max(call.instructions, 1))} />
        <Figure id="clock" title={t('anatomy.figure.clock')} value={count(cycles(call.begin))} />
        <div>
          <dt>{t('anatomy.figure.phase')}</dt>
          <dd>
            <i className="swatch" style={{ background: phaseColor(call.phase) }} /> {call.phase}
          </dd>
        </div>
      </dl>
      <Instructions params={{ call: call.number }} own={call.function} />
    </>
  );
}

function Figure({ id, title, value }: { id: string; title: string; value: string }) {
  return (
    <div data-figure={id}>
      <dt>{title}</dt>
      <dd>{value}</dd>
    </div>
  );
}

/** To the call of the same function before and behind this one, and the longest. */
export function Siblings({ call, info }: { call: TraceCall | null; info: TraceInfo }) {
  const chosen = useView((state) => ({ function: state.function, module: state.module }));
  const of = call ? { function: call.function, module: call.module } : chosen;
  const calls = useTrace('calls', { ...of, at: call?.number });
  const dispatch = useDispatch();
  const show = (found: TraceCall | null | undefined) => {
    if (!found) return false;
    const room = (found.end - found.begin) * 2 + 50 * info.ticks_per_cycle;
    const zoom = { from: Math.max(0, Math.floor(found.begin - room)), to: Math.ceil(found.end + room) };
    dispatch({ call: found.number, zoom });
    return true;
  };
  useKeys({ interval: ({ key }) => show(key === 'n' ? calls.data?.next : calls.data?.before) });
  if (!calls.data) return null;
  const { before, next, longest } = calls.data;
  const button = (text: string, tip: string, found: TraceCall | null) => (
    <button type="button" disabled={!found} data-tip={tip} aria-label={tip} onClick={() => show(found)}>
      {text}
    </button>
  );
  return (
    <span className="siblings">
      <span className="faint">{t('anatomy.calls-of', { calls: count(calls.data.count) })}</span>
      {button('‹', `${t('anatomy.call.before')}  N`, before)}
      {button('›', `${t('anatomy.call.next')}  n`, next)}
      {button(t('anatomy.longest'), t('anatomy.call.longest'), longest)}
    </span>
  );
}
