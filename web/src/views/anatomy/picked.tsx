// The picked call, or else the picked function.

import type { CallAnswer, TraceInfo } from '../../api/types';
import { phaseColor } from '../../base/phases';
import { t } from '../../base/texts';
import { count, real } from '../../base/units';
import { useDispatch, useView } from '../../state/provider';
import { useTrace } from '../../state/trace';
import { Loaded } from '../parts/states';
import { Toolbar } from '../parts/toolbar';
import { FunctionPane } from './function-pane';
import { Instructions } from './instructions';
import { Siblings } from './siblings';

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
