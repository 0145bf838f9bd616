// Handles: short names of things, as reports and agents use them. The palette takes one and leads to the thing.

import type { Document, Info } from '../api/types';
import { shortText } from '../base/names';
import { title } from '../base/texts';
import type { ViewState } from '../state/view-state';
import { nameEntries, type PaletteEntry, showThread } from './palette';

/** What a text has the form of a handle of. */
export type HandleKind = 'object' | 'thread' | 'finding' | 'outlier';

const FORMS: [kind: HandleKind, form: RegExp][] = [
  ['object', /^w(0|[1-9]\d*)$/],
  ['thread', /^t(0|[1-9]\d*)$/],
  ['finding', /^f[1-9]\d*$/],
  ['outlier', /^o[trw](0|[1-9]\d*)$/],
];

/** The kind of thing that the search is the handle of, if it has the form of one. */
export function handleKind(search: string): HandleKind | null {
  const handle = search.trim();
  return FORMS.find(([, form]) => form.test(handle))?.[0] ?? null;
}

/** The report that shows the thing of a handle whole, where its name is needed. */
export const REPORT_OF_KIND: { [Kind in HandleKind]?: string } = { object: 'waits', finding: 'findings' };

/** The entry that leads to the thing of a handle; none where there is no such thing. `report` is that of the thing. */
export function handleEntries(search: string, info: Info, report: Document | undefined): PaletteEntry[] {
  const handle = search.trim();
  const row = report?.rows?.find((row) => row.handle === handle);
  const entry = (group: PaletteEntry['group'], name: string, change: PaletteEntry['change']): PaletteEntry[] => [
    { id: `handle ${handle}`, group, text: `${handle}: ${name}`, change },
  ];
  switch (handleKind(search)) {
    case 'object': {
      const [object] = typeof row?.object === 'string' ? nameEntries('object', [row.object]) : [];
      return object ? entry('object', object.text, object.change) : [];
    }
    case 'thread': {
      const thread = info.threads.find(({ id }) => `t${id}` === handle);
      return thread ? entry('thread', `${thread.name} (${thread.tid})`, (state) => showThread(state, thread.id)) : [];
    }
    case 'finding':
      return row ? entry('finding', findingName(row), (state) => showFindingCard(state, handle)) : [];
    case 'outlier':
      return entry('outlier', title('worst', 'Outlier'), (state) => showOutlierStory(state, handle));
    case null:
      return [];
  }
}

function findingName({ id, title: english, subject }: NonNullable<Document['rows']>[number]): string {
  const name = title(String(id), String(english));
  return subject ? `${name}: ${shortText(String(subject))}` : name;
}

/** The findings of the whole result, at the card of one. */
function showFindingCard(state: ViewState, handle: string): ViewState {
  return { ...state, tab: 'findings', finding: handle };
}

/** The latency of the intervals of the same name, with the story of one. */
function showOutlierStory(state: ViewState, handle: string): ViewState {
  return { ...state, tab: 'latency', interval: handle, outlier: handle.slice(1) };
}
