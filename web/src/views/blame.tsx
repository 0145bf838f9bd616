// Blame: what the others did while threads waited for an object; and the chain that determined the elapsed time.

import { t, title } from '../base/texts';
import { useDispatch, useView } from '../state/provider';
import { useReport, useReportView } from '../state/resource';
import { field, ReportGrid, ReportToolbar } from './grid/report-grid';
import { Split } from './parts/split';
import { Empty, Loaded } from './parts/states';

export default function BlameView() {
  return (
    <Split name="blame" second="below" size={0.4} least={100}>
      <Blame />
      <CriticalPath />
    </Split>
  );
}

function Blame() {
  const waits = useReport('waits', { params: { limit: 200 } });
  const wanted = useView((state) => state.object);
  const dispatch = useDispatch();
  const objects = (waits.data?.rows ?? []).map((row) => String(row.object));
  const object = wanted || (objects[0] ?? '');
  const blame = useReportView('blame', { params: { subject: object }, when: object !== '' });
  if (waits.data && object === '') return <Empty>{t('empty.waits')}</Empty>;
  return (
    <section className="pane" aria-label={t('tab.blame')}>
      <ReportToolbar of={blame.data}>
        <label>
          {title('object', 'Sync Object')}{' '}
          <select value={object} onChange={({ target }) => dispatch({ object: target.value })}>
            {!objects.includes(object) && <option value={object}>{object}</option>}
            {objects.map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <span className="faint">{t('blame.help')}</span>
      </ReportToolbar>
      <Loaded of={blame}>
        {(document) => <ReportGrid name="blame" label={t('tab.blame')} document={document} empty={t('empty.waits')} />}
      </Loaded>
    </section>
  );
}

function CriticalPath() {
  const dispatch = useDispatch();
  const path = useReportView('critical-path');
  return (
    <section className="pane" aria-label={t('blame.path')}>
      <ReportToolbar of={path.data}>
        <strong>{t('blame.path')}</strong> <span className="faint">{t('blame.path.help')}</span>
      </ReportToolbar>
      <Loaded of={path}>
        {(document) => (
          <ReportGrid
            name="path"
            label={t('blame.path')}
            document={document}
            onOpen={(row) =>
              field(document, row, 'kind') === 'waiting' && dispatch({ object: String(field(document, row, 'name')) })
            }
          />
        )}
      </Loaded>
    </section>
  );
}
