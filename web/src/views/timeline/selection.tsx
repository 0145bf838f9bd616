// What happened in the selected time: its length, what the threads did, and because of what they waited.

import { t } from '../../base/texts';
import { duration, span } from '../../base/units';
import { causesOf, explainRange, sumsOf } from '../../logic/timeline/selection';
import { filterInRange } from '../../state/actions';
import { useDispatch } from '../../state/provider';
import { useReport } from '../../state/resource';
import type { Range } from '../../state/view-state';
import { Loaded } from '../parts/states';

const CAUSES = 3;

export function Selection({ range }: { range: Range }) {
  const report = useReport('explain', {
    params: { limit: CAUSES },
    change: (state) => filterInRange(state, range),
  });
  const dispatch = useDispatch();
  return (
    <section className="tl-known" aria-label={t('marked.title')}>
      <h3 data-tip={t('marked.help')}>
        {t('marked.title')} {span(range.from, range.to)}
      </h3>
      <Loaded of={report} rows={4}>
        {(document) => (
          <>
            <dl className="tl-facts">
              {sumsOf(document).map(({ of, ns }) => (
                <div key={of}>
                  <dt>{t(`marked.${of}`)}</dt>
                  <dd className="number">{duration(ns)}</dd>
                </div>
              ))}
            </dl>
            <Causes causes={causesOf(document, CAUSES)} range={range} />
          </>
        )}
      </Loaded>
      <p className="tl-buttons">
        <button type="button" onClick={() => dispatch((state) => explainRange(state, range))}>
          {t('explain.selection')}
        </button>
      </p>
    </section>
  );
}

function Causes({ causes, range }: { causes: ReturnType<typeof causesOf>; range: Range }) {
  const dispatch = useDispatch();
  if (causes.length === 0) return <p className="faint">{t('marked.none')}</p>;
  return (
    <>
      <h3>{t('marked.causes')}</h3>
      <ol className="tl-chain">
        {causes.map(({ id, who, text, ns }) => (
          <li key={id}>
            <button
              type="button"
              className="link"
              data-tip={t('marked.cause.help')}
              onClick={() => dispatch((state) => explainRange(state, range, id))}
            >
              {who}
            </button>{' '}
            {text} <span className="faint number">{duration(ns)}</span>
          </li>
        ))}
      </ol>
    </>
  );
}
