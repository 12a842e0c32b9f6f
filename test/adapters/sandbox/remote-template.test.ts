import { expect, test } from 'vitest';
import { createRemoteTemplate } from '../../../src/adapters/sandbox/remote/remote-template.ts';
import { loadConfig } from '../../../src/app/configuration.ts';

const { local } = loadConfig({ environment: { HOME: '/' } }).templates;
if (!local) throw new Error('the defaults have a template "local"');

test('a template without settings of this machine works elsewhere, with the interpreter there', () => {
  const { command, mounts } = createRemoteTemplate('cloud', local, '/opt/python');
  expect(command.slice(0, 3)).toEqual(['/opt/python', '-I', '/muster/runner']);
  expect(command).toContain('gymnasium');
  expect(mounts).toEqual([]);
});

test('a user’s own runner is used unchanged', () => {
  expect(createRemoteTemplate('cloud', { ...local, command: ['my-runner', '--fast'] }, 'python3').command).toEqual(['my-runner', '--fast']);
});

test.each([
  ['python', { python: '/usr/bin/python3' }, 'auto'],
  ['start', { start: 'forked' }, 'auto'],
  ['mounts', { mounts: [{ source: '/data', target: '/data' }] }, '[]'],
  ['network', { network: 'host' }, 'none'],
] as const)('%s of this machine is refused, and the message says what to set', (setting, changes, neutral) => {
  expect(() => createRemoteTemplate('cloud', { ...local, ...changes }, 'python3')).toThrow(
    new RegExp(`templates\\.cloud\\.${setting} .* set it to ${RegExp.escape(neutral)} `),
  );
});
