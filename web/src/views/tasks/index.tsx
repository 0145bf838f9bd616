// Tasks: the program's own tasks by name, with number, length and waits; its frames and counters.

import { type ReactNode, useState } from 'react';
import type { Info } from '../../api/types';
import { t, title } from '../../base/texts';
import { hasTasks } from '../../logic/tabs';
import { only } from '../../state/actions';
import { useDispatch, useView } from '../../state/provider';
import { useCall, useReportView } from '../../state/resource';
import type { ViewState } from '../../state/view-state';
import { ReportGrid, ReportToolbar } from '../grid/report-grid';
import { FilterIn } from '../parts/filter-in';
import { Empty, Loaded } from '../parts/states';
import { SearchField } from '../parts/toolbar';
import { FrameRates } from './rates';

/** Reports of this screen, as far as the server has them. */
const REPORTS = ['tasks', 'task-waits', 'frames', 'counters', 'correlation', 'markers'];

export default function TasksView() {
  const info = useCall('info');
  return <Loaded of={info}>{(facts) => <Lists info={facts} />}</Loaded>;
}

function Lists({ info }: { info: Info }) {
  const known = info.reports.filter(({ id }) => REPORTS.includes(id));
  const [chosen, choose] = useState(REPORTS[0] ?? '');
  const name = known.some(({ id }) => id === chosen) ? chosen : (known[0]?.id ?? '');
  if (!hasTasks(info)) return <Empty>{t('tasks.none')}</Empty>;
  return (
    <section className="pane" aria-label={t('tab.tasks')}>
      <List
        key={name}
        name={name}
        choices={
          <fieldset className="choices" aria-label={t('tab.tasks')}>
            {known.map(({ id, title: english }) => (
              <label key={id}>
                <input type="radio" name="tasks" checked={id === name} onChange={() => choose(id)} />
                {title(`report-${id}`, english)}
              </label>
            ))}
          </fieldset>
        }
      />
    </section>
  );
}

function List({ name, choices }: { name: string; choices: ReactNode }) {
  const search = useView((state) => state.search);
  const dispatch = useDispatch();
  const report = useReportView(name);
  const [row, setRow] = useState('');
  return (
    <>
      <ReportToolbar of={report.data}>
        {choices}
        <SearchField />
        {name === 'tasks' && <FilterIn by="task" value={row || null} />}
      </ReportToolbar>
      <Loaded of={report}>
        {(document) => {
          const chosen = document.rows.find(({ values }) => String(values[0]) === row) ?? document.rows[0];
          return (
            <>
              {name === 'frames' && chosen && <FrameRates document={document} row={chosen} />}
              <ReportGrid
                name={name}
                label={t('tab.tasks')}
                document={document}
                search={search}
                selected={({ values }) => row !== '' && String(values[0]) === row}
                onSelect={({ values }) => setRow(String(values[0]))}
                onOpen={({ values }) => name === 'tasks' && dispatch((state) => showTask(state, String(values[0])))}
                empty={t('tasks.no-rows')}
              />
            </>
          );
        }}
      </Loaded>
    </>
  );
}

/** The activity of the threads inside the tasks of a name. */
function showTask(state: ViewState, task: string): ViewState {
  return only({ ...state, tab: 'bottom-up', groupBy: ['object', 'function', 'callers'], selection: [] }, 'task', task);
}
