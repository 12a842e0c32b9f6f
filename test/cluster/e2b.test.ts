import { describe, expect, it } from 'vitest';
import { CARTPOLE, LATE, REPOSITORY, Stage } from '../end-to-end/stage.ts';

/** At E2B itself, with the account of E2B_API_KEY: only when both are asked for. It needs the template of deploy/e2b. */
const apiKey = process.env['MUSTER_TEST_CLUSTER'] === '1' ? process.env['E2B_API_KEY'] : undefined;
const { E2B_API_URL, E2B_SANDBOX_URL, E2B_DOMAIN } = process.env;
const given = Object.entries({ E2B_API_KEY: apiKey, E2B_API_URL, E2B_SANDBOX_URL, E2B_DOMAIN }).flatMap(([name, value]) =>
  value === undefined ? [] : [[name, value] as const],
);
const environment: Readonly<Record<string, string>> = { ...Object.fromEntries(given), MUSTER_POOL__MAX: '4' };

describe.runIf(apiKey)('at E2B itself', () => {
  it('the CartPole example has the official result of this machine, to the byte', { timeout: 600_000 }, async () => {
    await using stage = await Stage.open();
    const evaluation = ['eval', CARTPOLE, '-c', LATE, '--json', '-n', '4'];
    const here = await stage.run(evaluation);
    const there = await stage.run([...evaluation, '--config', `${REPOSITORY}/config/e2b.yaml`], { environment });
    expect(JSON.stringify(there.summary().official)).toBe(JSON.stringify(here.summary().official));
  });

  it('a Muster that is killed leaves sandboxes that the next one ends', { timeout: 600_000 }, async () => {
    await using stage = await Stage.open();
    const suite = await stage.write('suite.yaml', {
      name: 'long',
      environment: 'gymnasium:CartPole-v1',
      reward: { bounds: [0, 500] },
      stop: { rule: 'fixed', episodes: 100_000 },
    });
    const options = { environment };
    const command = stage.start(['eval', suite, '-c', LATE, '--json', '-n', '2', '--config', `${REPOSITORY}/config/e2b.yaml`], options);
    await command.until('it plays', () => command.stderr.includes('playing'));
    command.signal('SIGKILL');
    await command.ended;
    const next = await stage.run(['eval', CARTPOLE, '-c', LATE, '--json', '-n', '2', '--config', `${REPOSITORY}/config/e2b.yaml`], options);
    expect(next.summary().run.pool.swept).toBeGreaterThan(0);
  });
});
