// Findings: one card each, with the cost, the evidence as a chart, the place, the advice, and a button that opens the view
// with its evidence.

import { useEffect, useRef } from 'react';
import { nameText, shortText } from '../../base/names';
import { prose, type Sentence } from '../../base/prose';
import { help, t, title } from '../../base/texts';
import { duration } from '../../base/units';
import { showPlace } from '../../logic/causes';
import { type Finding as Shown, showFinding } from '../../logic/evidence';
import { useDispatch, useView } from '../../state/provider';
import { EvidenceCharts } from './evidence';

export interface Finding extends Shown {
  title: string;
  /** Short name; none where the whole result has no such finding. */
  handle?: string | null;
  evidence: string;
  evidence_parts?: Sentence[];
  location: string | null;
  advice: string;
  help?: string;
  stack?: string[];
}

/** What tells a finding from others. */
export function findingId({ id, subject, location }: Finding): string {
  return `${id} ${subject} ${location}`;
}

export function FindingCards({ findings }: { findings: Finding[] }) {
  return (
    <div className="cards">
      {findings.map((finding) => (
        <FindingCard key={findingId(finding)} finding={finding} />
      ))}
    </div>
  );
}

/** One finding. */
export function FindingCard({ finding }: { finding: Finding }) {
  const dispatch = useDispatch();
  const { id, handle, subject, cost_ns: cost, evidence, location, advice } = finding;
  const isMarked = useView((state) => state.finding !== '' && state.finding === handle);
  const card = useRef<HTMLElement>(null);
  useEffect(() => {
    if (isMarked) card.current?.scrollIntoView({ block: 'nearest' });
  }, [isMarked]);
  return (
    <article ref={card} className={isMarked ? 'card card-marked' : 'card'} aria-current={isMarked || undefined}>
      <header>
        <h3 data-tip={finding.help}>
          {title(id, finding.title)}
          {subject && <span className="subject">: {shortText(nameText(subject, 'subject'))}</span>}
          {handle && <span className="faint"> {handle}</span>}
        </h3>
        {cost !== null && (
          <strong className="cost" data-tip={t('finding.cost.help')}>
            {t('finding.cost', { cost: duration(cost) })}
          </strong>
        )}
      </header>
      <div className="card-text">
        <p>{shortText(prose(evidence, finding.evidence_parts))}</p>
        {location && <Place finding={finding} location={location} />}
        <p>
          <span className="faint">{t('finding.advice')}: </span>
          {help(id, advice)}
        </p>
        <button type="button" onClick={() => dispatch((state) => showFinding(state, finding))}>
          {t('finding.show')}
        </button>
      </div>
      <EvidenceCharts finding={finding} />
    </article>
  );
}

/** The call site, which opens the source. */
function Place({ finding, location }: { finding: Finding; location: string }) {
  const dispatch = useDispatch();
  return (
    <p className="where">
      <button
        type="button"
        className="link"
        data-tip={finding.stack?.join(' ← ')}
        onClick={() => dispatch((state) => showPlace(state, location))}
      >
        {t('finding.where', { location: shortText(nameText(location, 'function')) })}
      </button>
    </p>
  );
}
