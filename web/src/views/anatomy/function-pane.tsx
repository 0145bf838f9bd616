// The picked function: its number of calls, and its code with the sums over each instruction's executions.

import { t } from '../../base/texts';
import { useDispatch, useView } from '../../state/provider';
import { useTrace, useTraceView } from '../../state/trace';
import { ReportToolbar } from '../grid/report-grid';
import { Empty, Loaded } from '../parts/states';
import { InstructionGrid } from './instructions';
import { Siblings } from './siblings';

export function FunctionPane() {
  const { name, module, tab } = useView((state) => ({ name: state.function, module: state.module, tab: state.tab }));
  const info = useTrace('info');
  const code = useTraceView('code', name ? { function: name } : null);
  const dispatch = useDispatch();
  if (!name) return <Empty>{t('anatomy.pick.function')}</Empty>;
  return (
    <section className="pane" aria-label={t('anatomy.function')}>
      <ReportToolbar of={code.data}>
        <strong className="ellipsis">{name}</strong>
        <span className="faint ellipsis">{module}</span>
        {info.data && <Siblings call={null} info={info.data} />}
        {tab !== 'calls' && (
          <button type="button" onClick={() => dispatch({ tab: 'calls' })}>
            {t('anatomy.show')}
          </button>
        )}
      </ReportToolbar>
      <Loaded of={code}>{(data) => <InstructionGrid document={data} name="code" own={name} />}</Loaded>
    </section>
  );
}
