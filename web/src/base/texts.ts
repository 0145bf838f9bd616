// The texts of the chosen language.

import { en } from './texts/en';
import { ja } from './texts/ja';
import { lossesJa } from './texts/losses-ja';
import { problemHintsJa, problemsJa } from './texts/problems-ja';
import { helpJa, titleJa } from './texts/words-ja';

export const LANGUAGES = ['en', 'ja'] as const;
export type Language = (typeof LANGUAGES)[number];
export type TextKey = keyof typeof en;

const CATALOGUES: Record<Language, Record<TextKey, string>> = { en, ja };
let current: Language = 'en';

/** The language of the browser, when there is a catalogue for it. */
export function browserLanguage(languages: readonly string[]): Language {
  const known = languages.map((tag) => LANGUAGES.find((language) => tag.toLowerCase().split('-')[0] === language));
  return known.find((language) => language !== undefined) ?? 'en';
}

/** Which language `t` speaks; the caller renders everything again. */
export function setLanguage(language: Language): void {
  current = language;
}

export function language(): Language {
  return current;
}

/** The text of a key, with `{name}` filled in, and of `{name|wait|waits}` the first word for one, else the second. */
export function t(key: TextKey, values: Record<string, string | number> = {}): string {
  return CATALOGUES[current][key].replace(/\{(\w+)(?:\|([^|}]*)\|([^}]*))?\}/g, (_, name: string, one, more) => {
    const value = String(values[name] ?? '');
    if (one === undefined) return value;
    return value === '1' ? one : more;
  });
}

/** A title that the server gives in English (a metric, grouping level, filter key, finding), by its id. */
export function title(id: string, english: string): string {
  return (current === 'ja' ? titleJa[id] : undefined) ?? english;
}

/** Likewise for help. */
export function help(id: string, english: string): string {
  return (current === 'ja' ? helpJa[id] : undefined) ?? english;
}

/** What is missing because of a loss, by its name. */
export function lossText(name: string, english: string): string {
  return (current === 'ja' ? lossesJa[name] : undefined) ?? english;
}

/** What went wrong, by the server's name for it; `english` is its sentence. */
export function problemText(kind: string, english: string): string {
  return (current === 'ja' ? problemsJa[kind] : undefined)?.replace('{error}', english) ?? english;
}

/** What to do about it; commands are the same in every language. */
export function problemHint(kind: string, english: string | null): string | null {
  return (current === 'ja' ? problemHintsJa[kind] : undefined) ?? english;
}

/** The word for a value of a kind that the server gives by its id; for one that this version does not know, the id. */
export function word(kind: 'cause' | 'direction' | 'protocol' | 'stack-end', id: string): string {
  const key = `${kind}.${id}`;
  return key in en ? t(key as TextKey) : id;
}

/** A day and a time of day; empty for what is none. */
export function dateText(date: Date): string {
  return Number.isNaN(date.getTime()) ? '' : date.toLocaleString(current, { dateStyle: 'medium', timeStyle: 'medium' });
}
