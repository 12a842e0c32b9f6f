import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';
import nock from 'nock';
import { describe, expect, it } from 'vitest';
import { createKubernetesProvider } from '../../src/adapters/sandbox/kubernetes/kubernetes-provider.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import { parseOwnerId } from '../../src/kernel/ids.ts';
import { Muster } from '../../src/main.ts';
import type { Summary } from '../../src/orchestrator/summary.ts';
import { NEVER } from '../contract/sandbox-scene.ts';
import { CARTPOLE, LATE, Stage } from '../end-to-end/stage.ts';
import { podTemplate } from '../support/kubernetes/kubernetes-ground.ts';

nock.restore();

/** What the cluster's nodes can run: built from deploy/docker/runner.Dockerfile. Only when both are asked for. */
const image = process.env['MUSTER_TEST_CLUSTER'] === '1' ? process.env['MUSTER_CLUSTER_IMAGE'] : undefined;
const { MUSTER_CLUSTER_NAMESPACE: namespace = 'muster', MUSTER_CLUSTER_PYTHON: python = 'python3' } = process.env;
const { MUSTER_CLUSTER_KUBECONFIG: kubeconfig = 'auto', MUSTER_CLUSTER_PODS: pods = '4' } = process.env;
const CRASHING_OWNER = path.join(import.meta.dirname, '../support/kubernetes/crashing-owner.ts');

describe.runIf(image !== undefined)('the cluster of the current kubeconfig', () => {
  it('has the same official result of CartPole as bubblewrap, to the byte', { timeout: 600_000 }, async () => {
    await using stage = await Stage.open();
    const kubernetes = { kubeconfig, namespace, image, python, imagePullPolicy: 'IfNotPresent' };
    const limits = { memoryBytes: '512MiB' };
    const onPods = await evaluate(stage, 'pods.json', { provider: 'kubernetes', limits, kubernetes }, Number(pods));
    const onThisMachine = await evaluate(stage, 'local.json', {}, 2);
    expect(onPods.run.pool.mechanism).toBe('kubernetes');
    expect(JSON.stringify(onPods.official)).toBe(JSON.stringify(onThisMachine.official));
  });

  it('is rid of the pods of a Muster that was killed, once another one has swept', { timeout: 600_000 }, async () => {
    const pod = podTemplate(kubeconfig, { namespace, image: image ?? '', requestsPerSecond: 50 });
    const owner = parseOwnerId(`cluster-test-${process.pid}`);
    const idle = ['sh', '-c', 'while :; do sleep 1000; done'];
    const child = spawn(process.execPath, [CRASHING_OWNER, JSON.stringify({ owner, commands: [idle, idle], pod })], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const made: unknown = JSON.parse(await firstLineOf(child));
    child.kill('SIGKILL');
    await once(child, 'exit');
    const survivor = parseOwnerId(`cluster-test-${process.pid}-next`);
    await using provider = createKubernetesProvider({ owner: survivor, clock: systemClock, places: [pod] });
    expect([...(await provider.sweep(NEVER))].sort()).toEqual(made);
    expect(await provider.sweep(NEVER)).toEqual([]);
  });
});

async function evaluate(stage: Stage, name: string, local: object, max: number): Promise<Summary> {
  const file = await stage.write(name, { stateDir: stage.stateDir, pool: { max, readySeconds: 300 }, templates: { local } });
  await using muster = await Muster.open(loadConfig({ file, environment: { HOME: '/' } }));
  return await muster.evaluate({ suite: CARTPOLE, checkpoint: LATE });
}

async function firstLineOf(child: ChildProcess): Promise<string> {
  if (!child.stdout) throw new Error('the other Muster has no stdout');
  for await (const line of createInterface({ input: child.stdout })) return line;
  throw new Error('the other Muster ended before its sandboxes ran');
}
