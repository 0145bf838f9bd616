// The annotated trace: the chart of calls; below it the functions, and the picked call or function.

import { useView } from '../../state/provider';
import { useTrace } from '../../state/trace';
import { Split } from '../parts/split';
import { Loaded } from '../parts/states';
import { CallChart } from './chart';
import { FunctionTable } from './function-table';
import { PickedPane } from './picked';
import './anatomy.css';

export default function CallsView() {
  const info = useTrace('info');
  const isPicked = useView(({ call, function: name }) => call !== null || name !== '');
  return (
    <Split name="calls" second="below" size={0.42} least={120}>
      <Loaded of={info}>{(data) => <CallChart key={data.ticks} info={data} />}</Loaded>
      <Split name="calls-picked" second="right" size={0.46} least={260}>
        <FunctionTable />
        {isPicked ? <PickedPane /> : null}
      </Split>
    </Split>
  );
}
