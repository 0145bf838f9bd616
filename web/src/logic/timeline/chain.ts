// The chain that explains a wait: what each piece says, and how one leads to the next on the bands.

import type { IntervalInfo, WaitChain } from '../../api/types';
import type { Arrow } from './arrows';

export type ChainPiece = WaitChain['pieces'][number];

/** The chain, if it explains this wait. */
export function chainOf(chain: WaitChain | null | undefined, interval: IntervalInfo | null): WaitChain | null {
  if (!chain || !interval || chain.pieces.length === 0 || chain.thread !== interval.thread) return null;
  return interval.start_ns <= chain.start_ns && chain.start_ns < interval.end_ns ? chain : null;
}

/** From each piece to the next one that is shown at another thread, and from the last one to the thread that waited. */
export function chainArrows(chain: WaitChain, ranNs: number): Arrow[] {
  const { pieces, thread } = chain;
  return pieces.flatMap((piece, at) => {
    const next = pieces[at + 1] ?? { thread, start_ns: ranNs };
    if (next.thread === piece.thread) return [];
    return [{ waker: piece.thread, woken: next.thread, time_ns: piece.end_ns, run_ns: next.start_ns, object: '' }];
  });
}
