// The texts of the chosen language.

import { en } from './texts/en';
import { columnsJa, lossesJa } from './texts/generated-ja';
import { ja } from './texts/ja';
import { problemHintsJa, problemsJa } from './texts/problems-ja';
import { helpJa, titleJa } from './texts/words-ja';

export const LANGUAGES = ['en', 'ja'] as const;
export type Language = (typeof LANGUAGES)[number];
export type TextKey = keyof typeof en;

const CATALOGUES: Record<Language, Record<TextKey, string>> = { en, ja };
let current: Language = 'en';

/** The first language of the browser that has a catalogue, else English. */
export function browserLanguage(languages: readonly string[]): Language {
  const known = languages.map((tag) => LANGUAGES.find((language) => tag.toLowerCase().split('-')[0] === language));
  return known.find((language) => language !== undefined) ?? 'en';
}

/** Sets the language of `t`; the caller must render everything again. */
export function setLanguage(language: Language): void {
  current = language;
}

export function language(): Language {
  return current;
}

/** The text of a key. Fills in `{name}`, and picks the word of `{name|wait|waits}`: the first for 1, else the second. */
export function t(key: TextKey, values: Record<string, string | number> = {}): string {
  return CATALOGUES[current][key].replace(/\{(\w+)(?:\|([^|}]*)\|([^}]*))?\}/g, (_, name: string, one, more) => {
    const value = String(values[name] ?? '');
    if (one === undefined) return value;
    return value === '1' ? one : more;
  });
}

/** The title of a column, metric, grouping level, filter key or finding; `english` is the server's. */
export function title(id: string, english: string): string {
  return (current === 'ja' ? (columnsJa[id]?.[0][english] ?? titleJa[id]) : undefined) ?? english;
}

/** The help of one of those. */
export function help(id: string, english: string): string {
  return (current === 'ja' ? (columnsJa[id]?.[1][english] ?? helpJa[id]) : undefined) ?? english;
}

/** What a loss means for the result, by the loss's name. */
export function lossText(name: string, english: string): string {
  return (current === 'ja' ? lossesJa[name] : undefined) ?? english;
}

/** The problem as a sentence, by the server's id; `english` is the server's sentence. */
export function problemText(kind: string, english: string): string {
  return (current === 'ja' ? problemsJa[kind] : undefined)?.replace('{error}', english) ?? english;
}

/** How to solve the problem; commands are the same in every language. */
export function problemHint(kind: string, english: string | null): string | null {
  return (current === 'ja' ? problemHintsJa[kind] : undefined) ?? english;
}

/** The word for an id of one of these kinds; an unknown id stays as it is. */
export function word(kind: 'cause' | 'direction' | 'protocol' | 'severity' | 'stack-end', id: string): string {
  const key = `${kind}.${id}`;
  return key in en ? t(key as TextKey) : id;
}

/** A date with its time of day; empty for an invalid date. */
export function dateText(date: Date): string {
  return Number.isNaN(date.getTime()) ? '' : date.toLocaleString(current, { dateStyle: 'medium', timeStyle: 'medium' });
}
