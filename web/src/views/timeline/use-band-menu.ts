// What a right click on the timeline offers: about the interval under the pointer, its band, and the object that it waited on.

import type { MouseEvent } from 'react';
import type { IntervalInfo } from '../../api/types';
import { nameText } from '../../base/names';
import { t } from '../../base/texts';
import type { MenuEntry, MenuGroup } from '../../logic/context';
import type { BandRow } from '../../logic/timeline/band';
import { toggled } from '../../logic/timeline/bands';
import { describePiece, describeSpan } from '../../logic/timeline/describe';
import type { Hit } from '../../logic/timeline/hit';
import { showRange, wholeNs } from '../../logic/timeline/viewport';
import { filterInRange } from '../../state/actions';
import { openContextMenu, placeOf } from '../parts/context-menu';
import { useSubjects } from '../parts/use-subjects';
import { useSetting } from './setting';

/** The groups of the menu of a band. */
export function useBandGroups(): (row: BandRow) => MenuGroup[] {
  const { by } = useSetting();
  const groupsOf = useSubjects();
  return ({ band: { id, label }, pinned, expanded }) => {
    const toggle = (key: 'pinned' | 'expanded' | 'hidden', text: string): MenuEntry => ({
      text,
      change: (state) => ({ ...state, [key]: toggled(state[key], id) }),
    });
    const actions = [
      toggle('pinned', t(pinned ? 'band.unpin' : 'band.pin')),
      toggle('expanded', t(expanded ? 'band.shrink' : 'band.expand')),
      toggle('hidden', t('band.hide')),
    ];
    const [subject] = groupsOf([{ level: by, name: by === 'cpu' ? String(id) : label }]);
    return [{ title: nameText(label, by), entries: [...actions, ...(subject?.entries ?? [])] }];
  };
}

/** Opens the menu of what lies at a place of the bands; `interval` is what is known of the interval under the pointer. */
export function useBandMenu(hitAt: (x: number, y: number) => Hit | null, interval: IntervalInfo | null) {
  const { rows, info } = useSetting();
  const groupsOfBand = useBandGroups();
  const groupsOf = useSubjects();
  return (event: MouseEvent<HTMLElement>) => {
    const { left, top } = event.currentTarget.getBoundingClientRect();
    const hit = hitAt(event.clientX - left, event.clientY - top);
    const row = hit && rows[hit.row];
    if (!hit || !row) return;
    const { piece, span } = hit;
    const under = span ?? piece;
    const title = span ? describeSpan(span, info.task_types) : piece ? describePiece(piece) : '';
    const task = span && span.task !== null ? info.task_types[span.type]?.name : undefined;
    openContextMenu(event, placeOf(event), [
      { title, entries: under ? timeEntries(under, info.elapsed_ns) : [] },
      ...groupsOf(task ? [{ level: 'task', name: task }] : []),
      ...groupsOf(interval?.object ? [{ level: 'object', name: interval.object }] : []),
      ...groupsOfBand(row),
    ]);
  };
}

function timeEntries({ from, to }: { from: number; to: number }, elapsedNs: number): MenuEntry[] {
  return [
    { text: t('context.zoom'), change: (state) => ({ ...state, zoom: wholeNs(showRange({ from, to }, elapsedNs)) }) },
    { text: t('context.filter-time'), change: (state) => filterInRange(state, { from, to }) },
  ];
}
