import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, vi } from 'vitest';
import type { Preparation, PreparedCandidate } from '../../src/agents/preparation/preparation-report.ts';
import type { PrepareTerms } from '../../src/app/preparation/prepare-terms.ts';
import { PreparationProgress } from '../../src/cli/commands/prepare/preparation-progress.ts';
import { createPrepareCommand } from '../../src/cli/commands/prepare/prepare-command.ts';
import { InputError } from '../../src/kernel/errors.ts';

it('the flags of muster prepare become its terms', async () => {
  const directory = await mkdtemp(path.join(tmpdir(), 'muster-prepare-'));
  const seen: PrepareTerms[] = [];
  const command = createPrepareCommand(
    (terms, _, { onStart }) => {
      seen.push(terms);
      onStart(2);
      throw new InputError('repository.git', 'no repository');
    },
    () => Promise.resolve([]),
  );
  const stderr = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  const words = ['library', '--out', directory, '--workers', '3', '--commits', '0', '--mutations', '5', '--since', '2025-01-31'];
  try {
    const flags = [
      ...words,
      '--allow-licence',
      'GPL',
      '--registry',
      'a.example',
      '--registry',
      'b.example',
      '--test-argument',
      '--speed=1',
      '--issues',
      'issues.json',
      '--writer',
      'a.yaml',
    ];
    await expect(command.parseAsync(flags, { from: 'user' })).rejects.toThrow('no repository');
    const counts = { workers: 3, commits: 0, mutations: 5, since: Date.UTC(2025, 0, 31) / 1000, testSeconds: 600 };
    expect(seen).toEqual([
      {
        repository: 'library',
        out: directory,
        licences: expect.arrayContaining(['MIT', 'GPL']),
        registries: ['a.example', 'b.example'],
        testArguments: ['--speed=1'],
        issues: 'issues.json',
        writer: 'a.yaml',
        ...counts,
      },
    ]);
    expect(stderr.mock.calls.join('')).toMatch(/^2 candidates; a line follows when one is done/);
  } finally {
    stderr.mockRestore();
    await rm(directory, { recursive: true, force: true });
  }
});

it('on a terminal the steps that candidates are in stand below those that are done; elsewhere only these are shown', () => {
  const show = (isTTY: boolean): string => {
    let written = '';
    const stream = { isTTY, rows: 24, write: (text: string) => (written += text) };
    {
      using progress = new PreparationProgress(stream, false);
      progress.onStart(2);
      progress.onStep('a', 'bootstrap');
      progress.onStep('b\x1b', 'gold');
      progress.onStep('a', 'gold');
      progress.onCandidate({ ...DONE, title: 'Mend', task: null, refusal: { step: 'derive', reason: 'no' } });
    }
    return written.replaceAll('\x1b[?7l', '').replaceAll('\x1b[?7h', '');
  };
  const [first, done] = ['2 candidates; a line follows when one is done, which takes minutes\n', '[1/2] a Mend: refused by derive: no\n'];
  const other = '… b\\u001b: gold\n';
  const [one, two] = ['\x1b[1A\x1b[J', '\x1b[2A\x1b[J'];
  const steps = `… a: bootstrap\n${one}… a: bootstrap\n${other}${two}… a: gold\n${other}${two}`;
  expect(show(true)).toBe(`${first}${steps}${done}${other}${one}`);
  expect(show(false)).toBe(`${first}${done}`);
});

const DONE: PreparedCandidate = {
  id: 'a',
  kind: 'fix',
  title: 'a',
  refusal: null,
  void: null,
  task: { directory: 'sums-a', id: 'sums-a', digest: 'sha256:a' },
  evidence: {},
};

const MADE: Preparation = {
  repository: 'sums',
  head: null,
  licence: 'MIT',
  notices: [],
  refusedBy: {},
  seconds: 1,
  proof: [],
  candidates: [DONE],
};

const writeAtOnce: typeof process.stdout.write = (_: unknown, written?: BufferEncoding | (() => void)) => {
  if (typeof written === 'function') written();
  return true;
};

it.each([
  [0, 1, 'oracle scored 1 in 2 episodes'],
  [2, 0.5, 'oracle scored 0.5 in 2 episodes, and has to score 1 in each: do not use the tasks'],
  [3, null, 'oracle could not play all of 2 episodes, because the infrastructure failed: give the same command again'],
])('the command ends with %i when the last proof comes to %s', async (code, mean, line) => {
  const directory = await mkdtemp(path.join(tmpdir(), 'muster-prepare-'));
  const proof = [{ agent: 'oracle', episodes: 2, mean, isAsExpected: mean === 1 }] as const;
  const command = createPrepareCommand(
    () => Promise.resolve(MADE),
    () => Promise.resolve([...proof]),
  );
  const stdout = vi.spyOn(process.stdout, 'write').mockImplementation(writeAtOnce);
  try {
    await command.parseAsync(['library', '--out', directory], { from: 'user' });
    expect(process.exitCode).toBe(code);
    expect(stdout.mock.calls.join('')).toContain(`${line}\n`);
  } finally {
    process.exitCode = undefined;
    stdout.mockRestore();
    await rm(directory, { recursive: true, force: true });
  }
});
