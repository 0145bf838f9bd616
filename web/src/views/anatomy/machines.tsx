// Two machines, or two traces, side by side.

import { useState } from 'react';
import type { ResultInfo, ViewDocument } from '../../api/types';
import { t } from '../../base/texts';
import { useDispatch, useView } from '../../state/provider';
import { withParams } from '../../state/query';
import { useJson } from '../../state/resource';
import { useTrace } from '../../state/trace';
import { ReportGrid, ReportToolbar } from '../grid/report-grid';
import { Loaded } from '../parts/states';
import { SearchField } from '../parts/toolbar';
import './anatomy.css';

/** The default machine to compare with. */
const beside = (machine: string) => (machine === 'zen5' ? 'skylake-sp' : 'zen5');

export default function MachinesView() {
  const info = useTrace('info');
  const traces = useJson<ResultInfo[]>('/api/results');
  const { result, machine, second, compare, search } = useView((state) => ({
    result: state.result,
    machine: state.machine,
    second: state.second,
    compare: state.compare,
    search: state.search,
  }));
  const known = (traces.data ?? []).filter(({ analysis, problem }) => analysis === 'anatomy' && !problem);
  const other = compare || result;
  const [by, setBy] = useState<'phase' | 'function'>('phase');
  const dispatch = useDispatch();
  // A trace does not differ from itself on the same machine.
  const on = second || (other === result ? beside(machine) : machine || 'skylake-sp');
  const query = withParams(new URLSearchParams(), { a: result, b: other, machine, second: on, by });
  const document = useJson<ViewDocument>(`/api/compare-traces?${query}`);
  return (
    <section className="pane" aria-label={t('tab.machines')}>
      <ReportToolbar of={document.data}>
        <span>{t('anatomy.compare.with')}</span>
        {known.length > 1 && (
          <select
            aria-label={t('anatomy.compare.trace')}
            value={other}
            onChange={({ target }) => dispatch({ compare: target.value === result ? '' : target.value })}
          >
            {known.map(({ id, name }) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </select>
        )}
        <select
          aria-label={t('anatomy.compare.machine')}
          value={on}
          onChange={({ target }) => dispatch({ second: target.value })}
        >
          {info.data?.machines.map(({ id, title }) => (
            <option key={id} value={id}>
              {title}
            </option>
          ))}
        </select>
        <label>
          {t('grid.group-by')}{' '}
          <select value={by} onChange={({ target }) => setBy(target.value === 'phase' ? 'phase' : 'function')}>
            <option value="phase">{t('tab.phases')}</option>
            <option value="function">{t('tab.functions')}</option>
          </select>
        </label>
        <SearchField />
      </ReportToolbar>
      <Loaded of={document}>
        {(data) => <ReportGrid name="machines" label={t('tab.machines')} document={data} search={search} />}
      </Loaded>
    </section>
  );
}
