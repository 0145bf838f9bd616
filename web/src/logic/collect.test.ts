import { expect, test } from 'vitest';
import { EMPTY_FORM, requestOf, seconds, shellWords } from './collect';

test('a command line has the words that a shell sees', () => {
  expect(shellWords('  ./app  --its args ')).toEqual(['./app', '--its', 'args']);
  expect(shellWords(`sh -c 'a "b" c' "d 'e' \\"f\\"" g\\ h ''`)).toEqual([
    'sh',
    '-c',
    'a "b" c',
    `d 'e' "f"`,
    'g h',
    '',
  ]);
  expect(shellWords('echo "C:\\dir\\\\" $HOME')).toEqual(['echo', 'C:\\dir\\', '$HOME']);
  expect(shellWords('')).toEqual([]);
  expect(shellWords(`echo 'open`)).toBeNull();
});

test('times are seconds', () => {
  expect(['', ' ', '10', '10s', '2m', '1 h', 'ten', '-1', '1.5'].map(seconds)).toEqual([
    0,
    0,
    10,
    10,
    120,
    3600,
    null,
    null,
    null,
  ]);
});

test('the form is a request, or says what cannot be meant', () => {
  const form = { ...EMPTY_FORM, command: "./app 'a b'", duration: '10s', sockets: true };
  expect(requestOf(form)).toMatchObject({
    target: { program: { program: './app', arguments: ['a b'], folder: '' } },
    duration_s: 10,
    sockets: true,
  });
  expect(requestOf({ ...form, kind: 'process', pids: [7] })).toMatchObject({ target: { processes: [7] } });
  expect(requestOf({ ...form, kind: 'machine' })).toMatchObject({ target: 'machine' });
  expect(requestOf({ ...form, command: "'" })).toBe('quote');
  expect(requestOf({ ...form, kind: 'machine', command: "'" })).toMatchObject({ target: 'machine' });
  expect(requestOf({ ...form, duration: 'soon' })).toBe('duration');
});
