// Every function, and the code of the chosen one.

import { useDispatch } from '../../state/provider';
import { Split } from '../parts/split';
import { FunctionPane } from './function-pane';
import { FunctionTable } from './function-table';
import './anatomy.css';

export default function FunctionsView() {
  const dispatch = useDispatch();
  return (
    <Split name="functions-code" second="below" size={0.42} least={120}>
      <FunctionTable onOpen={() => dispatch({ tab: 'calls' })} />
      <FunctionPane />
    </Split>
  );
}
