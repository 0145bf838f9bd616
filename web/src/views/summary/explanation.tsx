// Where the time went: the root causes of waits, each with the chain that leads to it and what to do about it.

import { shortText } from '../../base/names';
import { prose, type Sentence } from '../../base/prose';
import { t } from '../../base/texts';
import { useDispatch } from '../../state/provider';

/** A row of the report explain. */
export interface RootCause {
  cause: string;
  cause_parts?: Sentence[];
  chains: string[] | null;
  advice: string;
  advice_parts?: Sentence[];
  place: string | null;
  stack?: string[] | null;
}

/** The causes; null where explaining takes too long for a summary. */
export function Explanation({ causes }: { causes: RootCause[] | null }) {
  if (causes === null) return <p className="faint">{t('summary.explained-apart')}</p>;
  if (causes.length === 0) return <p className="faint">{t('summary.nobody-held-up')}</p>;
  return (
    <div className="cards">
      {causes.map((cause) => (
        <CauseCard key={cause.cause} cause={cause} />
      ))}
    </div>
  );
}

function CauseCard({ cause }: { cause: RootCause }) {
  const dispatch = useDispatch();
  const { place, chains } = cause;
  const name = place?.replace(/ \([^()]*\)$/, '') ?? '';
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
              onClick={() => dispatch({ tab: 'source', function: name, module: '' })}
            >
              {shortText(place)}
            </button>
          </p>
        )}
        {chains?.slice(0, 2).map((chain) => (
          <p key={chain}>{shortText(chain)}</p>
        ))}
        <p>
          <span className="faint">{t('finding.advice')}: </span>
          {prose(cause.advice, cause.advice_parts)}
        </p>
      </div>
    </article>
  );
}
