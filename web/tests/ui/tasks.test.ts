// The program's own data: tasks on the timeline, counters below it, and their screen.

import { describe, expect, test } from 'vitest';
import type { Bands, CounterCurves, TaskInfo, TaskSpans } from '../../src/api/types';
import { duration } from '../../src/base/units';
import { fromHash } from '../../src/state/url';
import { ask, report, skipped, useScreen } from './screen';

describe.skipIf(skipped)('tasks', () => {
  const screen = useScreen();

  /** The longest visible task called `name`, its thread's row, and its place on the screen. */
  async function longest(name: string): Promise<{ task: TaskInfo; row: number; x: number; y: number }> {
    const { bands } = await ask<Bands>('r002th', 'bands?by=thread');
    const { bands: spans } = await ask<TaskSpans>('r002th', `tasks?width=2000&bands=${bands.map(({ id }) => id)}`);
    const found: { task: TaskInfo; row: number; lane: number }[] = [];
    for (const [row, band] of spans.entries()) {
      for (const [lane, { task }] of band.lanes.entries()) {
        for (const id of task.filter((known) => known !== null)) {
          const known = await ask<TaskInfo>('r002th', `task?task=${id}`);
          if (known.name === name) found.push({ task: known, row, lane });
        }
      }
    }
    const best = found.sort((a, b) => b.task.end_ns - b.task.start_ns - (a.task.end_ns - a.task.start_ns))[0];
    if (!best) throw new Error(`no task ${name}`);
    const box = await screen().page.locator('.tl-pointer').boundingBox();
    const label = await screen().page.locator('.tl-labels .tl-label').nth(best.row).boundingBox();
    const { elapsed_ns: elapsed } = await ask<{ elapsed_ns: number }>('r002th', 'info');
    const middle = (best.task.start_ns + best.task.end_ns) / 2 / elapsed;
    if (!box || !label) throw new Error('no timeline');
    return { ...best, x: box.x + middle * box.width, y: label.y + 20 + best.lane * 10 + 4 };
  }

  test('lie below the state of their thread and say what they are', async () => {
    await screen().open('r=r002th&tab=platform');
    const { task, row, x, y } = await longest('update');
    const label = screen().page.locator('.tl-labels .tl-label').nth(row);
    expect((await label.boundingBox())?.height).toBe(40);
    await screen().page.mouse.move(x, y);
    const text = `update · probe · ${duration(task.end_ns - task.start_ns)}`;
    await screen().page.locator('.tl-hover', { hasText: text }).waitFor();
    await screen().page.mouse.click(x, y);
    await screen().idle();
    const { task: picked } = fromHash(screen().hash);
    expect((await ask<TaskInfo>('r002th', `task?task=${picked}`)).start_ns).toBe(task.start_ns);
    expect(await screen().text('.tl-detail')).toContain('Inside of\npush');
    await screen().page.getByRole('button', { name: 'Tasks', exact: true }).last().click();
    await screen().idle();
    expect((await label.boundingBox())?.height).toBe(20);
    expect(await screen().faults()).toEqual([]);
  });

  test('have bands of their own', async () => {
    await screen().open('r=r002th&tab=platform&bands=task&bandsort=name');
    const labels = await screen().page.locator('.tl-labels .tl-name').allInnerTexts();
    expect(labels).toEqual(['push', 'update']);
    const counts = (await ask<Bands>('r002th', 'bands?by=task&sort=name')).bands.map(({ values }) => values.count);
    expect(counts.every((count) => (count ?? 0) > 4)).toBe(true);
  });

  test('counters are curves with the value and the rate under the mouse', async () => {
    await screen().open('r=r002th&tab=platform');
    await screen().page.getByText('Global Counters', { exact: true }).waitFor();
    const { counters } = await ask<CounterCurves>('r002th', 'counters?width=100');
    const heard = counters.filter(({ range: [least, most] }) => least !== 0 || most !== 0);
    const charts = screen().page.locator('canvas[aria-label^="Global Counters"]');
    expect(await charts.count()).toBe(heard.length);
    const readout = screen().page.locator('.tl-chart .number').last();
    const before = await readout.innerText();
    await charts.last().hover();
    // Drawn with the next frame.
    await expect.poll(() => readout.innerText()).toMatch(/\(.*\/s\)$/);
    expect(before).toMatch(/ – /);
  });

  test('of a program that announces none, the screen says what to do', async () => {
    await screen().open('r=r000th&tab=tasks');
    expect(await screen().page.getByRole('main').innerText()).toContain('--task-probe');
  });

  test('the screen has the numbers of the command line, and a filter by task changes the others', async () => {
    const { rows } = report<{ rows: Record<string, unknown>[] }>('r002th', 'tasks');
    await screen().open('r=r002th&tab=tasks');
    const shown = await screen().rows('Tasks');
    expect(shown.map(([name]) => name)).toEqual(rows.map(({ task }) => task));
    for (const [at, row] of rows.entries()) expect(shown[at]).toContain(duration(Number(row.total_ns)));
    await screen().page.getByRole('treegrid', { name: 'Tasks' }).focus();
    await screen().press('ArrowDown', 'f');
    expect(screen().hash).toContain(`filter=task%3D${rows[0]?.task}`);
    expect(await screen().text('.shown')).toMatch(/% is shown$/);
  });
});
