import { type ReactNode, useState } from 'react';
import { help, t, title } from '../../base/texts';
import { baseName, count } from '../../base/units';
import {
  heading,
  hottest,
  hottestOf,
  type Instruction,
  type SourceDocument,
  type Spot,
  sameSpot,
} from '../../logic/source';
import { usePreferences } from '../../state/preferences';
import { Cell } from '../grid/cell';
import { Grid, type GridColumn } from '../grid/grid';

interface LinesProps {
  document: SourceDocument;
  selected: number;
  select: (index: number) => void;
  /** Whether the listing has text beside the numbers. */
  text: boolean;
}

const most = (rows: readonly Record<string, unknown>[], id: string) =>
  rows.reduce((largest, row) => Math.max(largest, Number(row[id]) || 0), 0);

function timeColumn(id: string, english: string, width: number): GridColumn {
  return { id, title: title(id, english), help: help(id, english), numeric: true, width };
}

export function Lines({ document, selected, select, text }: LinesProps) {
  const { numbers } = usePreferences();
  const { lines } = document;
  const rows = lines as unknown as Record<string, unknown>[];
  const full = { cpu: most(rows, 'cpu_total_ns'), wait: most(rows, 'wait_total_ns') };
  const waits: GridColumn[] = [
    timeColumn('wait_ns', 'Wait Time', 110),
    { id: 'waits', title: title('wait_count', 'Wait Count'), numeric: true, width: 84 },
  ];
  const columns: GridColumn[] = [
    { id: 'text', title: t('source.line'), numeric: false, width: text ? 260 : 120, most: text ? 900 : 240 },
    timeColumn('cpu_ns', 'CPU Time', 110),
    { ...timeColumn('cpu_ns', 'CPU Time', 110), id: 'cpu_total_ns', title: t('source.cpu-total') },
    // Without waits, the text takes their column.
    ...(full.wait > 0 ? waits : []),
  ];
  const cells = (at: number): ReactNode[] => {
    const line = lines[at];
    if (!line) return [];
    const time = (value: number, largest: number) =>
      value > 0 ? <Cell kind="ns" value={value} full={largest} total={document.cpu_total_ns} style={numbers} /> : null;
    const above = heading(lines, at);
    return [
      <span key="text" className="code" data-tip={above ? `${line.file}:${line.line}` : undefined}>
        <span className="line-number">{line.line}</span>
        {above && (at > 0 || !text) && <span className="faint">{baseName(above)} · </span>}
        {line.text ?? ''}
      </span>,
      time(line.cpu_ns, full.cpu),
      time(line.cpu_total_ns, full.cpu),
      ...(full.wait > 0 ? [time(line.wait_ns, full.wait), line.waits > 0 ? count(line.waits) : null] : []),
    ];
  };
  return (
    <Grid
      name="source-lines"
      label={t('tab.source')}
      columns={columns}
      rows={lines.length}
      row={(at) => ({ key: String(at), depth: 0, expanded: null, cells: cells(at) })}
      selected={selected}
      onSelect={select}
    />
  );
}

interface InstructionsProps {
  document: SourceDocument;
  /** The selected line, whose instructions are marked. */
  spot: Spot;
  select: (instruction: Instruction) => void;
}

export function Instructions({ document, spot, select }: InstructionsProps) {
  const { numbers } = usePreferences();
  const { instructions } = document;
  const [cursor, setCursor] = useState(-1);
  const rows = instructions as unknown as Record<string, unknown>[];
  const full = { cpu: most(rows, 'cpu_ns'), wait: most(rows, 'wait_ns') };
  const chosen = instructions[cursor];
  const follows = chosen !== undefined && sameSpot(chosen, spot);
  const columns: GridColumn[] = [
    { id: 'text', title: t('source.code'), numeric: false, width: 300, most: 700 },
    timeColumn('cpu_ns', 'CPU Time', 110),
    ...(full.wait > 0 ? [timeColumn('wait_ns', 'Wait Time', 110)] : []),
  ];
  const row = (at: number) => {
    const instruction = instructions[at];
    if (!instruction) return { key: String(at), depth: 0, expanded: null, cells: [] };
    const { address, text, line, file, inlined, cpu_ns: cpu, wait_ns: wait, target } = instruction;
    const from = inlined.map(({ function: name }) => name).join(' ← ');
    const marked = sameSpot(instruction, spot);
    const cells = [
      <span
        key="text"
        className={marked ? 'code code-marked' : 'code'}
        data-tip={`${file ?? ''}${line ? `:${line}` : ''}${from ? ` · ${from}` : ''}${target ? ` → ${target}` : ''}`}
      >
        <span className="line-number">{address.toString(16)}</span>
        {text ?? ''}
      </span>,
      cpu > 0 ? (
        <Cell key="cpu" kind="ns" value={cpu} full={full.cpu} total={document.cpu_total_ns} style={numbers} />
      ) : null,
      wait > 0 ? (
        <Cell key="wait" kind="ns" value={wait} full={full.wait} total={document.wait_total_ns} style={numbers} />
      ) : null,
    ];
    return { key: String(at), depth: 0, expanded: null, cells };
  };
  const ofLine = hottestOf(instructions, spot);
  return (
    <Grid
      name="source-code"
      label={t('source.code')}
      columns={columns}
      rows={instructions.length}
      row={row}
      selected={follows ? cursor : ofLine >= 0 ? ofLine : hottest(instructions)}
      onSelect={(at) => {
        setCursor(at);
        const instruction = instructions[at];
        if (instruction) select(instruction);
      }}
    />
  );
}
