// Opens the menu of a right click for things of the program.

import { type MenuGroup, type Subject, subjectGroup } from '../../logic/context';
import { useView } from '../../state/provider';
import { useCall } from '../../state/resource';
import { TRACE_TABS, tabsBeside } from '../../state/view-state';

/** What the menu offers about each of the things, in groups; those of an instruction trace have only their names. */
export function useSubjects(): (subjects: readonly Subject[]) => MenuGroup[] {
  const tab = useView((state) => state.tab);
  const isTrace = tabsBeside(tab) === TRACE_TABS;
  const info = useCall('info', { when: !isTrace });
  return (subjects) => subjects.map((subject) => subjectGroup(subject, info.data ?? null, tab));
}
