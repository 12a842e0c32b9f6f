import nock from 'nock';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/app/configuration.ts';
import { Muster } from '../../src/app/main.ts';
import type { Summary } from '../../src/orchestrator/results/summary.ts';
import { bakedRunner } from '../support/e2b/baked-runner.ts';
import { E2bSimulator } from '../support/e2b/simulator.ts';
import { useRealSockets } from '../support/e2b/real-sockets.ts';
import { IMAGE, KubernetesContext } from '../support/kubernetes/kubernetes-context.ts';
import { runnerImage } from '../support/kubernetes/runner-image.ts';
import { CARTPOLE, LATE, Stage } from './stage.ts';

nock.restore();
useRealSockets();

/** Muster serves checkpoints on this machine, on whatever port is free. */
const DELIVERY = { url: 'http://127.0.0.1', host: '127.0.0.1', port: 0 };

const EPISODES = 24;

async function evaluate(stage: Stage, name: string, local: object, changes: object = { delivery: DELIVERY }): Promise<Summary> {
  const file = await stage.write(name, { stateDir: stage.stateDir, pool: { max: 2 }, templates: { local }, ...changes });
  await using muster = await Muster.open(loadConfig({ file, environment: { HOME: '/' } }));
  return await muster.evaluate({ suite: CARTPOLE, checkpoint: LATE, stop: { rule: 'fixed', episodes: EPISODES } });
}

/** What all of them are held against; played once. */
async function onThisMachine(): Promise<Summary> {
  reference ??= playedHere();
  return await reference;
}

let reference: Promise<Summary> | undefined;

async function playedHere(): Promise<Summary> {
  await using stage = await Stage.open();
  return await evaluate(stage, 'here.json', {});
}

describe('a checkpoint that sandboxes elsewhere fetch', { timeout: 180_000 }, () => {
  it('is played in pods with the official result of this machine, to the byte', async () => {
    await using stage = await Stage.open();
    const { image, python } = await runnerImage();
    await using context = await KubernetesContext.open(image);
    context.allowOrigin();
    const kubernetes = { kubeconfig: context.pod.kubeconfig, image: IMAGE, python, network: 'origin' };
    const onPods = await evaluate(stage, 'pods.json', { provider: 'kubernetes', delivery: 'pull', kubernetes });
    const here = await onThisMachine();
    expect(JSON.stringify(onPods.official)).toBe(JSON.stringify(here.official));
    expect(Object.keys(onPods.run.deliveries ?? {})).toEqual(['pull']);
    expect(here.run.deliveries?.upload).toBeGreaterThan(0);
    expect(await context.traces()).toEqual([]);
  });

  it('is read from the cache of a pod’s node, and played with the same result', async () => {
    await using stage = await Stage.open();
    const { image, python } = await runnerImage();
    await using context = await KubernetesContext.open(image);
    context.simulator.nodeCaches.deploy(image);
    const nodeCache = { namespace: 'muster-node-cache', claim: 'muster-node-cache' };
    const kubernetes = { kubeconfig: context.pod.kubeconfig, image: IMAGE, python, nodeCache };
    const onPods = await evaluate(stage, 'pods.json', { provider: 'kubernetes', delivery: 'node-cache', kubernetes });
    const here = await onThisMachine();
    expect(JSON.stringify(onPods.official)).toBe(JSON.stringify(here.official));
    expect(Object.keys(onPods.run.deliveries ?? {})).toEqual(['node-cache']);
    expect(await context.traces()).toEqual([]);
  });

  it('is played at E2B with the official result of this machine, to the byte', async () => {
    const { python, mounts } = await bakedRunner();
    await using simulator = await E2bSimulator.open({ baked: mounts });
    await using stage = await Stage.open();
    const { apiKey, apiUrl, sandboxUrl } = simulator.credentials;
    const e2b = { python, creationsPerSecond: 1000 };
    const config = await stage.write('e2b.json', {
      stateDir: stage.stateDir,
      pool: { max: 2 },
      templates: { local: { provider: 'e2b', delivery: 'pull', e2b } },
      delivery: DELIVERY,
    });
    const there = await stage.run(['eval', CARTPOLE, '-c', LATE, '--episodes', String(EPISODES), '--json', '--config', config], {
      environment: { E2B_API_KEY: apiKey, E2B_API_URL: apiUrl, E2B_SANDBOX_URL: sandboxUrl },
    });
    const here = await onThisMachine();
    expect(JSON.stringify(there.summary().official)).toBe(JSON.stringify(here.official));
    expect(Object.keys(there.summary().run.deliveries ?? {})).toEqual(['pull']);
    for (const hosts of simulator.account.reached) expect(hosts).toEqual(['127.0.0.1']);
  });
});
