// One line about the interval under the pointer: the tile's facts at once, the rest when the server has answered.

import type { Info, IntervalInfo } from '../../api/types';
import { nameText } from '../../base/names';
import type { State } from '../../base/palette';
import { type TextKey, t } from '../../base/texts';
import { duration } from '../../base/units';
import type { Piece } from './hit';
import type { Span } from './lanes';

/** The interval, if it belongs to this thread and contains the time. */
export function covering(
  interval: IntervalInfo | null | undefined,
  thread: number | null,
  time: number,
): IntervalInfo | null {
  const there = interval && interval.thread === thread && interval.start_ns <= time && time < interval.end_ns;
  return there ? interval : null;
}

/** How long the state lasted: a wait's blocked part, the run queue's part, or all of the interval. */
export function lengthOf(interval: IntervalInfo): number {
  if (interval.state === 'preempted') return interval.runnable_ns;
  return interval.wait_ns > 0 ? interval.wait_ns : interval.end_ns - interval.start_ns;
}

export function stateText(state: string): string {
  const key = `state.${state}`;
  return t(key as TextKey) ?? state;
}

/** A thread's name with its number. */
export function threadName({ threads }: Info, id: number): string {
  const thread = threads.find((known) => known.id === id);
  return thread ? `${thread.name} (${thread.tid})` : String(id);
}

/** State, duration, object, waker, and the function at the top of the stack. */
export function describeInterval(interval: IntervalInfo): string {
  const { state, object, waker, stack, cpu } = interval;
  const top = stack[0]?.function;
  const parts = [
    `${stateText(state)} ${duration(lengthOf(interval))}`,
    object && t('hover.on', { object: nameText(object, 'object') }),
    waker && t('hover.by', { waker }),
    top && t('hover.in', { function: top }),
    isRunning(state) && cpu >= 0 && t('hover.cpu', { cpu }),
  ];
  return parts.filter((part) => typeof part === 'string' && part !== '').join(' · ');
}

export function describePiece({ state, from, to, many }: Piece): string {
  const name = many ? t('hover.many', { state: stateText(state) }) : stateText(state);
  return `${name} ${duration(Math.round(to - from))}`;
}

function isRunning(state: string): boolean {
  return (['running', 'spin', 'overhead'] satisfies State[] as string[]).includes(state);
}

/** Name, kind and length of a task. */
export function describeSpan({ type, from, to, task }: Span, types: Info['task_types']): string {
  const { name = '', domain = '', kind = 'task' } = types[type] ?? {};
  const parts = [
    task === null ? t('hover.tasks', { name }) : name,
    taskKindText(kind),
    duration(Math.round(to - from)),
    domain,
  ];
  return parts.filter((part) => part !== '').join(' · ');
}

export function taskKindText(kind: string): string {
  return t(`task-kind.${kind}` as TextKey) ?? kind;
}

/** What a thread did that others waited for, or because of what. */
export interface Deed {
  /** Id of the kind of a cause. */
  kind: string;
  /** The function; empty for unknown. */
  place: string;
  object: string;
  /** Who had the CPU that it was ready for; empty for unknown. */
  behind: string;
}

/** A deed in words. */
export function deedText({ kind, place, object, behind }: Deed): string {
  const key = kind === 'run-queue' && behind !== '' && !behind.startsWith('[') ? 'run-queue-behind' : kind;
  const values = { place: place || t('place.unknown'), object: nameText(object, 'object'), behind };
  return t(`chain.${key}` as TextKey, values);
}
