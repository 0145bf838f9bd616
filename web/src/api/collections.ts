// Collections that the page starts, with `dwell view --collect`: the only calls that change anything. What a request has stands in
// crates/server/src/collector.rs, which refuses all else.

import { fetchAnew, fetchQuietly, send } from './client';
import type {
  CollectionInfo,
  CollectionList,
  CollectionPicture,
  CollectionPlan,
  ProcessInfo,
  ResultInfo,
} from './types';

const ADDRESS = '/api/collections';

/** What is to be recorded. */
export type CollectionTarget =
  | { program: { program: string; arguments: string[]; folder: string } }
  | { processes: number[] }
  | { cgroup: string }
  | 'machine';

/** A collection that is asked for. */
export interface CollectionRequest {
  analysis: 'threading' | 'latency';
  target: CollectionTarget;
  /** 0: until the program ends, or the collection is told to. */
  duration_s: number;
  sockets: boolean;
  system: boolean;
  exact_fibers: boolean;
  start_paused: boolean;
}

export type SteeringWord = 'pause' | 'resume' | 'stop' | 'cancel' | 'mark' | 'snapshot';

export function fetchCollections(signal: AbortSignal): Promise<CollectionList> {
  return fetchQuietly(ADDRESS, signal);
}

/** What the threads of a collection do: they are looked at as long as this is asked again and again. */
export function fetchPicture(id: number, signal: AbortSignal): Promise<CollectionPicture> {
  return fetchQuietly(`${ADDRESS}/${id}/picture`, signal);
}

/** The results as they are now: collections add to them. */
export function fetchResultsAnew(signal: AbortSignal): Promise<ResultInfo[]> {
  return fetchQuietly('/api/results', signal);
}

/** All processes, those that run most first; the server looks at them for a second. */
export function fetchProcesses(signal: AbortSignal): Promise<ProcessInfo[]> {
  return fetchAnew('/api/processes', signal);
}

export function fetchPlan(request: CollectionRequest, signal: AbortSignal): Promise<CollectionPlan> {
  return send(`${ADDRESS}/plan`, request, signal);
}

export function startCollection(request: CollectionRequest): Promise<CollectionInfo> {
  return send(ADDRESS, request);
}

export function steerCollection(id: number, word: SteeringWord, text = ''): Promise<CollectionInfo> {
  return send(`${ADDRESS}/${id}/${word}`, text);
}
