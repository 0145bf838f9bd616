// A synthetic result with the answers of the server, to look at the timeline and to measure it without a recording: any
// number of threads that run, wait and are preempted, each in its own rhythm, at any time.

import type { Bands, Charts, Info, IntervalInfo, TileHeader } from '../../src/api/types';
import { STATES } from '../../src/base/palette';

export interface Shape {
  threads: number;
  elapsedNs: number;
  /** Mean time between the events of a thread, ns. */
  periodNs: number;
}

const CYCLE = [
  'running',
  'lock',
  'preempted',
  'running',
  'socket',
  'running',
  'idle',
  'spin',
  'io',
  'condition',
  'sleep',
];

/** A random number, the same for the same event. */
function noise(a: number, b: number): number {
  let hash =
    Math.imul(a ^ 0x9e3779b9, 0x85ebca6b) ^
    Math.imul(b | 0, 0xc2b2ae35) ^
    Math.imul(Math.floor(b / 2 ** 32), 0x27d4eb2f);
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  hash = Math.imul(hash ^ (hash >>> 12), 0x297a2d39);
  return ((hash ^ (hash >>> 15)) >>> 0) / 2 ** 32;
}

function rhythm({ periodNs }: Shape, thread: number): number {
  return Math.round(periodNs * (0.4 + 1.2 * noise(thread, 7)));
}

/** Event `index` of a thread; it begins within its own cell of time, so that finding any event takes one step. */
function event(shape: Shape, thread: number, index: number) {
  const cell = rhythm(shape, thread);
  const start = index === 0 ? 0 : Math.round((index + 0.7 * noise(thread, index)) * cell);
  const end = Math.round((index + 1 + 0.7 * noise(thread, index + 1)) * cell);
  const busy = noise(thread, 99) < 0.4 ? 0 : 1;
  const state = CYCLE[Math.floor(noise(thread + 1000, index) * (busy ? CYCLE.length : 4))] ?? 'running';
  return { start, end, state };
}

function indexAt(shape: Shape, thread: number, time: number): number {
  let index = Math.max(0, Math.floor(time / rhythm(shape, thread)) - 2);
  while (event(shape, thread, index).end <= time) index += 1;
  return index;
}

export function info(shape: Shape): Info {
  const threads = Array.from({ length: shape.threads }, (_, id) => ({
    id,
    tid: 4000 + id,
    pid: 4000,
    name: id === 0 ? 'main' : `worker ${id}`,
    process: 'synthetic',
    start_ns: 0,
    end_ns: shape.elapsedNs,
    running_ns: shape.elapsedNs / 3,
    runnable_ns: shape.elapsedNs / 20,
    waiting_ns: shape.elapsedNs / 2,
    waits: 1000,
    switches: 2000,
  }));
  const nothing = {
    manifest: {},
    metrics: [],
    levels: [],
    filter_keys: [],
    reports: [],
    losses: [],
    notices: [],
    task_types: [],
  };
  return { ...nothing, elapsed_ns: shape.elapsedNs, cpus: 8, target_concurrency: 8, threads, counters: 0 };
}

export function bands(shape: Shape): Bands {
  const band = ({ id, tid, name, process, start_ns, end_ns }: Info['threads'][number]) => ({
    id,
    label: `${name} (${tid})`,
    process,
    start_ns,
    end_ns,
    lanes: 0,
    values: { cpu_ns: shape.elapsedNs / 3, wait_ns: shape.elapsedNs / 2 },
  });
  return { bands: info(shape).threads.map(band) };
}

interface Segment {
  start: number;
  end: number;
  state: number;
  flags: number;
}

function segments(shape: Shape, thread: number, from: number, to: number, width: number): Segment[] {
  const px = (to - from) / width;
  if (rhythm(shape, thread) < px * 2) return merged(shape, thread, from, to, px);
  const found: Segment[] = [];
  for (let index = indexAt(shape, thread, from); ; index += 1) {
    const { start, end, state } = event(shape, thread, index);
    if (start >= to) return found;
    const flags = start < from || end > to ? 2 : 0;
    found.push({ start: Math.max(start, from), end: Math.min(end, to), state: STATES.indexOf(state as 'io'), flags });
  }
}

/** One event stands for all that share a pixel. */
function merged(shape: Shape, thread: number, from: number, to: number, px: number): Segment[] {
  const found: Segment[] = [];
  for (let start = from; start < to; start += px) {
    const { state } = event(shape, thread, indexAt(shape, thread, start));
    found.push({ start, end: Math.min(start + px, to), state: STATES.indexOf(state as 'io'), flags: 1 });
  }
  return found;
}

export function tile(shape: Shape, query: URLSearchParams): Buffer {
  const [from, to, width] = ['from', 'to', 'width'].map((name) => Number(query.get(name))) as [number, number, number];
  const ids = (query.get('bands') ?? '').split(',').filter(Boolean).map(Number);
  const drawn = ids.map((id) => ({
    id,
    segments: segments(shape, id, from, to, width),
    samples: sampleTimes(from, to, width, id),
  }));
  const exact = drawn.every((band) => band.segments.every(({ flags }) => (flags & 1) === 0));
  const sizes = drawn.map((band) => ({ id: band.id, segments: band.segments.length, samples: band.samples.length }));
  return encode({ from, to, exact, states: [...STATES], bands: sizes }, drawn);
}

/** A sample each ms, at most one a pixel. */
function sampleTimes(from: number, to: number, width: number, id: number): number[] {
  const step = Math.max(1e6, (to - from) / width);
  const times: number[] = [];
  for (let time = Math.ceil(from / step) * step; time < to; time += step) if (noise(id, time) < 0.4) times.push(time);
  return times;
}

function encode(header: TileHeader, drawn: { segments: Segment[]; samples: number[] }[]): Buffer {
  let text = JSON.stringify(header);
  while ((text.length + 4) % 8 !== 0) text += ' ';
  const head = Buffer.alloc(4);
  head.writeUInt32LE(text.length);
  const padded = (...arrays: ArrayBufferView[]) => {
    const bytes = Buffer.concat(arrays.map((array) => Buffer.from(array.buffer, array.byteOffset, array.byteLength)));
    return Buffer.concat([bytes, Buffer.alloc((8 - (bytes.length % 8)) % 8)]);
  };
  const parts = drawn.flatMap(({ segments: all, samples }) => [
    padded(
      Float64Array.from(all, ({ start }) => start),
      Float64Array.from(all, ({ end }) => end),
      Uint32Array.from(all, () => 0xffffffff),
      Uint8Array.from(all, ({ state }) => state),
      Uint8Array.from(all, ({ flags }) => flags),
    ),
    padded(
      Float64Array.from(samples),
      Uint8Array.from(samples, () => 1),
    ),
  ]);
  return Buffer.concat([head, Buffer.from(text), ...parts]);
}

export function charts(shape: Shape, query: URLSearchParams): Charts {
  const [from, to, width] = ['from', 'to', 'width'].map((name) => Number(query.get(name))) as [number, number, number];
  const level = (time: number) => 4 + 3 * Math.sin(time / (shape.elapsedNs / 9)) + noise(1, Math.floor(time / 1e6));
  const times = Array.from({ length: width }, (_, at) => from + ((at + 0.5) * (to - from)) / width);
  const series = (id: string, unit: string, max: number, scale: number) => ({
    id,
    title: id,
    unit,
    max,
    mean: times.map((time) => Math.max(0, level(time) * scale)),
    peak: times.map((time) => Math.max(0, Math.ceil(level(time)) * scale)),
  });
  const all = [
    series('cpu_usage', '%', 100, 100 / 8),
    series('running', 'threads', 8, 1),
    series('concurrency', 'threads', 12, 1.3),
  ];
  return { from, to, series: all };
}

export function interval(shape: Shape, query: URLSearchParams): IntervalInfo {
  const [thread, at] = [Number(query.get('thread')), Number(query.get('at'))];
  const { start, end, state } = event(shape, thread, indexAt(shape, thread, at));
  const waits = !['running', 'spin', 'preempted'].includes(state);
  const frame = (name: string, system = false) => {
    return {
      function: name,
      module: '/usr/bin/synthetic',
      file: 'app.c',
      line: 12,
      inlined: false,
      kernel: false,
      system,
    };
  };
  return {
    thread,
    state,
    start_ns: start,
    end_ns: end,
    wait_ns: waits ? end - start : 0,
    runnable_ns: 0,
    reason: waits ? 'waiting' : '',
    outcome: waits ? 'woken' : '',
    syscall: waits ? 'futex' : '',
    object: waits ? 'queue_lock' : '',
    object_type: waits ? 'mutex' : '',
    cpu: thread % 8,
    waker: waits ? 'worker 1 (4001)' : '',
    waker_thread: waits ? 1 : null,
    waker_kind: waits ? 'thread' : '',
    holder_thread: null,
    stack: [frame('pthread_mutex_lock', true), frame('push_event'), frame('worker'), frame('main')],
    waker_stack: waits ? [frame('pthread_mutex_unlock', true), frame('pop_event')] : [],
  };
}
