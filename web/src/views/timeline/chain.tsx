// Why the picked wait took so long: the pieces that explain it, as links to what each thread did.

import type { WaitChain } from '../../api/types';
import { nameText } from '../../base/names';
import { t } from '../../base/texts';
import { count, duration } from '../../base/units';
import { deedText, threadName } from '../../logic/timeline/describe';
import { walkTo } from '../../logic/timeline/walk';
import { useDispatch } from '../../state/provider';
import { useSetting } from './setting';

export function Chain({ chain }: { chain: WaitChain }) {
  const { pieces, waits, more, more_ns: rest } = chain;
  return (
    <section aria-label={t('chain.title')}>
      <h3 data-tip={t('chain.help')}>{t('chain.title')}</h3>
      <ol className="tl-chain">
        {pieces.map((piece) => (
          <Step key={piece.start_ns} of={piece} text={deedText(piece)} />
        ))}
        {more > 0 && <li className="faint">{t('chain.more', { count: count(more), time: duration(rest) })}</li>}
      </ol>
      {waits.length > 0 && (
        <>
          <h3>{t('chain.also')}</h3>
          <ol className="tl-chain">
            {waits.map((wait) => (
              <Step
                key={`${wait.thread} ${wait.start_ns}`}
                of={wait}
                text={t('chain.waited', { object: nameText(wait.object, 'object') })}
              />
            ))}
          </ol>
        </>
      )}
    </section>
  );
}

interface Part {
  thread: number;
  start_ns: number;
  end_ns: number;
}

/** What a thread did in a part of the wait; the link picks that. */
function Step({ of, text }: { of: Part; text: string }) {
  const { info } = useSetting();
  const dispatch = useDispatch();
  const { thread, start_ns: from, end_ns: to } = of;
  return (
    <li>
      <button
        type="button"
        className="link"
        onClick={() => dispatch((state) => walkTo(state, { thread, at: from }, of, info.elapsed_ns))}
      >
        {threadName(info, thread)}
      </button>{' '}
      {text} <span className="faint number">{duration(to - from)}</span>
    </li>
  );
}
