import { describe, expect, test } from 'vitest';
import type { Bands, Info, IntervalInfo } from '../../src/api/types';
import { palette, type State } from '../../src/base/palette';
import { describeInterval } from '../../src/logic/timeline/describe';
import { showRange, wholeNs, xOf } from '../../src/logic/timeline/viewport';
import { fromHash } from '../../src/state/url';
import { ask, type Screen, skipped, useScreen } from './screen';

const LABELS = 190;

/** The place of the timeline's time on the screen. */
async function place(screen: Screen): Promise<{ x: number; y: number; width: number; height: number }> {
  const box = await screen.page.locator('.tl-pointer').boundingBox();
  if (!box) throw new Error('no timeline');
  return box;
}

const BANDS = '.tl-layer:not(.tl-pointer)';

/** The colour of the bands at a place, as `#rrggbb`. */
function colorAt(screen: Screen, x: number, y: number): Promise<string> {
  return screen.page.evaluate(
    ([selector, left, top]) => {
      const canvas = document.querySelector<HTMLCanvasElement>(selector);
      const ratio = (canvas?.width ?? 1) / (canvas?.clientWidth ?? 1);
      const data = canvas?.getContext('2d')?.getImageData(Math.floor(left * ratio), Math.floor(top * ratio), 1, 1).data;
      return `#${[...(data ?? [])]
        .slice(0, 3)
        .map((byte) => byte.toString(16).padStart(2, '0'))
        .join('')}`;
    },
    [BANDS, x, y] as const,
  );
}

/** The longest waits of the recording, each with its place in the list of bands. */
async function longWaits(): Promise<{ interval: IntervalInfo; row: number }[]> {
  const { elapsed_ns: elapsed } = await ask<Info>('r000th', 'info');
  const { bands } = await ask<Bands>('r000th', 'bands?by=thread');
  const found: { interval: IntervalInfo; row: number }[] = [];
  for (const [row, { id, start_ns: start, end_ns: end }] of bands.entries()) {
    for (const part of [0.3, 0.5, 0.7]) {
      const at = Math.floor(start + (Math.min(end, elapsed) - start) * part);
      if (at >= Math.min(end, elapsed)) continue;
      const interval = await ask<IntervalInfo>('r000th', `interval?thread=${id}&at=${at}`);
      if (interval.wait_ns > 0) found.push({ interval, row });
    }
  }
  return found.sort((a, b) => b.interval.wait_ns - a.interval.wait_ns);
}

/** Waits until the pointer's action takes effect, and then until the page is final. */
async function settled(screen: Screen): Promise<void> {
  for (let frame = 0; frame < 3; frame += 1) {
    await screen.page.evaluate(() => new Promise((done) => requestAnimationFrame(done)));
  }
  await screen.idle();
}

describe.skipIf(skipped)('timeline', () => {
  const screen = useScreen();
  const zoom = () => fromHash(screen().hash).zoom;

  test('shows at each place what the thread did there', async () => {
    await screen().open('r=r000th&tab=platform');
    const [first] = await longWaits();
    if (!first) throw new Error('the sample waits');
    const { interval, row } = first;
    const { elapsed_ns: elapsed } = await ask<Info>('r000th', 'info');
    const view = showRange({ from: interval.start_ns, to: interval.end_ns }, elapsed, 2);
    await screen().open(`r=r000th&tab=platform&zoom=${wholeNs(view).from}-${wholeNs(view).to}`);
    const shown = zoom() ?? view;
    const { bands } = await ask<Bands>('r000th', 'bands?by=thread');
    const life = bands.find(({ id }) => id === interval.thread);
    const box = await place(screen());
    const seen = new Set<string>();
    for (let x = 20; x < box.width; x += 40) {
      const at = Math.floor(shown.from + ((x + 0.5) / box.width) * (shown.to - shown.from));
      if (at < (life?.start_ns ?? 0) || at >= (life?.end_ns ?? 0)) continue;
      const there = await ask<IntervalInfo>('r000th', `interval?thread=${interval.thread}&at=${at}`);
      const px = (shown.to - shown.from) / box.width;
      // Wide enough to fill a pixel, and not hatched.
      const blocked = there.start_ns + there.wait_ns;
      const isPlain = !['spin', 'overhead'].includes(there.state);
      const inside = at - there.start_ns > 3 * px && there.end_ns - at > 3 * px && Math.abs(at - blocked) > 3 * px;
      if (!isPlain || !inside) continue;
      expect(await colorAt(screen(), x, row * 20 + 8), `${there.state} at ${at}`).toBe(
        palette('light').state[there.state as State],
      );
      seen.add(there.state);
    }
    expect(seen.size).toBeGreaterThan(0);
  });

  test('the wheel zooms about the pointer, and the step can be undone', async () => {
    await screen().open('r=r000th&tab=platform');
    const { page } = screen();
    const { elapsed_ns: elapsed } = await ask<Info>('r000th', 'info');
    const box = await place(screen());
    const before = await page.locator(BANDS).screenshot();
    // The pointer is at whole pixels.
    const x = Math.round(box.width * 0.3);
    const time = (x / box.width) * elapsed;
    await page.mouse.move(box.x + x, box.y + 30);
    for (let turn = 0; turn < 5; turn += 1) await page.mouse.wheel(0, -120);
    await settled(screen());
    const view = zoom();
    if (!view) throw new Error('no zoom in the link');
    expect(view.to - view.from).toBeLessThan(elapsed / 3);
    expect(Math.abs(xOf(time, view, box.width) - x)).toBeLessThan(1);
    expect(Buffer.compare(before, await page.locator(BANDS).screenshot())).not.toBe(0);
    await page.mouse.wheel(0, 120 * 40);
    await settled(screen());
    expect(zoom()).toBeNull();
    await screen().press('[');
    expect(zoom()).toEqual(view);
    await page.keyboard.down('Shift');
    await page.mouse.wheel(0, 200);
    await page.keyboard.up('Shift');
    await settled(screen());
    const panned = zoom();
    expect(panned && panned.to - panned.from).toBeCloseTo(view.to - view.from, -1);
    expect(panned?.from).toBeGreaterThan(view.from);
  });

  test('a dragged range filters every view', async () => {
    await screen().open('r=r000th&tab=platform');
    const { page } = screen();
    const { elapsed_ns: elapsed } = await ask<Info>('r000th', 'info');
    const box = await place(screen());
    await page.mouse.move(box.x + box.width * 0.25, box.y + 30);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.5, box.y + 50, { steps: 4 });
    await page.mouse.up();
    await settled(screen());
    const choices = await page.getByRole('toolbar').getByRole('button').allInnerTexts();
    expect(choices.length).toBe(5);
    expect(choices).toContain('Explain the Selection');
    await page.getByRole('button', { name: /Filter In by Selection/ }).click();
    await screen().idle();
    const { range, zoom: shown, mark } = fromHash(screen().hash);
    if (!range) throw new Error('no range in the link');
    expect([shown, mark]).toEqual([range, null]);
    expect(range.from / elapsed).toBeCloseTo(0.25, 2);
    expect(range.to / elapsed).toBeCloseTo(0.5, 2);
    expect(await screen().text('.filter-bar output')).toMatch(/% is shown/);
    for (const tab of ['bottom-up', 'objects', 'top-down']) {
      await screen().open(`r=r000th&tab=${tab}`);
      const all = await screen().page.getByRole('main').innerText();
      await screen().open(`r=r000th&tab=${tab}&range=${range.from}-${range.to}`);
      expect(await screen().page.getByRole('main').innerText(), tab).not.toBe(all);
    }
  });

  test('hovering tells what the server knows of the interval', async () => {
    await screen().open('r=r000th&tab=platform');
    const [first] = await longWaits();
    if (!first) throw new Error('the sample waits');
    const { interval, row } = first;
    const { elapsed_ns: elapsed } = await ask<Info>('r000th', 'info');
    const view = showRange({ from: interval.start_ns, to: interval.end_ns }, elapsed, 0.1);
    await screen().open(`r=r000th&tab=platform&zoom=${wholeNs(view).from}-${wholeNs(view).to}`);
    const box = await place(screen());
    const x = xOf(interval.start_ns + interval.wait_ns / 2, zoom() ?? view, box.width);
    await screen().page.mouse.move(box.x + x, box.y + row * 20 + 8);
    await settled(screen());
    const expected = await ask<IntervalInfo>(
      'r000th',
      `interval?thread=${interval.thread}&at=${Math.floor(interval.start_ns + interval.wait_ns / 2)}`,
    );
    expect(await screen().text('.tl-hover')).toContain(describeInterval(expected));
    expect(describeInterval(expected)).toContain(expected.object);
    await screen().page.mouse.click(box.x + x, box.y + row * 20 + 8);
    await settled(screen());
    const detail = await screen().text('.tl-detail');
    for (const { function: name } of expected.stack) expect(detail).toContain(name);
    expect(detail).toContain(expected.waker);
    expect(fromHash(screen().hash).object).toBe(expected.object);
    expect(await screen().faults()).toEqual([]);
  });

  test('a link restores the timeline', async () => {
    await screen().open('r=r000th&tab=platform');
    const { bands } = await ask<Bands>('r000th', 'bands?by=thread');
    const [first, second, third] = bands;
    if (!first || !second || !third) throw new Error('three threads');
    const at = Math.floor((third.start_ns + third.end_ns) / 2);
    const hash = `r=r000th&tab=platform&zoom=1000-90000000&at=${third.id}@${at}&pin=${third.id}&hide=${first.id}&open=${second.id}&off=idle`;
    await screen().open(hash);
    const labels = await screen().page.locator('.tl-labels .tl-name').allInnerTexts();
    expect(labels[0]).toContain(third.label);
    expect(labels.some((label) => label.includes(first.label))).toBe(false);
    expect(await screen().page.getByRole('button', { name: 'Idle wait' }).getAttribute('aria-pressed')).toBe('false');
    expect(await screen().text('.tl-detail')).toContain(third.label);
    const heights = await screen()
      .page.locator('.tl-labels .tl-label')
      .evaluateAll((all) => all.map((one) => (one as HTMLElement).offsetHeight));
    expect(Math.max(...heights)).toBe(40);
    // The other views follow the picked interval's object.
    const { object } = fromHash(screen().hash);
    expect(fromHash(screen().hash)).toEqual({ ...fromHash(hash), object });
  });

  test('works with the keyboard only', async () => {
    await screen().open('r=r000th&tab=platform');
    const { page } = screen();
    for (let stop = 0; stop < 60; stop += 1) {
      await page.keyboard.press('Tab');
      if (await page.evaluate(() => document.activeElement?.getAttribute('role') === 'grid')) break;
    }
    const names = await page.locator('.tl-labels .tl-name').allInnerTexts();
    await screen().press('ArrowDown', 'ArrowDown', 'p');
    expect((await page.locator('.tl-labels .tl-name').allInnerTexts())[0]).toBe(names[2]);
    await screen().press('w', 'w', 'w');
    const near = zoom();
    expect(near).not.toBeNull();
    await screen().press('ArrowRight', 'd');
    expect(zoom()?.from).toBeGreaterThan(near?.from ?? 0);
    await screen().press('Home');
    expect(zoom()?.from).toBe(0);
    // In the middle of the collection every thread is alive, even after a slow start.
    await screen().press('0', 'ArrowUp', 'ArrowUp', 'Enter');
    const picked = fromHash(screen().hash).picked;
    expect(picked).not.toBeNull();
    await screen().press('n');
    expect(fromHash(screen().hash).picked?.at).toBeGreaterThan(picked?.at ?? 0);
    await screen().press('z');
    const interval = await ask<IntervalInfo>(
      'r000th',
      `interval?thread=${picked?.thread}&at=${fromHash(screen().hash).picked?.at}`,
    );
    expect(zoom()?.from).toBeLessThanOrEqual(interval.start_ns);
    expect(zoom()?.to).toBeGreaterThanOrEqual(Math.min(interval.end_ns, interval.start_ns + 10));
    await screen().press('0', 'Escape');
    expect(zoom()).toBeNull();
    expect(fromHash(screen().hash).picked).toBeNull();
  });

  test.each(['process', 'object', 'cpu'])('has bands by %s', async (by) => {
    await screen().open(`r=r000th&tab=platform&bands=${by}`);
    const { bands } = await ask<Bands>('r000th', `bands?by=${by}`);
    const labels = await screen().page.locator('.tl-labels .tl-name').allInnerTexts();
    expect(labels).toEqual(bands.slice(0, labels.length).map(({ label }) => label));
    expect(labels.length).toBeGreaterThan(0);
    expect(await screen().faults()).toEqual([]);
  });

  test('the search and the legend narrow it down', async () => {
    await screen().open('r=r000th&tab=platform');
    const all = await screen().page.locator('.tl-labels .tl-label').count();
    const box = await place(screen());
    const before = await screen().page.locator(BANDS).screenshot();
    for (const name of ['Lock wait', 'Running', 'Condition wait', 'Idle wait', 'Preempted']) {
      await screen().page.getByRole('button', { name, exact: true }).click();
    }
    await screen().idle();
    expect(Buffer.compare(before, await screen().page.locator(BANDS).screenshot())).not.toBe(0);
    await screen().press('/');
    await screen().page.keyboard.type('no such thread');
    await screen().page.waitForFunction(() => document.querySelectorAll('.tl-labels .tl-label').length === 0);
    await screen().page.getByText('No thread matches “no such thread”.').waitFor();
    await screen().page.getByRole('button', { name: 'Clear the search' }).click();
    await screen().idle();
    expect(await screen().page.locator('.tl-labels .tl-label').count()).toBe(all);
    expect(box.x).toBeGreaterThan(LABELS - 1);
  });

  test('the strip below another view selects time, too', async () => {
    await screen().open('r=r000th&tab=bottom-up');
    const { page } = screen();
    const box = await place(screen());
    await page.mouse.move(box.x + box.width * 0.4, box.y + 10);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.6, box.y + 10, { steps: 3 });
    await page.mouse.up();
    await screen().press('f');
    const { elapsed_ns: elapsed } = await ask<Info>('r000th', 'info');
    const { range } = fromHash(screen().hash);
    expect(range && (range.to - range.from) / elapsed).toBeCloseTo(0.2, 2);
    expect(await screen().faults()).toEqual([]);
  });
});
