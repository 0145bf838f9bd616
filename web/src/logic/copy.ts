// Lists as text for people and as CSV for programs.

import type { Flame, Histogram, ViewDocument } from '../api/types';
import { duration } from '../base/units';
import { nameOf, pathTo } from './flame';
import { asText, csvField } from './values';

/** One line per row, fields separated by tabs. */
export function tableText(rows: readonly (readonly unknown[])[]): string {
  return rows.map((fields) => `${fields.map((field) => String(field ?? '')).join('\t')}\n`).join('');
}

/** RFC 4180. */
export function tableCsv(rows: readonly (readonly unknown[])[]): string {
  return rows.map((fields) => `${fields.map(csvField).join(',')}\r\n`).join('');
}

/** A report as on the screen, child rows indented. */
export function reportText({ columns, rows }: ViewDocument): string {
  const line = ({ depth, values }: ViewDocument['rows'][number]) =>
    columns.map(({ kind }, at) => `${at === 0 ? '  '.repeat(depth) : ''}${asText(kind, values[at])}`);
  return tableText([columns.map(({ title }) => title), ...rows.map(line)]);
}

/** A report with exact numbers, as the command line's `--format csv`. */
export function reportCsv({ columns, rows }: ViewDocument): string {
  const classes = ['idle', 'poor', 'ok', 'ideal', 'over'];
  const head = columns.flatMap(({ id, kind }) => (kind === 'by_class' ? classes.map((name) => `${id}_${name}`) : [id]));
  const line = ({ values }: ViewDocument['rows'][number]) =>
    columns.flatMap(({ kind }, at) => {
      const value = values[at];
      if (kind === 'by_class') return classes.map((name) => (value as Record<string, number> | null)?.[name]);
      if (kind === 'parts')
        return [
          Object.entries(value ?? {})
            .map((part) => part.join('='))
            .join(';'),
        ];
      return [kind === 'rows' ? JSON.stringify(value) : value];
    });
  return tableCsv([head, ...rows.map(line)]);
}

/** The bins of a histogram of wait lengths. */
export function histogramRows({ bins }: Histogram): unknown[][] {
  return bins.filter(({ count }) => count > 0).map((bin) => [bin.from_ns, bin.to_ns, bin.count, bin.total_ns]);
}

/** A flame graph as folded stacks, `entry;…;leaf ns`, which other tools read. */
export function foldedStacks(flame: Flame): string {
  const lines = flame.self_ns.flatMap((ns, node) =>
    ns > 0
      ? [
          `${pathTo(flame, node)
            .map((at) => nameOf(flame, at).replaceAll(';', ':'))
            .join(';')} ${ns}\n`,
        ]
      : [],
  );
  return lines.join('');
}

/** A flame graph for people: depth, total and self time. */
export function flameText(flame: Flame): string {
  return tableText(
    flame.parent.map((_, node) => [
      `${'  '.repeat(pathTo(flame, node).length - 1)}${nameOf(flame, node)}`,
      duration(flame.total[node] ?? 0),
      duration(flame.self_ns[node] ?? 0),
    ]),
  );
}
