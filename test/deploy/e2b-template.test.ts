import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { Template } from 'e2b';
import { expect, test } from 'vitest';
import { musterTemplate } from '../../deploy/e2b/template.ts';
import { RUNNER_INSIDE } from '../../src/adapters/sandbox/local/template/python-template.ts';
import { loadConfig } from '../../src/app/configuration.ts';

const PROJECT = path.join(import.meta.dirname, '../..');

test('the E2B template has the runner in its place, its packages, bubblewrap, and a user that is not root', async () => {
  const lines = Template.toDockerfile(musterTemplate()).trim().split('\n');
  expect(lines).toContain(`COPY runner ${RUNNER_INSIDE}`);
  expect(lines.findLast((line) => line.startsWith('USER'))).toBe('USER muster');
  expect(lines.some((line) => line.startsWith('RUN pip install') && line.endsWith('/muster/requirements.txt'))).toBe(true);
  expect(lines.some((line) => /apt-get install .*\bbubblewrap\b/.test(line))).toBe(true);
  expect(await readFile(path.join(PROJECT, 'runner/requirements.txt'), 'utf8')).toMatch(/^gymnasium==/m);
});

test('its build files are found and hashed', async () => {
  const { steps } = JSON.parse(await Template.toJSON(musterTemplate()));
  const hashes: unknown[] = steps
    .filter(({ type }: { type: string }) => type === 'COPY')
    .map(({ filesHash }: { filesHash: unknown }) => filesHash);
  expect(hashes).toEqual([expect.stringMatching(/^[0-9a-f]{64}$/), expect.stringMatching(/^[0-9a-f]{64}$/)]);
});

test('the ready configuration is valid, and within the plan that it is for', () => {
  const { pool, templates } = loadConfig({ file: path.join(PROJECT, 'config/e2b.yaml'), environment: { HOME: '/' } });
  const local = templates['local'];
  expect(local).toMatchObject({ provider: 'e2b', e2b: { maxSandboxes: 20, creationsPerSecond: 1 } });
  expect(pool.max).toBe(20);
});
