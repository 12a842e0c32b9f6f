import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { omitMeasurements } from '../../src/agents/verification/verdict.ts';
import { checkTask } from '../../src/app/grading/task-check.ts';
import { openTask } from '../../src/app/grading/task-grader.ts';
import { extent, sampled } from '../support/full-form.ts';
import { GradingFixture } from '../support/grading-fixture.ts';

const TOP = join(import.meta.dirname, '../../examples/code');
/** One that is judged by cases, and one by a script. */
const SHORT_FORM: ReadonlySet<string> = new Set(['number-formats', 'hello-harbor']);
const names = readdirSync(TOP, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)
  // Grading sandboxes have the compiler of the distribution, and none that a user has installed.
  .filter((name) => name !== 'rust-run-lengths' || existsSync('/usr/bin/rustc'));

let fixture: GradingFixture;
beforeAll(async () => {
  fixture = await GradingFixture.open();
});
afterAll(() => fixture[Symbol.asyncDispose]());

describe('an example task', () => {
  it.each(sampled(names, (name) => SHORT_FORM.has(name)))(
    '%s is sound, and has the same verdicts with the same seed, byte for byte',
    { timeout: 3_600_000 },
    async (name) => {
      const open = await openTask(join(TOP, name));
      const verdicts = new Map<string, Set<string>>();
      const onVerdict = (trial: string, { verdict }: { readonly verdict: Parameters<typeof omitMeasurements>[0] }): void => {
        verdicts.set(trial, (verdicts.get(trial) ?? new Set()).add(JSON.stringify(omitMeasurements(verdict))));
      };
      const times = extent({ short: 2, full: 10 });
      const found = await checkTask(fixture.grader, open, { times, seed: 'sound', onVerdict }, AbortSignal.timeout(3_000_000));
      expect(found.trials.filter(({ finding }) => finding !== 'as-expected')).toEqual([]);
      expect(found.isSound).toBe(true);
      expect([...verdicts].filter(([, distinct]) => distinct.size !== 1).map(([trial]) => trial)).toEqual([]);
    },
  );
});
