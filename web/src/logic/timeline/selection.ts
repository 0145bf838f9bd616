// What threads did in a selected time, of the report explain: sums, and the largest causes.

import type { Document } from '../../api/types';
import type { Sentence } from '../../base/prose';
import { filterInRange } from '../../state/actions';
import type { Range, ViewState } from '../../state/view-state';
import { causeId, functionOf, type RootCause } from '../causes';
import { deedText } from './describe';

/** Parts of the threads' lives, in the words of the account's sentence. */
const PARTS = ['running', 'queue', 'demand', 'structure', 'own', 'idle'] as const;

export interface Sum {
  of: (typeof PARTS)[number];
  ns: number;
}

const ACCOUNTS = ['time-account', 'fiber-account'];

/** What the threads did: the parts that are not zero; they add up to the threads' lives. */
export function sumsOf({ notes_parts: notes = [] }: Document): Sum[] {
  const account = notes.flat().find(({ id }) => ACCOUNTS.includes(id));
  return PARTS.map((of) => ({ of, ns: nsOf(account, of) })).filter(({ ns }) => ns > 0);
}

function nsOf(account: Sentence | undefined, value: string): number {
  const word = account?.values[value];
  return word && 'ns' in word ? word.ns : 0;
}

export interface MarkedCause {
  /** What it is called in a link. */
  id: string;
  who: string;
  text: string;
  /** Waits that it explains. */
  ns: number;
}

/** The causes that explain most. */
export function causesOf({ rows = [] }: Document, most: number): MarkedCause[] {
  const causes = (rows as unknown as RootCause[]).filter(({ wait_ns: wait }) => wait > 0);
  return causes.slice(0, most).map((cause) => ({
    id: causeId(cause),
    who: cause.who,
    text: deedText({
      kind: cause.kind,
      place: functionOf(cause.place ?? ''),
      object: cause.waited_for ?? '',
      behind: cause.behind ?? '',
    }),
    ns: cause.wait_ns,
  }));
}

/** The explanation of a time, with one of its causes. */
export function explainRange(state: ViewState, range: Range, cause = ''): ViewState {
  return { ...filterInRange(state, range), tab: 'explain', cause };
}
