// Findings: one card each, with the number, the place, the advice, and a button that shows it in the views.

import { help, t, title } from '../../base/texts';
import { duration } from '../../base/units';
import { showFinding } from '../../logic/show-finding';
import { useDispatch } from '../../state/provider';

export interface Finding {
  id: string;
  title: string;
  subject: string | null;
  cost_ns: number | null;
  evidence: string;
  location: string | null;
  advice: string;
  help?: string;
  stack?: string[];
}

export function FindingCards({ findings, empty }: { findings: Finding[]; empty: string }) {
  if (findings.length === 0) return <p className="faint">{empty}</p>;
  const dearest = Math.max(...findings.map(({ cost_ns }) => cost_ns ?? 0), 1);
  return (
    <div className="cards">
      {findings.map((finding) => (
        <Card key={`${finding.id} ${finding.subject} ${finding.location}`} finding={finding} dearest={dearest} />
      ))}
    </div>
  );
}

function Card({ finding, dearest }: { finding: Finding; dearest: number }) {
  const dispatch = useDispatch();
  const { id, subject, cost_ns: cost, evidence, location, advice } = finding;
  return (
    <article className="card">
      <header>
        <h3 data-tip={finding.help}>
          {title(id, finding.title)}
          {subject && <span className="subject">: {subject}</span>}
        </h3>
        {cost !== null && cost !== undefined && (
          <strong className="cost">{t('finding.cost', { cost: duration(cost) })}</strong>
        )}
      </header>
      {cost !== null && cost !== undefined && (
        <span className="bar cost-bar">
          <i className="fill fill-plain" style={{ width: `${(cost / dearest) * 100}%` }} />
        </span>
      )}
      <p>{evidence}</p>
      {location && <p className="where">{t('finding.where', { location })}</p>}
      <p>
        <span className="faint">{t('finding.advice')}: </span>
        {help(id, advice)}
      </p>
      <button type="button" onClick={() => dispatch((state) => showFinding(state, finding))}>
        {t('finding.show')}
      </button>
    </article>
  );
}
