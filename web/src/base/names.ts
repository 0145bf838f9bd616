// Names that the server makes in English, in the chosen language. Names of the program are the same in every language.

import { language, title } from './texts';
import { BRACKETS_JA, OBJECTS_JA } from './texts/names-ja';

/** A name as it is shown; `of` is the filter key, grouping level or column that it belongs to. */
export function nameText(name: string, of: string): string {
  if (language() === 'en') return name;
  if (of === 'object' || of === 'alike-objects' || of === 'subject') return objectText(name);
  if (of === 'object-type') return title(name, name);
  if (of === 'wait-kind') return name.replace(/[\w-]+/g, (id) => title(id, id)).replace(', ', '、');
  return bracketText(name);
}

/** Characters of template arguments from which `<…>` stands for them. */
const LONG_ARGUMENTS = 24;
/** Longer texts stay as they are: each bracket may be searched to the end. */
const LONGEST_SHORTENED = 4096;

/** A name, or a sentence with names, with `<…>` for long arguments of C++ templates; a tip has the whole name. */
export function shortText(text: string): string {
  if (text.length > LONGEST_SHORTENED) return text;
  let short = '';
  let from = 0;
  for (const { index } of text.matchAll(/(?<=\w)(?<!\boperator)</g)) {
    const end = index < from ? -1 : argumentsEnd(text, index);
    if (end - index <= LONG_ARGUMENTS) continue;
    short += `${text.slice(from, index)}<…>`;
    from = end + 1;
  }
  return short + text.slice(from);
}

/** Where the bracket at `start` closes; -1 when it does not. */
function argumentsEnd(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    if (text[at] === '<') depth++;
    else if (text[at] === '>' && text[at - 1] !== '-') depth--;
    if (depth === 0) return at;
  }
  return -1;
}

/** What a row of the blame report names, by its role. */
export function blameText(name: string, role: string): string {
  if (language() === 'en') return name;
  const parts = PARTS[role]?.exec(name);
  if (!parts) return nameText(name, 'waker');
  const [, first = '', second = ''] = parts;
  if (role === 'object') return `${objectText(first)} (${title(second, second)})`;
  if (role === 'holder-waiting') return `${objectText(first)}、${bracketText(second)}`;
  return `${bracketText(first)}、${bracketText(second)}`;
}

/** Rows of blame that name two things: an object and its type, an object and a function, a waker and a function. */
const PARTS: Record<string, RegExp> = {
  object: /^(.+) \(([\w-]+)\)$/,
  'holder-waiting': /^(.+), at (.+)$/,
  waker: /^(\[[\w-]+\]|.+? \(\d+\)) in (.+)$/,
};

/** `[run queue]`, also with something behind it. */
function bracketText(name: string): string {
  return name.replace(/^\[([\w -]+)\]/, (whole, id: string) => (BRACKETS_JA[id] ? `[${BRACKETS_JA[id]}]` : whole));
}

/** Several alike objects with how many they are, as `47 connections to TCP 10.0.0.1:80`. */
const ALIKE: readonly [RegExp, (objects: string, name: string) => string][] = [
  [/^([\d,]+) × (.+)$/, (objects, name) => `${objects} × ${objectText(name)}`],
  [/^([\d,]+) connections to (.+)$/, (objects, name) => `${name} への ${objects} 個の接続`],
  [/^([\d,]+) connections at (.+)$/, (objects, name) => `${name} の ${objects} 個の接続`],
  [/^([\d,]+) pipes in (.+)$/, (objects, name) => `${name} の ${objects} 個のパイプ`],
  [/^([\d,]+) threads (.+)$/, (objects, name) => `${objects} 個のスレッド ${name}`],
  [/^([\d,]+) child processes (.+)$/, (objects, name) => `${objects} 個の子プロセス ${name}`],
  [/^([\d,]+) files with page faults()$/, (objects) => `${objects} 個のファイルのページフォルト`],
  [/^([\d,]+) pipes()$/, (objects) => `${objects} 個のパイプ`],
];

function objectText(name: string): string {
  for (const [pattern, text] of ALIKE) {
    const [, objects, alike] = pattern.exec(name) ?? [];
    if (objects !== undefined) return text(objects, alike ?? '');
  }
  const [, relation, owner = ''] = /^(Child process(?:es of)?|Thread) (?!in |0x|#)(.+)$/.exec(name) ?? [];
  if (relation === 'Thread') return `スレッド ${owner}`;
  if (relation) return relation === 'Child process' ? `子プロセス ${owner}` : `${owner} の子プロセス`;
  const [, type = '', place, rest = ''] = OBJECT.exec(name) ?? [];
  const japanese = OBJECTS_JA[type];
  // A single word alone may be the program's own name, such as a variable called Mutex.
  if (!japanese || name === type.split(' ')[0]) return bracketText(name);
  return place === undefined ? `${japanese}${rest}` : `${placeText(place)} の${japanese}${rest}`;
}

/** A type, then where threads waited or what tells it apart: ` in FUNCTION`, ` 0x1234abcd`, ` #2`. */
const OBJECT = /^([A-Za-z][\w/ ]*?)(?: in (.+?))?((?: 0x[0-9a-f]{8})?(?: #\d+)?)$/;

function placeText(place: string): string {
  return place === 'unknown code' ? '不明なコード' : place;
}
