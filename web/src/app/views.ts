// The tabs and their views, which load when first shown.

import { type ComponentType, type LazyExoticComponent, lazy } from 'react';
import type { Tab } from '../state/view-state';
import { SummaryView } from '../views/summary';

interface TabView {
  View: ComponentType | LazyExoticComponent<ComponentType>;
  /** Whether the view has the timeline strip below it. */
  strip: boolean;
}

export const VIEWS: Record<Tab, TabView> = {
  // The first paint shows it, so it loads with the page.
  summary: { View: SummaryView, strip: false },
  explain: { View: lazy(() => import('../views/explain')), strip: true },
  'bottom-up': { View: lazy(() => import('../views/bottom-up')), strip: true },
  'caller-callee': { View: lazy(() => import('../views/caller-callee')), strip: true },
  'top-down': { View: lazy(() => import('../views/top-down')), strip: true },
  flame: { View: lazy(() => import('../views/flame')), strip: true },
  objects: { View: lazy(() => import('../views/objects')), strip: true },
  sockets: { View: lazy(() => import('../views/sockets')), strip: true },
  latency: { View: lazy(() => import('../views/latency')), strip: false },
  blame: { View: lazy(() => import('../views/blame')), strip: true },
  platform: { View: lazy(() => import('../views/platform')), strip: false },
  tasks: { View: lazy(() => import('../views/tasks')), strip: true },
  source: { View: lazy(() => import('../views/source')), strip: false },
  findings: { View: lazy(() => import('../views/findings')), strip: true },
  log: { View: lazy(() => import('../views/log')), strip: false },
  compare: { View: lazy(() => import('../views/compare')), strip: false },
  calls: { View: lazy(() => import('../views/anatomy/calls')), strip: false },
  functions: { View: lazy(() => import('../views/anatomy/functions')), strip: false },
  phases: { View: lazy(() => import('../views/anatomy/phases')), strip: false },
  packets: { View: lazy(() => import('../views/anatomy/packets')), strip: false },
  buffers: { View: lazy(() => import('../views/anatomy/buffers')), strip: false },
  machines: { View: lazy(() => import('../views/anatomy/machines')), strip: false },
};
