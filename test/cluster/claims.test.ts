import nock from 'nock';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/app/configuration.ts';
import { Muster } from '../../src/app/main.ts';
import type { Summary } from '../../src/orchestrator/results/summary.ts';
import { CARTPOLE, LATE, Stage } from '../end-to-end/stage.ts';
import { claimsOf, claimsUnavailable, podSettings } from './cluster-under-test.ts';

nock.restore();

const OWNER_PREFIX = `muster-${process.pid}-`;
const LOCAL = { provider: 'kubernetes', limits: { memoryBytes: '512MiB' } };

describe.runIf(claimsUnavailable === undefined)('pods that are claimed from agent-sandbox in a real cluster', { timeout: 900_000 }, () => {
  it('have the official result of this machine, to the byte, and leave nothing', async () => {
    await using stage = await Stage.open();
    const kubernetes = { ...podSettings, claims: { replicas: 2 } };
    const onPods = await evaluate(stage, 'claims.json', { ...LOCAL, kubernetes });
    const onThisMachine = await evaluate(stage, 'local.json', {});
    expect(onPods.run.pool.mechanism).toBe('kubernetes');
    expect(JSON.stringify(onPods.official)).toBe(JSON.stringify(onThisMachine.official));
    expect(await claimsOf(OWNER_PREFIX)).toEqual([]);
  });
});

async function evaluate(stage: Stage, name: string, local: object): Promise<Summary> {
  const pool = { max: 2, readySeconds: 300 };
  const file = await stage.write(name, { stateDir: stage.stateDir, pool, templates: { local } });
  await using muster = await Muster.open(loadConfig({ file, environment: { HOME: '/' } }));
  return await muster.evaluate({ suite: CARTPOLE, checkpoint: LATE });
}
