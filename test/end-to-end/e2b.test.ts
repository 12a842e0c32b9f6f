import { describe, expect, it } from 'vitest';
import { bakedRunner } from '../support/e2b/baked-runner.ts';
import type { Plan } from '../support/e2b/account.ts';
import { useRealSockets } from '../support/e2b/real-sockets.ts';
import { E2bSimulator, type SimulatorOptions } from '../support/e2b/simulator.ts';
import { isFullForm, sampled } from '../support/full-form.ts';
import { ANYTHING, CARTPOLE, LATE, Stage } from './stage.ts';

useRealSockets();
const { python, mounts } = await bakedRunner();
/** As many sandboxes and creations as a test wants, within a plan's bounds. */
const PLAN: Plan = { concurrentSandboxes: 4, creationsPerSecond: 1000, longestSeconds: 3600, saysRetryAfter: true };

/** A simulated account, and the settings with which `./muster` uses it. */
class Fixture implements AsyncDisposable {
  readonly simulator: E2bSimulator;
  readonly stage: Stage;

  private constructor(simulator: E2bSimulator, stage: Stage) {
    this.simulator = simulator;
    this.stage = stage;
  }

  static async open(options: SimulatorOptions = {}): Promise<Fixture> {
    return new Fixture(await E2bSimulator.open({ baked: mounts, plan: PLAN, ...options }), await Stage.open());
  }

  get environment(): Record<string, string> {
    const { apiKey, apiUrl, sandboxUrl } = this.simulator.credentials;
    return { E2B_API_KEY: apiKey, E2B_API_URL: apiUrl, E2B_SANDBOX_URL: sandboxUrl };
  }

  /** The local template, but for its provider. */
  config(e2b: object = {}): Promise<string> {
    return this.stage.write('e2b.json', {
      stateDir: this.stage.stateDir,
      pool: { max: 4 },
      templates: { local: { provider: 'e2b', e2b: { python, creationsPerSecond: 1000, ...e2b } } },
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stage[Symbol.asyncDispose]();
    await this.simulator[Symbol.asyncDispose]();
  }
}

const EVALUATION = ['eval', CARTPOLE, '-c', LATE, '--json', '-n', '4'];

describe('an evaluation at E2B', () => {
  it('has the official result of one on this machine, to the byte', async () => {
    await using fixture = await Fixture.open();
    const evaluation = [...EVALUATION, '--episodes', '24'];
    const here = await fixture.stage.run(evaluation);
    const there = await fixture.stage.run([...evaluation, '--config', await fixture.config()], { environment: fixture.environment });
    expect(JSON.stringify(there.summary().official)).toBe(JSON.stringify(here.summary().official));
    expect(there.summary().run.pool.limits).toMatchObject({ lifetime: { by: 'timer' } });
    expect(fixture.simulator.account.tenants).toEqual([]);
    expect(fixture.simulator.account.mostAtOnce).toBeLessThanOrEqual(4);
  });

  it('with the runner sent into every sandbox has the same official result', async () => {
    const bare = mounts.filter(({ target }) => target !== '/muster/runner');
    await using fixture = await Fixture.open({ baked: bare });
    const suite = await fixture.stage.faultSuite({ changes: { stop: { rule: 'fixed', episodes: 8 } } });
    const result = await fixture.stage.run(
      ['eval', suite, '-c', ANYTHING, '--json', '-n', '2', '--config', await fixture.config({ runner: 'uploaded' })],
      {
        environment: fixture.environment,
      },
    );
    expect(result.summary()).toMatchObject({ partial: false, official: { episodes: 8 } });
    expect(fixture.simulator.faults.requests.upload).toBeGreaterThan(0);
  });

  // In the short form, e2b-crowd.test.ts kills a Muster with sandboxes at E2B.
  it.runIf(isFullForm)(
    'whose Muster was killed leaves sandboxes for the next start to end, and sandboxes that are not extended end by themselves',
    async () => {
      await using fixture = await Fixture.open();
      const command = fixture.stage.start([...EVALUATION, '--config', await fixture.config()], { environment: fixture.environment });
      const { account } = fixture.simulator;
      await command.until('all of its sandboxes are there', () => account.tenants.length === 4);
      command.signal('SIGKILL');
      await command.ended;
      expect(account.tenants).toHaveLength(4);
      for (const { startedAt, endsAt } of account.tenants) expect(endsAt.getTime() - startedAt.getTime()).toBe(300_000);
      const suite = await fixture.stage.faultSuite({ changes: { stop: { rule: 'fixed', episodes: 8 } } });
      const next = await fixture.stage.run(['eval', suite, '-c', ANYTHING, '--json', '-n', '1', '--config', await fixture.config()], {
        environment: fixture.environment,
      });
      expect(next.summary().run.pool.swept).toBe(4);
      expect(account.tenants).toEqual([]);
    },
  );
});

/** What is wrong, in the environment and in the template, and what the refusal says. */
const REFUSED: readonly (readonly [string, Readonly<Record<string, string>>, object, readonly string[]])[] = [
  ['a key that is missing', { E2B_API_KEY: '' }, {}, ['no API key', 'E2B_API_KEY']],
  ['a key that is wrong', { E2B_API_KEY: 'e2b_wrong' }, {}, ['the API key was refused', 'E2B_API_KEY']],
  ['an E2B template that does not exist', {}, { template: 'nowhere' }, ['no template "nowhere"', 'deploy/e2b']],
  ['a tenancy that the plan does not allow', {}, { tenancySeconds: 7200 }, ['Timeout cannot be greater than 1 hours', 'tenancySeconds']],
];

describe('before any episode is played,', () => {
  it.each(sampled(REFUSED, ([what]) => what === 'a key that is wrong'))(
    '%s is refused, with the remedy',
    async (_, environment, e2b, parts) => {
      await using fixture = await Fixture.open();
      const result = await fixture.stage.run([...EVALUATION, '--config', await fixture.config(e2b)], {
        environment: { ...fixture.environment, ...environment },
      });
      expect(result).toMatchObject({ exitCode: 2, stdout: '' });
      for (const part of parts) expect(result.stderr).toContain(part);
      expect(result.stderr).not.toContain('e2b_wrong');
      expect(fixture.simulator.faults.requests.start).toBeUndefined();
    },
  );
});
