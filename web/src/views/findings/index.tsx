import type { Document } from '../../api/types';
import { prose } from '../../base/prose';
import { help, t, title } from '../../base/texts';
import { tableCsv } from '../../logic/copy';
import { useDispatch } from '../../state/provider';
import { useReport } from '../../state/resource';
import { Notes } from '../parts/notes';
import { Loaded } from '../parts/states';
import { CopyMenu } from '../parts/toolbar';
import { type Finding, FindingCards } from './cards';

/** All findings of the selection, the most expensive first. */
export default function FindingsView() {
  const findings = useReport('findings');
  return (
    <div className="scroll pad findings">
      <Loaded of={findings} rows={10}>
        {(document) => (
          <>
            <div className="with-copy">
              <Notes of={document} />
              <FindingsCopy rows={findingsOf(document)} />
            </div>
            {document.rows?.length === 0 ? <NoFinding /> : <FindingCards findings={findingsOf(document)} />}
          </>
        )}
      </Loaded>
    </div>
  );
}

/** Causes of waits are no findings: they have a screen of their own. */
function NoFinding() {
  const dispatch = useDispatch();
  return (
    <p>
      {t('finding.none')}{' '}
      <button type="button" className="link" onClick={() => dispatch({ tab: 'explain' })}>
        {t('tab.explain')}
      </button>
    </p>
  );
}

function findingsOf({ rows = [] }: Document): Finding[] {
  return rows as unknown as Finding[];
}

function FindingsCopy({ rows }: { rows: Finding[] }) {
  const text = rows.map(
    ({ id, title: english, subject, evidence, evidence_parts: parts, location, advice }) =>
      `${title(id, english)}: ${subject}\n${prose(evidence, parts)}\n${location ? `at ${location}\n` : ''}${help(id, advice)}\n`,
  );
  const fields = ({ id, subject, cost_ns, evidence, location, advice }: Finding) => [
    id,
    subject,
    cost_ns,
    evidence,
    location,
    advice,
  ];
  const head = ['id', 'subject', 'cost_ns', 'evidence', 'location', 'advice'];
  return <CopyMenu text={() => text.join('\n')} csv={() => tableCsv([head, ...rows.map(fields)])} />;
}
