import { t } from '../../base/texts';
import { tableCsv } from '../../logic/copy';
import { useReport } from '../../state/resource';
import { Notes } from '../parts/notes';
import { Loaded } from '../parts/states';
import { CopyMenu } from '../parts/toolbar';
import { type Finding, FindingCards } from './cards';

/** All findings of the selection, the dearest first. */
export default function FindingsView() {
  const findings = useReport('findings');
  return (
    <div className="scroll pad findings">
      <Loaded of={findings} rows={10}>
        {({ rows = [], notes }) => (
          <>
            <div className="with-copy">
              <Notes notes={notes} />
              <FindingsCopy rows={rows as unknown as Finding[]} />
            </div>
            <FindingCards findings={rows as unknown as Finding[]} empty={t('finding.none')} />
          </>
        )}
      </Loaded>
    </div>
  );
}

function FindingsCopy({ rows }: { rows: Finding[] }) {
  const text = rows.map(
    ({ title, subject, evidence, location, advice }) =>
      `${title}: ${subject}\n${evidence}\n${location ? `at ${location}\n` : ''}${advice}\n`,
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
