import nock from 'nock';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/load-config.ts';
import { Muster } from '../../src/main.ts';
import type { Summary } from '../../src/orchestrator/summary.ts';
import { KubernetesGround, IMAGE } from '../support/kubernetes/kubernetes-ground.ts';
import { runnerImage } from '../support/kubernetes/runner-image.ts';
import { failOnLeftoverProcesses } from '../support/no-leftovers.ts';
import { CARTPOLE, LATE, Stage } from './stage.ts';

nock.restore();

describe('CartPole on the pods of a cluster', () => {
  failOnLeftoverProcesses();

  it('has the same official result as on bubblewrap, to the byte, over exec and where pods dial back', async () => {
    await using stage = await Stage.open();
    const { image, python } = await runnerImage();
    await using ground = await KubernetesGround.open(image);
    const onThisMachine = await evaluate(stage, 'local.json', {});
    const execs = (): number => ground.simulator.requests.get('EXEC pods') ?? 0;

    const kubernetes = { kubeconfig: ground.pod.kubeconfig, image: IMAGE, python };
    const overExec = await evaluate(stage, 'exec.json', { provider: 'kubernetes', kubernetes });
    expect(overExec.run.pool.mechanism).toBe('kubernetes');
    expect(JSON.stringify(overExec.official)).toBe(JSON.stringify(onThisMachine.official));
    const execsBefore = execs();
    expect(execsBefore).toBeGreaterThan(0);

    const dialBack = { transport: 'dial-back', dialBack: { advertise: 'ws://127.0.0.1:0' } };
    const dialled = await evaluate(stage, 'dial-back.json', { provider: 'kubernetes', kubernetes: { ...kubernetes, ...dialBack } });
    expect(dialled.run.pool.mechanism).toBe('kubernetes');
    expect(JSON.stringify(dialled.official)).toBe(JSON.stringify(onThisMachine.official));
    expect(execs()).toBe(execsBefore);
    expect(await ground.traces()).toEqual([]);
  });
});

async function evaluate(stage: Stage, name: string, local: object): Promise<Summary> {
  const file = await stage.write(name, { stateDir: stage.stateDir, pool: { max: 2 }, templates: { local } });
  await using muster = await Muster.open(loadConfig({ file, environment: { HOME: '/' } }));
  return await muster.evaluate({ suite: CARTPOLE, checkpoint: LATE });
}
