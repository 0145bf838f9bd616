// Instruction traces: the numbers of the command line, zooming and clicking the chart, and a link that restores the view.

import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { count, percent, real } from '../../src/base/units';
import { fromHash } from '../../src/state/url';
import { served, skipped, useScreen } from './screen';

type Row = Record<string, unknown>;

/** The command line's output for the trace. */
function rows(report: string, ...options: string[]): Row[] {
  const trace = join(served.folder, served.trace);
  const all = ['anatomy', 'report', report, trace, '--format', 'json', '--limit', '100000000', ...options];
  const text = execFileSync(served.dwell, all, { maxBuffer: 256 << 20, stdio: ['ignore', 'pipe', 'ignore'] });
  return (JSON.parse(text.toString()) as { rows: Row[] }).rows;
}

describe.skipIf(skipped || served.trace === '')('anatomy', () => {
  const screen = useScreen();
  const open = (rest: string) => screen().open(`r=${served.trace}&${rest}`);

  test('functions and phases are those of the command line, on another machine too', async () => {
    for (const machine of ['', 'zen5']) {
      const expected = rows('hotspots', ...(machine ? ['--machine', machine] : []));
      await open(`tab=functions&machine=${machine}`);
      const shown = await screen().rows('Functions');
      expect(shown.length).toBeGreaterThan(5);
      for (const [at, cells] of shown.entries()) {
        const row = expected[at] ?? {};
        expect(cells.slice(0, 2)).toEqual([row.function, row.module]);
        expect(cells[2], String(row.function)).toBe(percent(Number(row.cycles_share)));
        expect(cells[4]).toBe(real(Number(row.cpi)));
      }
    }
    const phases = rows('phases', '--machine', 'zen5');
    const names = await screen()
      .page.locator('.phase')
      .evaluateAll((buttons) => buttons.map((button) => button.getAttribute('aria-label')));
    expect(names).toEqual(phases.map((row) => `${row.phase} ${percent(Number(row.cycles_share))}`));
    expect(await screen().faults()).toEqual([]);
  });

  test('a click on a function leads to its calls, from there to one and its instructions', async () => {
    const [first] = rows('hotspots');
    const name = String(first?.function);
    const calls = rows('trace').filter((row) => row.function === name && row.module === first?.module);
    await open('tab=calls');
    await screen().page.getByRole('treegrid', { name: 'Functions' }).getByText(name, { exact: true }).first().click();
    await screen().idle();
    expect(fromHash(screen().hash).function).toBe(name);
    await screen().page.getByRole('button', { name: 'The longest call of this function' }).click();
    await screen().idle();
    const { call, zoom } = fromHash(screen().hash);
    const longest = calls.reduce((most, row) => (Number(row.call_cycles) > Number(most.call_cycles) ? row : most));
    const picked = calls.find((row) => row.call === call) ?? {};
    expect(picked.call_cycles).toBe(longest.call_cycles);
    expect(zoom).not.toBeNull();
    expect(await screen().text('[data-figure=cycles] dd')).toBe(count(Number(picked.call_cycles)));
    expect(await screen().text('[data-figure=instructions] dd')).toBe(count(Number(picked.call_instructions)));
    const instructions = rows('instructions', '--call', String(call)).filter((row) => row.function === name);
    const shown = await screen().rows('Instructions');
    expect(shown.length).toBeGreaterThan(0);
    for (const [at, cells] of shown.entries()) {
      expect(cells.slice(0, 2)).toEqual([instructions[at]?.address, instructions[at]?.instruction]);
    }
    expect(await screen().faults()).toEqual([]);
  });

  test('zoom by wheel and keyboard; a link shows the same part again', async () => {
    await open('tab=calls');
    const chart = screen().page.getByRole('group', { name: 'Calls over the clock' });
    const box = await chart.boundingBox();
    await screen().page.mouse.move((box?.x ?? 0) + 400, (box?.y ?? 0) + 10);
    await screen().page.mouse.wheel(0, -600);
    await screen().page.waitForFunction(() => location.hash.includes('zoom='));
    await screen().idle();
    const near = fromHash(screen().hash).zoom;
    await screen().press('s');
    await screen().page.waitForFunction((old) => !location.hash.includes(old), `zoom=${near?.from}-${near?.to}`);
    await screen().idle();
    const wide = fromHash(screen().hash).zoom;
    expect(wide && near && wide.to - wide.from > near.to - near.from).toBe(true);
    await screen().page.locator('.phase').first().click();
    await screen().idle();
    const hash = screen().hash;
    const pointed = async () => {
      await screen().page.mouse.move((box?.x ?? 0) + 300, (box?.y ?? 0) + 10);
      await screen().page.mouse.move((box?.x ?? 0) + 400, (box?.y ?? 0) + 10);
      return screen().text('.flame-details strong');
    };
    const name = await pointed();
    await screen().open(hash.slice(1));
    expect(screen().hash).toBe(hash);
    expect(await pointed()).toBe(name);
    expect(await screen().page.locator('.phase[aria-pressed=true]').count()).toBe(1);
    await screen().press('0');
    await screen().page.waitForFunction(() => !location.hash.includes('zoom='));
  });

  test('the keyboard goes from call to call', async () => {
    await open('tab=calls');
    await screen().page.getByRole('group', { name: 'Calls over the clock' }).focus();
    await screen().press('ArrowDown');
    const first = fromHash(screen().hash).call;
    await screen().press('ArrowDown');
    const second = fromHash(screen().hash).call;
    expect(first !== null && second !== null && second !== first).toBe(true);
    await screen().press('ArrowUp');
    expect(fromHash(screen().hash).call).toBe(first);
  });

  test('two machines side by side, and screens that this trace has nothing for', async () => {
    await open('tab=machines&second=zen5');
    const shown = await screen().rows('Machines');
    const [all] = rows('phases').length > 0 ? shown : [];
    expect(all?.[0]).toBe('(all)');
    expect(await screen().faults()).toEqual([]);
    for (const tab of ['packets', 'buffers', 'phases']) {
      await open(`tab=${tab}`);
      expect(await screen().faults(), tab).toEqual([]);
    }
  });
});
