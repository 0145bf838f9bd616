// Source and assembly of a function, with the time of each line and instruction; selecting a line shows its instructions,
// and the reverse.

import { useMemo, useState } from 'react';
import { t, title } from '../../base/texts';
import { duration } from '../../base/units';
import { tableCsv, tableText } from '../../logic/copy';
import { hottest, type SourceDocument, textKept } from '../../logic/source';
import { useDispatch, useView } from '../../state/provider';
import { useCall, useReport } from '../../state/resource';
import { Notes } from '../parts/notes';
import { Split } from '../parts/split';
import { Empty, Loaded } from '../parts/states';
import { CopyMenu, Toolbar } from '../parts/toolbar';
import { Instructions, Lines } from './listings';

const KERNEL = '[kernel]';

export default function SourceView() {
  const wanted = useView((state) => state.function);
  const module = useView((state) => state.module);
  const hotspots = useReport('hotspots', { params: { limit: 200 } });
  const rows = hotspots.data?.rows ?? [];
  const functions = rows.map((row) => String(row.function));
  // No result has the kernel's code.
  const own = rows.find((row) => row.module !== KERNEL) ?? rows[0];
  const name = wanted || String(own?.function ?? '');
  const source = useCall('source', { params: { function: name, module }, when: name !== '' });
  if (hotspots.data && name === '') return <Empty />;
  return (
    <section className="pane" aria-label={t('tab.source')}>
      <Toolbar>
        <FunctionPicker name={name} functions={functions} />
        {source.data && <Totals document={source.data as unknown as SourceDocument} />}
        <span className="grow" />
        {source.data && <Notes of={source.data} />}
        {source.data && <SourceCopy document={source.data as unknown as SourceDocument} />}
      </Toolbar>
      {source.error?.status === 400 ? (
        <Empty>{t('source.no-listing', { reason: source.error.text })}</Empty>
      ) : (
        <Loaded of={source}>
          {(document) => <Listings key={name} document={document as unknown as SourceDocument} />}
        </Loaded>
      )}
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
  const times = (total: number, self: number) =>
    t('source.times', { time: duration(total), self: self === 0 ? '0' : duration(self) });
  return (
    <span className="faint ellipsis">
      {title('cpu_ns', 'CPU Time')} {times(document.cpu_total_ns, document.cpu_ns)} · {title('wait_ns', 'Wait Time')}{' '}
      {times(document.wait_total_ns, document.wait_ns)} · {document.file ?? document.module}
    </span>
  );
}

/** The lines, or without any the instructions. */
function SourceCopy({ document: { lines, instructions } }: { document: SourceDocument }) {
  const rows =
    lines.length > 0
      ? lines.map(({ file, line, text, cpu_ns, cpu_total_ns, wait_ns, waits }) => ({
          file,
          line,
          text,
          cpu_ns,
          cpu_total_ns,
          wait_ns,
          waits,
        }))
      : instructions.map(({ address, text, cpu_ns, wait_ns }) => ({
          address: address.toString(16),
          text,
          cpu_ns,
          wait_ns,
        }));
  const times = (row: object) =>
    Object.entries(row).map(([id, value]) => (id.endsWith('_ns') ? duration(Number(value)) : value));
  return (
    <CopyMenu
      text={() => tableText(rows.map(times))}
      csv={() => tableCsv([Object.keys(rows[0] ?? {}), ...rows.map((row) => Object.values(row))])}
    />
  );
}

function Listings({ document }: { document: SourceDocument }) {
  const first = useMemo(() => hottest(document.lines), [document]);
  const [line, setLine] = useState(first);
  const spot = document.lines[line] ?? { file: null, line: null };
  const { lines, instructions } = document;
  const kept = textKept(document);
  const code = (
    <Instructions
      document={document}
      spot={spot}
      select={(instruction) => {
        const at = lines.findIndex(({ line, file }) => line === instruction.line && file === instruction.file);
        if (at >= 0) setLine(at);
      }}
    />
  );
  const source = <Lines document={document} selected={line} select={setLine} text={kept} />;
  if (lines.length === 0 && instructions.length === 0) return <Empty>{t('source.none')}</Empty>;
  // A single listing takes the whole width; lines without text need little.
  return (
    <>
      {lines.length === 0 && <p className="hint">{t('source.no-lines')}</p>}
      {lines.length > 0 && !kept && <p className="hint">{t('source.no-text', { file: document.file ?? '' })}</p>}
      {instructions.length === 0 && <p className="hint">{t('source.no-code')}</p>}
      {lines.length === 0 && code}
      {instructions.length === 0 && source}
      {lines.length > 0 && instructions.length > 0 && (
        <Split
          key={String(kept)}
          name={kept ? 'source' : 'source-numbers'}
          second="right"
          size={kept ? 0.45 : 0.62}
          least={200}
        >
          {source}
          {code}
        </Split>
      )}
    </>
  );
}
