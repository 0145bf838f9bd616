import { t } from '../../base/texts';
import { useReport } from '../../state/resource';
import { Notes } from '../parts/notes';
import { Loaded } from '../parts/states';
import { type Finding, FindingCards } from './cards';

/** All findings of the selection, the dearest first. */
export default function FindingsView() {
  const findings = useReport('findings');
  return (
    <div className="scroll pad findings">
      <Loaded of={findings} rows={10}>
        {({ rows = [], notes }) => (
          <>
            <FindingCards findings={rows as unknown as Finding[]} empty={t('finding.none')} />
            <Notes notes={notes} />
          </>
        )}
      </Loaded>
    </div>
  );
}
