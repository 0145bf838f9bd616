// Colours of the screens about instruction traces: of phases, and of the four-way split of the slots.

const PHASES: Record<string, string> = {
  user: '#1fa187',
  kernel: '#8f8577',
  idle: '#59616d',
  'soft interrupt': '#c98a1b',
  fault: '#c86fb4',
  interrupt: '#e5484d',
  timer: '#b58cf0',
  scheduler: '#f0b429',
  TCP: '#3f8fdc',
  UDP: '#5fb3c8',
  IP: '#8f63d6',
  device: '#e8692c',
  socket: '#8fbf4a',
  'system call': '#7d9bb8',
  'dynamic linker': '#a58b74',
  memory: '#d9739a',
  synchronization: '#a84d72',
};

/** Colours for phases that a user defines. */
const OTHERS = ['#2f9fae', '#b0a13c', '#c76e4b', '#6a76d8', '#5aa36b', '#b3679f'];

/** The colour of a phase; an unknown phase gets one derived from its name. */
export function phaseColor(name: string): string {
  const sum = [...name].reduce((hash, letter) => (hash * 31 + (letter.codePointAt(0) ?? 0)) >>> 0, 7);
  return PHASES[name] ?? OTHERS[sum % OTHERS.length] ?? '#888888';
}

/** The parts of the slots, in the order of a bar; `memory_bound` is a part of the back-end bound slots. */
export const SPLIT = ['retiring', 'bad_speculation', 'frontend_bound', 'core_bound', 'memory_bound'] as const;
export type SplitPart = (typeof SPLIT)[number];

export const SPLIT_COLORS: Record<SplitPart, string> = {
  retiring: '#1fa187',
  bad_speculation: '#e5484d',
  frontend_bound: '#e0a526',
  core_bound: '#8f63d6',
  memory_bound: '#3f8fdc',
};

/** Mixes two colours `#rrggbb`: `share` of the first, the rest of the second. */
export function mixed(color: string, ground: string, share: number): string {
  const parts = [1, 3, 5].map((at) => {
    const [own, other] = [color, ground].map((text) => Number.parseInt(text.slice(at, at + 2), 16));
    return Math.round((own ?? 0) * share + (other ?? 0) * (1 - share));
  });
  return `#${parts.map((part) => part.toString(16).padStart(2, '0')).join('')}`;
}
