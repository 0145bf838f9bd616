// Where the time went: the root causes of waits, each with the chain that leads to it and what to do about it, and the findings
// among them, in the order of the summary.

import type { Noted } from '../../api/types';
import { shortText } from '../../base/names';
import { prose } from '../../base/prose';
import { t } from '../../base/texts';
import { causeId, chainTexts, type RootCause, showPlace } from '../../logic/causes';
import { useDispatch } from '../../state/provider';
import { type Finding, FindingCard, findingId } from '../findings/cards';

interface ExplanationProps {
  causes: RootCause[];
  /** The account of the time; where there is no cause, why. */
  account: Noted;
  findings: Finding[];
  /** Both as one list. */
  order: Listed[];
}

/** An entry of the order: of which list, and which row of it. */
export interface Listed {
  list: 'explanation' | 'findings';
  row: number;
}

/** The most findings that fit beside the rest. */
const FINDINGS = 4;

/** The causes, and findings among them. */
export function Explanation({ causes, account, findings, order }: ExplanationProps) {
  const dispatch = useDispatch();
  const shown = order.filter(({ list, row }) => list === 'explanation' || row < FINDINGS);
  return (
    <>
      <div className="cards">
        {shown.map(({ list, row }) => {
          const [cause, finding] = list === 'findings' ? [undefined, findings[row]] : [causes[row], undefined];
          return (
            (cause && <CauseCard key={cause.cause} cause={cause} />) ||
            (finding && <FindingCard key={findingId(finding)} finding={finding} />)
          );
        })}
      </div>
      {account.notes.map((note, at) => (
        <p key={note} className="faint">
          {shortText(prose(note, account.notes_parts?.[at]))}
        </p>
      ))}
      {findings.length > FINDINGS && (
        <p>
          <button type="button" className="link" onClick={() => dispatch({ tab: 'findings' })}>
            {t('summary.all-findings', { count: findings.length })}
          </button>
        </p>
      )}
    </>
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
