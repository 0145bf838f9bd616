// The numbers on the screen are those of the command line.

import { describe, expect, test } from 'vitest';
import type { Info } from '../../src/api/types';
import { count, duration, percent } from '../../src/base/units';
import { ask, report, skipped, useScreen } from './screen';

type Row = Record<string, unknown>;
type Claim = { question: string[]; rows: string | null; column: string; relation: string; number: number };

describe.skipIf(skipped)('numbers', () => {
  const screen = useScreen();

  test('summary', async () => {
    const summary = report<Row>('r000th', 'summary');
    await screen().open('r=r000th');
    for (const id of ['elapsed_ns', 'cpu_ns', 'effective_ns', 'spin_ns', 'overhead_ns', 'wait_ns', 'preemption_ns']) {
      expect(await screen().text(`[data-figure=${id}] dd`), id).toBe(duration(Number(summary[id])));
    }
    expect(await screen().text('[data-figure=wait_count] dd')).toBe(count(Number(summary.wait_count)));
    expect(await screen().text('[data-figure=cpu_utilization] dd')).toContain(percent(Number(summary.cpu_utilization)));
    const cards = await screen().page.locator('.card h3').allInnerTexts();
    // The screen shows four.
    const findings = (summary.findings as Row[]).slice(0, 4);
    expect(cards).toEqual(findings.map(({ title, subject }) => `${title}: ${subject}`));
  });

  test('sync objects', async () => {
    const { rows } = report<{ rows: Row[] }>('r000th', 'waits');
    await screen().open('r=r000th&tab=objects');
    const shown = await screen().rows('Sync Objects');
    expect(shown.map(([object]) => object)).toEqual(rows.map(({ object }) => object));
    for (const [at, row] of rows.entries()) {
      expect(shown[at]).toContain(count(Number(row.wait_count)));
      expect(shown[at]).toContain(duration(Number(row.max_wait_ns)));
      expect(shown[at]).toContain(duration(Number(row.wait_ns)));
    }
  });

  test('bottom-up, grouped by object: rows and totals', async () => {
    const { rows } = report<{ rows: Row[] }>('r000th', 'waits', '--group-by', 'object');
    const summary = report<Row>('r000th', 'summary');
    await screen().open('r=r000th&tab=bottom-up&group=object,function,callers');
    const shown = await screen().rows('Bottom-up');
    for (const row of rows) {
      const line = shown.find(([name]) => name === row.object);
      expect(line, String(row.object)).toContain(duration(Number(row.wait_ns)));
      expect(line, String(row.object)).toContain(count(Number(row.wait_count)));
    }
    expect(await screen().text('[data-total=wait_by_class]')).toContain(duration(Number(summary.wait_ns)));
    expect(await screen().text('[data-total=wait_count]')).toContain(count(Number(summary.wait_count)));
  });

  test('top-down, a level at a time, and what a search leads to', async () => {
    const { rows } = report<{ rows: Row[] }>('r000th', 'top-down');
    const first = rows.filter(({ depth }) => depth === undefined || depth === 0);
    await screen().open('r=r000th&tab=top-down');
    const shown = await screen().rows('Top-down Tree');
    expect(shown.map(([name]) => name)).toEqual(first.map(({ function: name }) => name));
    for (const [at, row] of first.entries()) {
      expect(shown[at]?.slice(1)).toEqual(
        ['cpu_ns', 'wait_ns', 'cpu_self_ns', 'wait_self_ns'].map((id) => duration(Number(row[id]))),
      );
    }
    await screen().open('r=r000th&tab=top-down&search=push_item');
    const found = (await screen().rows('Top-down Tree')).map((cells) => cells.slice(0, 3));
    // It may be there by several paths: the report's first one is on the screen, too.
    const row = rows.find(({ function: name }) => name === 'push_item') ?? {};
    expect(found).toContainEqual(['push_item', duration(Number(row.cpu_ns)), duration(Number(row.wait_ns))]);
  });

  test('caller/callee: every function, and the trees around the chosen one', async () => {
    const { rows } = report<{ rows: Row[] }>('r000th', 'caller-callee');
    const around = report<{ rows: Row[] }>('r000th', 'caller-callee push_item').rows;
    await screen().open('r=r000th&tab=caller-callee&function=push_item');
    const times = (row: Row, ids: string[]) => [row.function, ...ids.map((id) => duration(Number(row[id])))];
    const all = ['cpu_ns', 'wait_ns', 'cpu_self_ns', 'wait_self_ns'];
    const shown = await screen().rows('Caller/Callee');
    expect(shown).toEqual(rows.slice(0, shown.length).map((row) => times(row, all)));
    for (const [role, label] of [
      ['caller', 'Callers of push_item'],
      ['callee', 'Callees of push_item'],
    ] as const) {
      const tree = (await screen().rows(label)).map((cells) => cells.slice(0, 3));
      const expected = around.filter((row) => row.role === role);
      expect(tree, role).toEqual(expected.map((row) => times(row, ['cpu_ns', 'wait_ns'])));
    }
  });

  test('blame', async () => {
    const { rows } = report<{ rows: Row[] }>('r000th', 'blame queue_lock', '--limit', '200');
    await screen().open('r=r000th&tab=blame&object=queue_lock');
    const shown = await screen().rows('Blame');
    expect(shown.map(([name, handle, role, ns]) => [name, handle, role, ns])).toEqual(
      rows.map(({ name, handle, role, wait_ns }) => [name, handle ?? '', role, duration(Number(wait_ns))]),
    );
  });

  test('what a finding claims is in the view that "Show me" opens', async () => {
    const findings = report<{ rows: (Row & { claims: Claim[] })[] }>('r003th', 'findings').rows;
    expect(findings.length).toBeGreaterThan(0);
    for (const [at, { id, claims }] of findings.entries()) {
      await screen().open('r=r003th&tab=findings');
      await screen().page.locator('.card').nth(at).getByRole('button', { name: 'Show me' }).click();
      await screen().idle();
      const view = new URLSearchParams(screen().hash.slice(1));
      const [from, to] = view.get('range')?.split('-') ?? [];
      const selection = [
        ...view.getAll('filter').flatMap((filter) => ['--filter', filter]),
        ...(to === undefined ? [] : ['--time-range', `${from}ns-${to}ns`]),
      ];
      expect(claims.length, String(id)).toBeGreaterThan(0);
      for (const { question, rows: wanted, column, relation, number } of claims) {
        const answer = report<Row & { rows?: Row[] }>('r003th', question[0] ?? '', ...selection);
        const [key, value] = wanted?.split('=') ?? [];
        const meant = (row: Row) => (key === undefined ? !row.depth : row[key] === value);
        const shown = (answer.rows?.filter(meant) ?? [answer]).reduce((sum, row) => sum + Number(row[column]), 0);
        expect(relation === 'is' ? shown === number : shown >= number, `${id}: ${column} ${shown}, ${number}`).toBe(
          true,
        );
      }
    }
  });

  test('a filter by thread and time gives the numbers of the same filter on the command line', async () => {
    const whole = report<{ rows: Row[] }>('r000th', 'waits');
    // Nearly all of the thread's life: its start takes longer on a slow machine.
    await screen().open('r=r000th');
    const { threads } = await ask<Info>('r000th', 'info');
    const life = threads.find(({ name }) => name === 'worker-1');
    if (!life) throw new Error('no worker-1');
    const margin = Math.floor((life.end_ns - life.start_ns) / 20);
    const [from, to] = [life.start_ns + margin, life.end_ns - margin];
    const filters = ['--filter', 'thread=worker-1', '--time-range', `${from}ns-${to}ns`];
    const { rows } = report<{ rows: Row[] }>('r000th', 'waits', ...filters);
    expect(rows.length).toBeGreaterThan(0);
    expect(rows[0]?.wait_ns).not.toBe(whole.rows[0]?.wait_ns);
    await screen().open(`r=r000th&tab=objects&filter=thread%3Dworker-1&range=${from}-${to}`);
    const shown = await screen().rows('Sync Objects');
    expect(shown.map(([object, , , waits]) => [object, waits])).toEqual(
      rows.map(({ object, wait_count }) => [object, count(Number(wait_count))]),
    );
  });
});
