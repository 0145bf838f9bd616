// Colours, one table for both themes: the style sheet's variables and the canvases use it. Colours mean state and
// nothing else; the hues are distinct with any colour-vision deficiency (after Okabe and Ito) and differ in lightness too.

export const THEMES = ['dark', 'light'] as const;
export type Theme = (typeof THEMES)[number];

/** States of a thread, in the words of the timeline's tiles. */
export const STATES = [
  'running',
  'spin',
  'overhead',
  'lock',
  'condition',
  'idle',
  'socket',
  'io',
  'sleep',
  'other-wait',
  'preempted',
  'starting',
  'absent',
  'paused',
] as const;
export type State = (typeof STATES)[number];

/** Classes of the CPU utilization. */
export const CLASSES = ['idle', 'poor', 'ok', 'ideal', 'over'] as const;
export type Class = (typeof CLASSES)[number];

/** Causes of waits on sockets, in the order of a legend: TCP's holds, the other end, buffers and windows, the network. */
export const CAUSES = [
  'delayed-ack',
  'nagle',
  'cork',
  'peer-running',
  'peer-runnable',
  'peer-waiting',
  'peer',
  'receive-window',
  'send-buffer',
  'congestion-window',
  'retransmission',
  'connect',
  'accept',
  'round-trip',
  'idle',
  'unexplained',
] as const;
export type Cause = (typeof CAUSES)[number];

/** Causes of a thread's delay, and running, in the order of a legend. */
export const DELAYS = [
  'preemption',
  'kernel-work',
  'migration',
  'throttling',
  'run-queue',
  'idle-exit',
  'timer',
  'interrupt',
  'soft-interrupt',
  'ipi',
  'tlb-shootdown',
  'minor-fault',
  'major-fault',
  'reclaim',
  'compaction',
  'system-call',
  'signal',
  'stopped',
  'lock',
  'wait',
  'block-io',
  'sleep',
  'garbage-collection',
  'steal',
  'frequency',
  'spin',
  'running',
] as const;
export type Delay = (typeof DELAYS)[number];

const GROUND = {
  dark: {
    ground: '#15171b',
    panel: '#1b1e23',
    raised: '#24282f',
    line: '#2f343c',
    'line-strong': '#474e59',
    text: '#dcdfe4',
    faint: '#9aa2ae',
    accent: '#6cb6ff',
    selection: '#283749',
    hover: '#22262d',
    warning: '#f0b429',
    'warning-ground': '#3a2e12',
    bad: '#ff8a6b',
    bar: '#3d6f9c',
    skeleton: '#2a2e35',
  },
  light: {
    ground: '#ffffff',
    panel: '#f7f8f9',
    raised: '#eceef1',
    line: '#dde0e4',
    'line-strong': '#b4bac3',
    text: '#1c2026',
    faint: '#5a626e',
    accent: '#0b62b8',
    selection: '#d5e6f8',
    hover: '#f0f3f6',
    warning: '#8a5a00',
    'warning-ground': '#fff3d1',
    bad: '#b3330b',
    bar: '#9cc3e6',
    skeleton: '#e6e8ec',
  },
} as const;

const STATE_COLORS: Record<Theme, Record<State, string>> = {
  dark: {
    running: '#1fa187',
    spin: '#e5484d',
    overhead: '#c26a6d',
    lock: '#e8692c',
    condition: '#7c7460',
    idle: '#3c424b',
    socket: '#4a93d9',
    io: '#a678d8',
    sleep: '#6b727d',
    'other-wait': '#93806f',
    preempted: '#f0b429',
    starting: '#59616d',
    absent: 'transparent',
    paused: '#2c3138',
  },
  light: {
    running: '#0f8f77',
    spin: '#cf222e',
    overhead: '#c4686c',
    lock: '#d55e00',
    condition: '#d8cfb4',
    idle: '#e4e6ea',
    socket: '#2f7fc9',
    io: '#8e5bc4',
    sleep: '#a9b0ba',
    'other-wait': '#b8a492',
    preempted: '#e6a100',
    starting: '#c6ccd4',
    absent: 'transparent',
    paused: '#eceef1',
  },
};

const CLASS_COLORS: Record<Theme, Record<Class, string>> = {
  dark: { idle: '#7d848e', poor: '#e5532d', ok: '#e0a526', ideal: '#1fa187', over: '#4a93d9' },
  light: { idle: '#9aa1ab', poor: '#d5421b', ok: '#e39a00', ideal: '#0f8f77', over: '#2f7fc9' },
};

const CAUSE_COLORS: Record<Theme, Record<Cause | Delay, string>> = {
  dark: {
    'delayed-ack': '#e8692c',
    nagle: '#f2a06e',
    cork: '#a8542c',
    'peer-running': '#1fa187',
    'peer-runnable': '#f0b429',
    'peer-waiting': '#8fbf9f',
    peer: '#5c8f86',
    'receive-window': '#a678d8',
    'send-buffer': '#cfb0ee',
    'congestion-window': '#7450a3',
    retransmission: '#e5484d',
    connect: '#93806f',
    accept: '#6b727d',
    'round-trip': '#4a93d9',
    idle: '#3c424b',
    unexplained: '#9aa2ae',
    preemption: '#f0b429',
    'kernel-work': '#c98a1b',
    migration: '#f7d57a',
    throttling: '#8a6a2a',
    'run-queue': '#ffe28a',
    'idle-exit': '#8fa3a8',
    timer: '#b58cf0',
    interrupt: '#8f63d6',
    'soft-interrupt': '#d3b8f7',
    ipi: '#6a4fb0',
    'tlb-shootdown': '#c86fb4',
    'minor-fault': '#5fb3c8',
    'major-fault': '#2f7f96',
    reclaim: '#d9739a',
    compaction: '#a84d72',
    'system-call': '#4a93d9',
    signal: '#5ad1c2',
    stopped: '#6b727d',
    lock: '#e8692c',
    wait: '#93806f',
    'block-io': '#a678d8',
    sleep: '#59616d',
    'garbage-collection': '#9acd4f',
    steal: '#e5484d',
    frequency: '#b5a642',
    spin: '#c26a6d',
    running: '#1fa187',
  },
  light: {
    'delayed-ack': '#d55e00',
    nagle: '#f0a468',
    cork: '#8f4a1c',
    'peer-running': '#0f8f77',
    'peer-runnable': '#e6a100',
    'peer-waiting': '#9ccbb4',
    peer: '#4f8a80',
    'receive-window': '#8e5bc4',
    'send-buffer': '#c5a6e6',
    'congestion-window': '#5f3b92',
    retransmission: '#cf222e',
    connect: '#b8a492',
    accept: '#a9b0ba',
    'round-trip': '#2f7fc9',
    idle: '#dcdfe4',
    unexplained: '#7c8490',
    preemption: '#e6a100',
    'kernel-work': '#b87a00',
    migration: '#f0c75a',
    throttling: '#7d5c1a',
    'run-queue': '#f5d76e',
    'idle-exit': '#7f979d',
    timer: '#9a6fdc',
    interrupt: '#7a4ec0',
    'soft-interrupt': '#bfa0e8',
    ipi: '#563c99',
    'tlb-shootdown': '#b0559c',
    'minor-fault': '#3f9ab2',
    'major-fault': '#1f6a80',
    reclaim: '#c75a85',
    compaction: '#933c60',
    'system-call': '#2f7fc9',
    signal: '#2fae9f',
    stopped: '#a9b0ba',
    lock: '#d55e00',
    wait: '#b8a492',
    'block-io': '#8e5bc4',
    sleep: '#c6ccd4',
    'garbage-collection': '#7fae35',
    steal: '#cf222e',
    frequency: '#94872b',
    spin: '#c4686c',
    running: '#0f8f77',
  },
};

/** The colour of a cause as CSS; an unknown cause gets that of a plain bar. */
export function causeColor(id: string): string {
  return [...CAUSES, ...DELAYS].some((known) => known === id) ? `var(--cause-${id})` : 'var(--bar)';
}

export type Ground = keyof (typeof GROUND)['dark'];

/** The colours of one theme, for canvases. */
export interface Palette {
  theme: Theme;
  ground: Record<Ground, string>;
  state: Record<State, string>;
  class: Record<Class, string>;
}

export function palette(theme: Theme): Palette {
  return { theme, ground: GROUND[theme], state: STATE_COLORS[theme], class: CLASS_COLORS[theme] };
}

/** The style sheet's variables: `--text`, `--state-lock`, `--class-poor`, … */
export function variables(theme: Theme): [name: string, color: string][] {
  const { ground, state, class: classes } = palette(theme);
  const causes = Object.entries(CAUSE_COLORS[theme]);
  return [
    ...Object.entries(ground).map(([name, color]): [string, string] => [`--${name}`, color]),
    ...Object.entries(state).map(([name, color]): [string, string] => [`--state-${name}`, color]),
    ...Object.entries(classes).map(([name, color]): [string, string] => [`--class-${name}`, color]),
    ...causes.map(([name, color]): [string, string] => [`--cause-${name}`, color]),
  ];
}
