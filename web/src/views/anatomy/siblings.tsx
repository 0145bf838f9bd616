// The calls of the picked function: their number, and buttons to reach them.

import type { TraceCall, TraceInfo } from '../../api/types';
import { t } from '../../base/texts';
import { count } from '../../base/units';
import { useKeys } from '../../logic/use-keys';
import { useDispatch, useView } from '../../state/provider';
import { useTrace } from '../../state/trace';

/** Buttons that go to the previous, the next and the longest call of the same function. */
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
