// What the form of a new collection means.

import type { CollectionRequest } from '../api/collections';

/** The form, as it is typed. */
export interface CollectForm {
  analysis: 'threading' | 'latency';
  kind: 'program' | 'process' | 'cgroup' | 'machine';
  command: string;
  folder: string;
  pids: number[];
  cgroup: string;
  duration: string;
  sockets: boolean;
  system: boolean;
  exactFibers: boolean;
  startPaused: boolean;
}

export const EMPTY_FORM: CollectForm = {
  analysis: 'threading',
  kind: 'program',
  command: '',
  folder: '',
  pids: [],
  cgroup: '',
  duration: '',
  sockets: false,
  system: false,
  exactFibers: false,
  startPaused: false,
};

/** Blanks; text in single quotes, in double ones; a quoted letter; plain text; a quote that is never closed. */
const PIECES = /\s+|'([^']*)'|"((?:[^"\\]|\\[\s\S])*)"|\\([\s\S])|[^\s'"\\]+|['"\\]/g;

/** The words of a command line, as a shell reads quotes and backslashes; null: a quote is open. Nothing is substituted. */
export function shellWords(line: string): string[] | null {
  const words: string[] = [];
  let goesOn = false;
  for (const [piece, single, double, quoted] of line.matchAll(PIECES)) {
    if (piece === "'" || piece === '"') return null;
    const isBlank = piece.trim() === '';
    // Within double quotes a backslash quotes itself and the quote only.
    const text = single ?? double?.replace(/\\(["\\])/g, '$1') ?? quoted ?? piece;
    if (!isBlank) words.push(goesOn ? `${words.pop()}${text}` : text);
    goesOn = !isBlank;
  }
  return words;
}

/** Seconds of `10`, `10s`, `2m` or `1h`; 0 of nothing; null of what is no time. */
export function seconds(text: string): number | null {
  const [, number, unit = 's'] = /^\s*(\d{1,6})\s*(s|m|h)?\s*$/.exec(text) ?? [];
  if (number === undefined) return text.trim() === '' ? 0 : null;
  return Number(number) * ({ s: 1, m: 60, h: 3600 }[unit] ?? 1);
}

/** What of the form cannot be meant. */
export type FormFault = 'quote' | 'duration';

/** The request; or what is wrong with the form before anybody is asked. */
export function requestOf(form: CollectForm): CollectionRequest | FormFault {
  const words = shellWords(form.command);
  const duration = seconds(form.duration);
  if (form.kind === 'program' && words === null) return 'quote';
  if (duration === null) return 'duration';
  const [program = '', ...rest] = words ?? [];
  const target = {
    program: { program: { program, arguments: rest, folder: form.folder.trim() } },
    process: { processes: form.pids },
    cgroup: { cgroup: form.cgroup.trim() },
    machine: 'machine' as const,
  }[form.kind];
  return {
    analysis: form.analysis,
    target,
    duration_s: duration,
    sockets: form.sockets,
    system: form.system,
    exact_fibers: form.exactFibers,
    start_paused: form.startPaused,
  };
}
