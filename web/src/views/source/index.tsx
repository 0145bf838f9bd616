// Source and assembly of a function, with the time of each line and instruction; selecting a line shows its instructions
// and the other way round.

import { useMemo, useState } from 'react';
import { t, title } from '../../base/texts';
import { duration } from '../../base/units';
import { hottest, type SourceDocument } from '../../logic/source';
import { useDispatch, useView } from '../../state/provider';
import { useCall, useReport } from '../../state/resource';
import { Notes } from '../parts/notes';
import { Split } from '../parts/split';
import { Empty, Loaded } from '../parts/states';
import { Toolbar } from '../parts/toolbar';
import { Instructions, Lines } from './listings';

export default function SourceView() {
  const wanted = useView((state) => state.function);
  const module = useView((state) => state.module);
  const hotspots = useReport('hotspots', { params: { limit: 200 } });
  const functions = (hotspots.data?.rows ?? []).map((row) => String(row.function));
  const name = wanted || (functions[0] ?? '');
  const source = useCall('source', { params: { function: name, module }, when: name !== '' });
  if (hotspots.data && name === '') return <Empty />;
  return (
    <section className="pane" aria-label={t('tab.source')}>
      <Toolbar>
        <FunctionPicker name={name} functions={functions} />
        {source.data && <Totals document={source.data as unknown as SourceDocument} />}
        <span className="grow" />
        {source.data && <Notes notes={source.data.notes} />}
      </Toolbar>
      <Loaded of={source}>
        {(document) => <Listings key={name} document={document as unknown as SourceDocument} />}
      </Loaded>
    </section>
  );
}

function FunctionPicker({ name, functions }: { name: string; functions: string[] }) {
  const dispatch = useDispatch();
  const choices = [...new Set(functions.includes(name) || name === '' ? functions : [name, ...functions])];
  return (
    <label>
      {title('function', 'Function')}
      <select
        className="picker"
        value={name}
        onChange={({ target }) => dispatch({ function: target.value, module: '' })}
      >
        {choices.map((choice) => (
          <option key={choice} value={choice}>
            {choice}
          </option>
        ))}
      </select>
    </label>
  );
}

function Totals({ document }: { document: SourceDocument }) {
  return (
    <span className="faint ellipsis">
      {title('cpu_ns', 'CPU Time')} {duration(document.cpu_ns)} / {duration(document.cpu_total_ns)} ·{' '}
      {title('wait_ns', 'Wait Time')} {duration(document.wait_ns)} / {duration(document.wait_total_ns)} ·{' '}
      {document.file ?? document.module}
    </span>
  );
}

function Listings({ document }: { document: SourceDocument }) {
  const first = useMemo(() => hottest(document.lines), [document]);
  const [line, setLine] = useState(first);
  const spot = document.lines[line] ?? { file: null, line: null };
  if (document.lines.length === 0 && document.instructions.length === 0) return <Empty>{t('source.none')}</Empty>;
  return (
    <Split name="source" second="right" size={640} least={200}>
      <Lines document={document} selected={line} select={setLine} />
      <Instructions
        document={document}
        spot={spot}
        select={(instruction) => {
          const at = document.lines.findIndex(
            (candidate) => candidate.line === instruction.line && candidate.file === instruction.file,
          );
          if (at >= 0) setLine(at);
        }}
      />
    </Split>
  );
}
