import { describe, expect, it } from 'vitest';
import { createE2bProvider } from '../../src/adapters/sandbox/e2b/e2b-provider.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import { parseOwnerId } from '../../src/kernel/ids.ts';
import { CARTPOLE, LATE, REPOSITORY, Stage } from '../end-to-end/stage.ts';
import { crashedOwner } from '../support/e2b/e2b-context.ts';

/** With the account of E2B_API_KEY, and all that the environment says to Muster and the SDK besides. It needs the template of deploy/e2b. */
const given = Object.entries(process.env).flatMap(([name, value]) =>
  /^(E2B|MUSTER)_/.test(name) && value !== undefined ? [[name, value] as const] : [],
);
const environment: Readonly<Record<string, string>> = { ...Object.fromEntries(given), MUSTER_POOL__MAX: '4' };
const CONFIG = ['--config', `${REPOSITORY}/config/e2b.yaml`];

const isAskedFor = environment['MUSTER_TEST_CLUSTER'] === '1' && environment['E2B_API_KEY'] !== undefined;

describe.runIf(isAskedFor)('at E2B itself', () => {
  it('the CartPole example has the official result of this machine, to the byte', async () => {
    await using stage = await Stage.open();
    const evaluation = ['eval', CARTPOLE, '-c', LATE, '--json', '-n', '4'];
    const here = await stage.run(evaluation);
    const there = await stage.run([...evaluation, ...CONFIG], { environment });
    expect(JSON.stringify(there.summary().official)).toBe(JSON.stringify(here.summary().official));
  });

  it('loses the sandboxes of a killed Muster when another one sweeps', async () => {
    const account = { apiKey: environment['E2B_API_KEY'] ?? '' };
    const idle = ['sh', '-c', 'while :; do sleep 1000; done'];
    const ids = await crashedOwner(account, parseOwnerId(`cluster-test-${process.pid}`), [idle, idle]);
    await using provider = createE2bProvider({
      owner: parseOwnerId(`cluster-test-${process.pid}-next`),
      clock: systemClock,
      account,
      projectDirectory: REPOSITORY,
      log: () => {},
    });
    const { signal } = new AbortController();
    expect(await provider.sweep(signal)).toEqual(expect.arrayContaining([...ids]));
    expect(await provider.sweep(signal)).toEqual([]);
  });
});
