// The document of `dwell source --format json`: lines and instructions of a function with the time spent at each.

import type { Document } from '../api/types';

export interface SourceLine {
  file: string | null;
  line: number;
  text: string | null;
  cpu_ns: number;
  cpu_total_ns: number;
  wait_ns: number;
  wait_total_ns: number;
  waits: number;
  inlined_from: string | null;
}

export interface Instruction {
  address: number;
  text: string | null;
  file: string | null;
  line: number | null;
  inlined: { function: string }[];
  cpu_ns: number;
  wait_ns: number;
  target: string | null;
}

export interface SourceDocument extends Document {
  function: string | null;
  module: string | null;
  file: string | null;
  cpu_ns: number;
  cpu_total_ns: number;
  wait_ns: number;
  wait_total_ns: number;
  waits: number;
  lines: SourceLine[];
  instructions: Instruction[];
}

/** The source line of a line or an instruction, which links the two. */
export interface Spot {
  file: string | null;
  line: number | null;
}

export function sameSpot(a: Spot, b: Spot): boolean {
  return a.line !== null && a.line > 0 && a.line === b.line && a.file === b.file;
}

/** Index of the line or instruction with the most self time; 0 when none has any. */
export function hottest(rows: readonly { cpu_ns: number; wait_ns: number }[]): number {
  let best = 0;
  let most = 0;
  rows.forEach(({ cpu_ns, wait_ns }, at) => {
    if (cpu_ns + wait_ns > most) {
      most = cpu_ns + wait_ns;
      best = at;
    }
  });
  return best;
}

/** Index of the line's instruction with the most time, or its first one; -1 when the line has no instructions. */
export function hottestOf(instructions: readonly Instruction[], spot: Spot): number {
  const of = instructions.filter((instruction) => sameSpot(instruction, spot));
  return instructions.indexOf(of[hottest(of)] as Instruction);
}

/** Whether the result has the text of a line; if not, its file was missing, or must not be copied. */
export function textKept({ lines }: SourceDocument): boolean {
  return lines.some(({ text }) => text !== null && text !== '');
}

/** The heading of a line: its file and function, where these differ from the line before. */
export function heading(lines: readonly SourceLine[], at: number): string | null {
  const [line, before] = [lines[at], lines[at - 1]];
  if (!line || (before && before.file === line.file && before.inlined_from === line.inlined_from)) return null;
  return line.inlined_from ?? line.file;
}
