import { describe, expect, test } from 'vitest';
import type { Answers, Bands, Info } from '../../src/api/types';
import { fromHash } from '../../src/state/url';
import { ask, type Screen, skipped, useScreen } from './screen';

type Chain = Answers['chain'];

/** A wait for a lock with a chain of at least two threads, or as many as there are. */
async function explained(): Promise<{ chain: Chain; info: Info }> {
  const info = await ask<Info>('r000th', 'info');
  const { bands } = await ask<Bands>('r000th', 'bands?by=thread');
  let best: Chain | null = null;
  for (const { id, start_ns: start, end_ns: end } of bands) {
    for (let part = 0.1; part < 1; part += 0.1) {
      const at = Math.floor(start + (Math.min(end, info.elapsed_ns - 1) - start) * part);
      const chain = await ask<Chain>('r000th', `chain?thread=${id}&at=${at}`);
      if (threadsOf(chain) > threadsOf(best)) best = chain;
    }
  }
  if (!best || threadsOf(best) < 2) throw new Error('the threads of the sample wait for one another');
  return { chain: best, info };
}

const threadsOf = (chain: Chain | null) => new Set(chain?.pieces.map(({ thread }) => thread)).size;

/** Pixels of the layer over the bands that are drawn. */
function drawn(screen: Screen): Promise<number> {
  return screen.page.evaluate(() => {
    const canvas = document.querySelector<HTMLCanvasElement>('.tl-pointer');
    const data = canvas?.getContext('2d')?.getImageData(0, 0, canvas.width, canvas.height).data ?? [];
    let count = 0;
    for (let at = 3; at < data.length; at += 4) count += Number((data[at] ?? 0) > 0);
    return count;
  });
}

describe.skipIf(skipped)('the chain of a wait', () => {
  const screen = useScreen();
  const view = () => fromHash(screen().hash);
  const opened = async ({ chain, info }: { chain: Chain; info: Info }) => {
    const length = chain.end_ns - chain.start_ns;
    const [from, to] = [Math.max(0, chain.start_ns - length), Math.min(info.elapsed_ns, chain.end_ns + length)];
    const zoom = to - from < info.elapsed_ns ? `&zoom=${from}-${to}` : '';
    await screen().open(`r=r000th&tab=platform&at=${chain.thread}@${chain.start_ns}${zoom}`);
  };

  test('is drawn on the bands and told in the pane, and adds up to the wait', async () => {
    const { chain, info } = await explained();
    const sum = chain.pieces.reduce((ns, { start_ns: from, end_ns: to }) => ns + to - from, chain.more_ns);
    expect(sum).toBe(chain.end_ns - chain.start_ns);
    await opened({ chain, info });
    const { page } = screen();
    const steps = page.getByRole('region', { name: 'Why it waited' }).getByRole('listitem');
    const shown = chain.pieces.length + Number(chain.more > 0) + chain.waits.length;
    expect(await steps.count()).toBe(shown);
    expect(await steps.first().innerText()).toMatch(/ (ran|was|slept|waited|collected|did|had) .* (s|ms|µs|ns)$/);
    expect(await screen().faults()).toEqual([]);
    const withChain = await drawn(screen());
    // The outline of the wait and its wake-up are drawn without the chain, too.
    await page.route('**/chain?*', (route) => route.fulfill({ json: { ...chain, pieces: [], waits: [] } }));
    await opened({ chain, info });
    expect(await page.getByRole('region', { name: 'Why it waited' }).count()).toBe(0);
    expect(withChain).toBeGreaterThan(await drawn(screen()));
  });

  test('leads to what another thread did then, by the keyboard, and Back returns', async () => {
    const { chain, info } = await explained();
    await opened({ chain, info });
    const before = view();
    const at = chain.pieces.findIndex(({ thread }) => thread !== chain.thread);
    const piece = chain.pieces[at];
    if (!piece) throw new Error('another thread is in the chain');
    const { page } = screen();
    const links = page.getByRole('region', { name: 'Why it waited' }).getByRole('button');
    await links.nth(at).focus();
    await screen().press('Enter');
    expect(view().picked).toEqual({ thread: piece.thread, at: piece.start_ns });
    const name = info.threads.find(({ id }) => id === piece.thread)?.name ?? '';
    expect(await screen().text('.tl-chosen .tl-name')).toContain(name);
    await page.goBack();
    await screen().idle();
    expect(view()).toEqual(before);
    expect(await links.count()).toBeGreaterThan(0);
  });
});
