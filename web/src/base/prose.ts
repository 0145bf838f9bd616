// Sentences of the server in the chosen language: English as received, another language from its catalogue by sentence id.

import { nameText } from './names';
import { language, t } from './texts';
import { messagesJa } from './texts/generated-ja';
import { count, duration } from './units';

/** A typed value of a sentence. */
export type Word =
  | { text: string }
  | { ns: number }
  | { count: number }
  | { share: number }
  | { real: number; digits: number }
  | { place: string | null };

/** A sentence as the server's tables name it. */
export interface Sentence {
  id: string;
  values: Record<string, Word>;
}

/** `english` in the chosen language; unchanged when the catalogue lacks one of its sentences. */
export function prose(english: string, parts: readonly Sentence[] | undefined): string {
  if (language() === 'en' || !parts || parts.length === 0) return english;
  const sentences = parts.map(translated);
  return sentences.every((sentence) => sentence !== null) ? sentences.join('') : english;
}

function translated({ id, values }: Sentence): string | null {
  const template = messagesJa[id];
  if (template === undefined) return null;
  const word = (name: string) => (values[name] ? wordText(values[name], name) : `{${name}}`);
  const tellsNothing = (part: string) =>
    [...part.matchAll(/\{(\w+)\}/g)].some(([, name = '']) => {
      const value = values[name];
      return value !== undefined && isNone(value);
    });
  // A part in brackets is left out where a number in it is zero, or a place is not known.
  const shown = template.replace(/\[([^\]]*)\]/g, (_, part: string) => (tellsNothing(part) ? '' : part));
  return shown.replace(/\{(\w+)\}/g, (_, name: string) => word(name));
}

function isNone(word: Word): boolean {
  return (
    ('ns' in word && word.ns === 0) || ('count' in word && word.count === 0) || ('place' in word && word.place === null)
  );
}

/** The objects of a sentence are its `name` and `on`. */
function wordText(word: Word, name: string): string {
  if ('ns' in word) return duration(word.ns);
  if ('count' in word) return count(word.count);
  if ('share' in word) return `${(word.share * 100).toFixed(1)} %`;
  if ('real' in word) return word.real.toFixed(word.digits);
  if ('place' in word) return word.place === null ? t('place.unknown') : nameText(word.place, 'function');
  return nameText(word.text, name === 'name' || name === 'on' ? 'object' : 'function');
}
