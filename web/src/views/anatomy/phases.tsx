// The cycles by place: top half, interrupts, bottom half, with the phases of each.

import { t } from '../../base/texts';
import { useView } from '../../state/provider';
import { useTraceView } from '../../state/trace';
import { ReportToolbar } from '../grid/report-grid';
import { Loaded } from '../parts/states';
import { SearchField } from '../parts/toolbar';
import { MeasureGrid, SplitLegend } from './function-table';
import './anatomy.css';

export default function PhasesView() {
  const halves = useTraceView('halves');
  const search = useView((state) => state.search);
  return (
    <section className="pane" aria-label={t('tab.phases')}>
      <ReportToolbar of={halves.data}>
        <SearchField />
        <SplitLegend />
      </ReportToolbar>
      <Loaded of={halves}>
        {(data) => <MeasureGrid name="halves" label={t('tab.phases')} document={data} search={search} />}
      </Loaded>
    </section>
  );
}
