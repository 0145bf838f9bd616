// Blame: the activity of holders and wakers while threads waited on an object; and the critical path of the run.

import type { ViewDocument } from '../api/types';
import { blameText, nameText } from '../base/names';
import { t, title } from '../base/texts';
import type { ReportRow } from '../logic/report-tree';
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
            {!objects.includes(object) && <option value={object}>{nameText(object, 'object')}</option>}
            {objects.map((name) => (
              <option key={name} value={name}>
                {nameText(name, 'object')}
              </option>
            ))}
          </select>
        </label>
        <span className="faint">{t('blame.help')}</span>
      </ReportToolbar>
      <Loaded of={blame}>
        {(document) => (
          <ReportGrid
            name="blame"
            label={t('tab.blame')}
            document={document}
            show={(column, row) =>
              column === 'name'
                ? nameCell(blameText(text(document, row, 'name'), text(document, row, 'role')))
                : undefined
            }
            empty={t('empty.waits')}
          />
        )}
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
            show={(column, row) => {
              if (column !== 'name') return undefined;
              const of = text(document, row, 'kind') === 'waiting' ? 'object' : 'function';
              return nameCell(nameText(text(document, row, 'name'), of));
            }}
            onOpen={(row) =>
              field(document, row, 'kind') === 'waiting' && dispatch({ object: String(field(document, row, 'name')) })
            }
          />
        )}
      </Loaded>
    </section>
  );
}

function text(document: ViewDocument, row: ReportRow, column: string): string {
  return String(field(document, row, column));
}

function nameCell(name: string) {
  return (
    <span key="name" className="cell-text">
      {name}
    </span>
  );
}
