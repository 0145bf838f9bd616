// Root causes as the report explain gives them, and the views that show what they speak of.

import { nameText } from '../base/names';
import type { Sentence } from '../base/prose';
import { t } from '../base/texts';
import { duration } from '../base/units';
import { only } from '../state/actions';
import type { ViewState } from '../state/view-state';
import type { ChainLink } from './chains';

/** A row of the report explain. */
export interface RootCause {
  who: string;
  kind: string;
  place: string | null;
  waited_for: string | null;
  behind: string | null;
  wait_ns: number;
  wall_ns: number;
  /** Its part of the elapsed time; all there is of a cause that only the program's end waited for. */
  path_ns: number | null;
  cause: string;
  cause_parts?: Sentence[];
  links: ChainLink[] | null;
  advice: string;
  advice_parts?: Sentence[];
  stack?: string[] | null;
}

/** What tells a cause from others in a link to it. */
export function causeId(cause: Pick<RootCause, (typeof IDENTITY)[number]>): string {
  return IDENTITY.map((column) => cause[column] ?? '')
    .join('|')
    .replace(/\|+$/, '');
}

/** Columns that differ between any two causes. */
export const IDENTITY = ['kind', 'who', 'place', 'waited_for', 'behind'] as const;

/** Links of a chain that are told in a line. */
const LINKS = 4;

/** The first `most` chains as lines: who waited for what, because of whom. */
export function chainTexts(links: readonly ChainLink[], most: number): string[] {
  const chains = [...new Set(links.map(({ chain }) => chain))].slice(0, most);
  return chains.map((chain) => {
    const waits = links.filter((link) => link.chain === chain);
    const texts = waits.slice(0, LINKS).map(linkText);
    const more = waits.length > LINKS ? ['…'] : [];
    return `${duration(waits[0]?.wait_ns ?? 0)}: ${[...texts, ...more].join(' ← ')}`;
  });
}

function linkText({ who, waited_for: object, place }: ChainLink): string {
  return t('explain.wait', {
    who,
    object: nameText(object ?? '', 'object'),
    place: place ?? t('place.unknown'),
  });
}

/** A function's name of a place `function (file:line)`. */
export function functionOf(place: string): string {
  return place.replace(/ \([^()]*\)$/, '');
}

/** The time of those who waited. */
export function showThreads(state: ViewState, { threads, process }: ChainLink): ViewState {
  const timeline: ViewState = { ...state, tab: 'platform', bands: 'thread' };
  const ofThreads = threads ? only(timeline, 'thread', threads) : timeline;
  return process ? only(ofThreads, 'process', process) : ofThreads;
}

/** Who had what was waited for. */
export function showObject(state: ViewState, object: string): ViewState {
  return { ...state, tab: 'blame', object };
}

/** The lines of a place. */
export function showPlace(state: ViewState, place: string): ViewState {
  return { ...state, tab: 'source', function: functionOf(place), module: '' };
}
