import nock from 'nock';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { loadConfig } from '../../src/app/configuration.ts';
import { Muster } from '../../src/app/main.ts';
import type { Summary } from '../../src/orchestrator/results/summary.ts';
import type { ClaimSettings } from '../../src/adapters/sandbox/kubernetes/settings/pod-template.ts';
import { KubernetesContext, IMAGE } from '../support/kubernetes/kubernetes-context.ts';
import { sampled } from '../support/full-form.ts';
import { runnerImage } from '../support/kubernetes/runner-image.ts';
import { failOnLeftoverProcesses } from '../support/no-leftovers.ts';
import type { MusterResult } from './muster-command.ts';
import { CARTPOLE, LATE, Stage } from './stage.ts';

nock.restore();

const STOP = { rule: 'fixed', episodes: 24 } as const;

/** What all of them are held against; played once. */
let reference: Promise<Summary> | undefined;

describe('CartPole on the pods of a cluster', () => {
  failOnLeftoverProcesses();

  it('is tested by "muster doctor" without a pod, and each obstacle is named', async () => {
    await using stage = await Stage.open();
    await using context = await KubernetesContext.open({ mounts: [] });
    const diagnose = async (changes: object): Promise<MusterResult> => {
      const kubernetes = { kubeconfig: context.pod.kubeconfig, image: IMAGE, ...changes };
      const config = await stage.write('doctor.json', { templates: { local: { provider: 'kubernetes', kubernetes } } });
      return await stage.call(['doctor', '--json', '--config', config]);
    };
    const found = z.object({ checks: z.array(z.object({ name: z.string(), status: z.string(), found: z.string() })) });
    const checkOf = ({ stdout }: MusterResult, wanted: string): unknown =>
      found.parse(JSON.parse(stdout)).checks.find(({ name }) => name === wanted);
    const well = await diagnose({});
    expect(checkOf(well, 'kubernetes')).toMatchObject({
      status: 'warning',
      found: expect.stringMatching(/no sandbox was made; not verified: /),
    });
    // The pods have a Python of their own.
    expect(checkOf(well, 'Python')).toBeUndefined();
    const ill = await diagnose({ namespace: 'elsewhere' });
    expect(ill.exitCode).toBe(3);
    expect(checkOf(ill, 'kubernetes')).toMatchObject({ status: 'problem', found: expect.stringContaining('elsewhere') });
    expect(context.simulator.requests.get('POST pods')).toBeUndefined();
  });

  const pods: readonly (readonly [string, ClaimSettings | undefined, object])[] = [
    ['that Muster makes', undefined, {}],
    ['that it claims from agent-sandbox', { replicas: 1 }, {}],
    ['that dial back', undefined, { transport: 'dial-back', dialBack: { advertise: 'ws://127.0.0.1:0' } }],
  ];
  // In the short form, claim-faults.test.ts compares claimed pods with those that Muster makes.
  it.each(sampled(pods, ([, claims]) => claims === undefined))(
    '%s has the same official result as on bubblewrap, to the byte',
    async (_whence, claims, transport) => {
      await using stage = await Stage.open();
      const { image, python } = await runnerImage();
      await using context = await KubernetesContext.open(image, {}, claims);
      const kubernetes = { kubeconfig: context.pod.kubeconfig, image: IMAGE, python, ...(claims && { claims }), ...transport };
      const onPods = await evaluate(stage, 'pods.json', { provider: 'kubernetes', kubernetes });
      reference ??= playedHere();
      const onThisMachine = await reference;
      expect(onPods.run.pool.mechanism).toBe('kubernetes');
      expect(onPods.warnings).toContainEqual(
        expect.stringMatching(/^not verified: the NetworkPolicy for kubernetes\.network: none exists, /),
      );
      // Each pod is made, its program started, and its checkpoint brought; what ends together is deleted together.
      const { requests } = context.simulator;
      const { created } = onPods.run.pool;
      expect(requests.get(claims ? 'POST sandboxclaims' : 'POST pods')).toBe(created);
      expect(requests.get('EXEC pods') ?? 0).toBe('transport' in transport ? 0 : 2 * created);
      expect(requests.get(claims ? 'DELETE sandboxclaims' : 'DELETE pods')).toBeLessThanOrEqual(created);
      expect(JSON.stringify(onPods.official)).toBe(JSON.stringify(onThisMachine.official));
      expect(await context.traces()).toEqual([]);
    },
  );
});

async function evaluate(stage: Stage, name: string, local: object): Promise<Summary> {
  const file = await stage.write(name, { stateDir: stage.stateDir, pool: { max: 2 }, templates: { local } });
  await using muster = await Muster.open(loadConfig({ file, environment: { HOME: '/' } }));
  return await muster.evaluate({ suite: CARTPOLE, checkpoint: LATE, stop: STOP });
}

async function playedHere(): Promise<Summary> {
  await using stage = await Stage.open();
  return await evaluate(stage, 'local.json', {});
}
