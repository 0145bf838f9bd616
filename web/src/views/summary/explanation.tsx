// Where the time went: the root causes of waits, each with the chain that leads to it and what to do about it.

import { shortText } from '../../base/names';
import { prose } from '../../base/prose';
import { t } from '../../base/texts';
import { causeId, chainTexts, type RootCause, showPlace } from '../../logic/causes';
import { useDispatch } from '../../state/provider';

/** The causes. */
export function Explanation({ causes }: { causes: RootCause[] }) {
  if (causes.length === 0) return <p className="faint">{t('summary.nobody-held-up')}</p>;
  return (
    <div className="cards">
      {causes.map((cause) => (
        <CauseCard key={cause.cause} cause={cause} />
      ))}
    </div>
  );
}

/** Chains on a card. */
const CHAINS = 2;

function CauseCard({ cause }: { cause: RootCause }) {
  const dispatch = useDispatch();
  const { place, links } = cause;
  return (
    <article className="card">
      <div className="card-text">
        <p>
          <strong>{shortText(prose(cause.cause, cause.cause_parts))}</strong>
        </p>
        {place && (
          <p className="where">
            <button
              type="button"
              className="link"
              data-tip={cause.stack?.join(' ← ')}
              onClick={() => dispatch((state) => showPlace(state, place))}
            >
              {shortText(place)}
            </button>
          </p>
        )}
        {chainTexts(links ?? [], CHAINS).map((chain) => (
          <p key={chain}>{shortText(chain)}</p>
        ))}
        <p>
          <span className="faint">{t('finding.advice')}: </span>
          {prose(cause.advice, cause.advice_parts)}
        </p>
        <button type="button" onClick={() => dispatch({ tab: 'explain', cause: causeId(cause) })}>
          {t('finding.show')}
        </button>
      </div>
    </article>
  );
}
