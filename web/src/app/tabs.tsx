// The screens of a result, in groups: the header has the groups, the line below it the screens of the shown one. A screen for which
// nothing was recorded is dimmed, and says what would record it. The few screens of an instruction trace stand in the header.

import { useEffect, useRef } from 'react';
import { t } from '../base/texts';
import { type EmptyTab, emptyTabs } from '../logic/tabs';
import { useDispatch, useView } from '../state/provider';
import { useCall } from '../state/resource';
import { groupOf, TAB_GROUPS, TABS, type Tab, type TabGroup, tabsBeside } from '../state/view-state';

const GROUPS = Object.keys(TAB_GROUPS) as TabGroup[];
/** The screen of each group that was shown last. */
const shownLast: Partial<Record<TabGroup, Tab>> = {};

/** In the header. */
export function Tabs() {
  const active = useView((state) => state.tab);
  const dispatch = useDispatch();
  const beside = tabsBeside(active);
  if (beside !== TABS) {
    return (
      <Bar label={t('app.tabs')} active={active} className="tabs">
        {beside.map((tab) => (
          <TabButton key={tab} tab={tab} active={tab === active} />
        ))}
      </Bar>
    );
  }
  const group = groupOf(active);
  return (
    <Bar label={t('app.tabs')} active={group} className="tabs">
      {GROUPS.map((id) => (
        <button
          key={id}
          type="button"
          className="tab tab-group"
          aria-current={id === group ? 'true' : undefined}
          data-tip={TAB_GROUPS[id].map((tab) => t(`tab.${tab}`)).join(' · ')}
          onClick={() => dispatch({ tab: shownLast[id] ?? TAB_GROUPS[id][0] })}
        >
          {t(`tabs.${id}`)}
        </button>
      ))}
    </Bar>
  );
}

/** Below the header: the screens of the shown group. `results` is how many results the folder has. */
export function GroupTabs({ results }: { results: number }) {
  const active = useView((state) => state.tab);
  const info = useCall('info');
  const group = groupOf(active);
  useEffect(() => {
    shownLast[group] = active;
  }, [group, active]);
  const empty = info.data ? emptyTabs(info.data, results) : {};
  return (
    <Bar label={t(`tabs.${group}`)} active={active} className="tabs group-tabs">
      {TAB_GROUPS[group].map((tab) => (
        <TabButton key={tab} tab={tab} active={tab === active} empty={empty[tab]} />
      ))}
    </Bar>
  );
}

/** Where not all fit, the current one scrolls into view. */
function Bar({
  label,
  active,
  className,
  children,
}: {
  label: string;
  active: string;
  className: string;
  children: React.ReactNode;
}) {
  const bar = useRef<HTMLElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another current one is what scrolls.
  useEffect(() => {
    void bar.current?.querySelector('[aria-current]')?.scrollIntoView({ inline: 'nearest' });
  }, [active]);
  return (
    <nav ref={bar} className={className} aria-label={label}>
      {children}
    </nav>
  );
}

function TabButton({ tab, active, empty }: { tab: Tab; active: boolean; empty?: EmptyTab | undefined }) {
  const dispatch = useDispatch();
  return (
    <button
      type="button"
      className={empty ? 'tab tab-empty' : 'tab'}
      aria-current={active ? 'page' : undefined}
      aria-description={empty ? t(empty) : undefined}
      data-tip={empty ? t(empty) : undefined}
      onClick={() => dispatch({ tab })}
    >
      {t(`tab.${tab}`)}
    </button>
  );
}
