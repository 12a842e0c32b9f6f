import { randomBytes } from 'node:crypto';
import nock from 'nock';
import { describe, expect, it } from 'vitest';
import { pullCommand } from '../../../../src/adapters/sandbox/pull-order.ts';
import { InfrastructureError } from '../../../../src/kernel/errors.ts';
import type { FetchOrder, FetchWay } from '../../../../src/kernel/fetching.ts';
import { parseSandboxId } from '../../../../src/kernel/ids.ts';
import type { CheckpointFile } from '../../../../src/policy-distribution/checkpoint.ts';
import type { PodTemplate } from '../../../../src/pool/pod-template.ts';
import type { Sandbox, SandboxProvider } from '../../../../src/pool/sandbox.ts';
import { NEVER } from '../../../contract/sandbox-scene.ts';
import { TEMPLATE } from '../../../support/evaluation-scene.ts';
import { eventually } from '../../../support/eventually.ts';
import { KubernetesGround } from '../../../support/kubernetes/kubernetes-ground.ts';
import { CACHE_NAMESPACE } from '../../../support/kubernetes/simulated-node-caches.ts';
import { runnerImage } from '../../../support/kubernetes/runner-image.ts';
import { safetensorsFile, trained, weights } from '../../../policy-distribution/safetensors-file.ts';
import { OriginScene } from '../../delivery/origin-scene.ts';

nock.restore();
const { image, python } = await runnerImage();
const BYTES = 300_000;

/** A cluster whose pods say what the files are that they are given. */
class Scene implements AsyncDisposable {
  readonly ground: KubernetesGround;
  readonly origins: OriginScene;
  readonly #providers: SandboxProvider[] = [];
  #made = 0;

  private constructor(ground: KubernetesGround, origins: OriginScene) {
    this.ground = ground;
    this.origins = origins;
  }

  static async open(nodes: readonly string[] = ['a', 'b']): Promise<Scene> {
    const ground = await KubernetesGround.open(image, { nodes });
    ground.allowOrigin();
    return new Scene(ground, await OriginScene.open({ transfers: 64 }));
  }

  provider(): SandboxProvider {
    const provider = this.ground.provider();
    this.#providers.push(provider);
    return provider;
  }

  pod(provider: SandboxProvider, ...ways: readonly FetchWay[]): Promise<Sandbox> {
    const caches = ways.includes('node-cache') ? { nodeCache: { namespace: CACHE_NAMESPACE, claim: CACHE_NAMESPACE } } : {};
    const pod: PodTemplate = { ...this.ground.pod, network: 'origin', fetching: { ways, command: pullCommand(python), ...caches } };
    const command = ['sh', '-c', 'while read path; do sha256sum "$path" || echo gone; done'];
    const limits = { ...TEMPLATE.limits, memoryBytes: 2 ** 28 };
    return provider.create({ id: parseSandboxId(`s${(this.#made += 1)}`), template: { ...TEMPLATE, limits, command, pod } }, NEVER);
  }

  async checkpoint(
    path = 'policy.safetensors',
    content: number | Uint8Array = BYTES,
  ): Promise<{ readonly file: CheckpointFile; readonly order: FetchOrder }> {
    const file = await this.origins.put(path, typeof content === 'number' ? randomBytes(content) : content);
    return { file, order: { digest: file.digest, files: [{ ...file, url: await this.origins.origin.link(file) }] } };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const provider of this.#providers) await provider[Symbol.asyncDispose]();
    expect(await this.ground.traces()).toEqual([]);
    await this.ground[Symbol.asyncDispose]();
    await this.origins[Symbol.asyncDispose]();
  }
}

/** What the sandbox's program finds there. */
async function digestInside({ stdin, stdout }: Sandbox, path: string): Promise<string> {
  stdin.write(`${path}\n`);
  for await (const chunk of stdout.iterator({ destroyOnReturn: false })) return `sha256:${String(chunk).slice(0, 64)}`;
  throw new Error('it says nothing');
}

async function fetched({ fetching }: Sandbox, way: FetchWay, order: FetchOrder, signal = NEVER): Promise<string> {
  if (!fetching) throw new Error('the sandbox fetches nothing');
  return await fetching.fetch(way, order, signal);
}

describe('a pod that fetches', () => {
  it('has the very bytes, which its program cannot change, and does not fetch them twice', async () => {
    await using scene = await Scene.open();
    const { file, order } = await scene.checkpoint('actor/policy.safetensors');
    const sandbox = await scene.pod(scene.provider(), 'pull');
    const both = await Promise.all([fetched(sandbox, 'pull', order), fetched(sandbox, 'pull', order)]);
    expect(new Set(both).size).toBe(1);
    expect(await digestInside(sandbox, `${both[0]}/actor/policy.safetensors`)).toBe(file.digest);
    expect(scene.origins.origin.served).toMatchObject({ requests: 1, bytes: BYTES });
  });

  it('whose link has expired has nothing, and says which file and why; a new link does', async () => {
    await using scene = await Scene.open();
    const { file, order } = await scene.checkpoint();
    const sandbox = await scene.pod(scene.provider(), 'pull');
    await scene.origins.clock.advance(3_600_000);
    const refused = fetched(sandbox, 'pull', order);
    await expect(refused).rejects.toMatchObject({ code: 'sandbox.fetch', kind: 'infrastructure' });
    await expect(refused).rejects.toThrow(`policy.safetensors (${file.digest}): the server answered 403 the link has expired (refused)`);
    const anew = { ...order, files: [{ ...file, url: await scene.origins.origin.link(file) }] };
    expect(await digestInside(sandbox, `${await fetched(sandbox, 'pull', anew)}/policy.safetensors`)).toBe(file.digest);
  });

  it('and is destroyed meanwhile leaves nothing that goes on', async () => {
    await using scene = await Scene.open();
    const { order } = await scene.checkpoint('large', 50_000_000);
    const sandbox = await scene.pod(scene.provider(), 'pull');
    const under = fetched(sandbox, 'pull', order);
    under.catch(() => undefined);
    await sandbox.destroy();
    await expect(under).rejects.toThrow(InfrastructureError);
  });

  it('whose connection is dropped says so, and the next attempt does it', async () => {
    await using scene = await Scene.open();
    const { file, order } = await scene.checkpoint();
    const sandbox = await scene.pod(scene.provider(), 'pull');
    scene.ground.simulator.faults.once(({ kind }) => kind === 'exec', { kind: 'drop', after: 0 });
    await expect(fetched(sandbox, 'pull', order)).rejects.toHaveProperty('code', 'sandbox.fetch');
    expect(await digestInside(sandbox, `${await fetched(sandbox, 'pull', order)}/policy.safetensors`)).toBe(file.digest);
  });

  it('tells no command line and no log of the API server where the file is had', async () => {
    await using scene = await Scene.open();
    const { order } = await scene.checkpoint();
    const sandbox = await scene.pod(scene.provider(), 'pull');
    const asked: string[] = [];
    scene.ground.simulator.faults.plan(({ query }) => {
      asked.push(String(query));
      return undefined;
    });
    await fetched(sandbox, 'pull', order);
    expect(asked.join()).toContain('pull.py');
    expect(asked.join()).not.toContain('proof');
  });
});

describe('a checkpoint that is much like the one before', () => {
  const before = weights(1_000_000, 1);
  const [first, second] = [safetensorsFile({ w: before }), safetensorsFile({ w: trained(before, 0.01, 2) })];

  it.each<FetchWay>(['pull', 'node-cache'])('comes as what differs from it: %s', async (way) => {
    await using scene = await Scene.open(['a']);
    scene.ground.simulator.nodeCaches.deploy(image);
    const sandbox = await scene.pod(scene.provider(), way);
    const [one, next] = [await scene.checkpoint('step-1.safetensors', first), await scene.checkpoint('step-2.safetensors', second)];
    await fetched(sandbox, way, one.order);
    const path = await fetched(sandbox, way, next.order);
    expect(await digestInside(sandbox, `${path}/step-2.safetensors`)).toBe(next.file.digest);
    const { deltas, bytes } = scene.origins.origin.served;
    expect(deltas).toBe(1);
    expect(bytes - first.length).toBeLessThan(0.05 * second.length);
  });

  it('comes whole where the node has removed that one meanwhile', async () => {
    await using scene = await Scene.open(['a']);
    scene.ground.simulator.nodeCaches.deploy(image, 2_100_000);
    const provider = scene.provider();
    const [one, next] = [await scene.checkpoint('policy.safetensors', first), await scene.checkpoint('policy.safetensors', second)];
    const sandbox = await scene.pod(provider, 'node-cache');
    await fetched(sandbox, 'node-cache', one.order);
    await sandbox.destroy();
    const other = await scene.pod(provider, 'node-cache');
    const path = await fetched(other, 'node-cache', next.order);
    expect(await digestInside(other, `${path}/policy.safetensors`)).toBe(next.file.digest);
    expect(scene.origins.origin.served).toMatchObject({ deltas: 0, bytes: first.length + second.length });
  });
});

describe('a node with a cache', () => {
  it('fetches once for all of its pods, and each of them has the very bytes', async () => {
    await using scene = await Scene.open();
    scene.ground.simulator.nodeCaches.deploy(image);
    const { file, order } = await scene.checkpoint();
    const provider = scene.provider();
    const pods = await Promise.all(Array.from({ length: 6 }, () => scene.pod(provider, 'node-cache')));
    const paths = await Promise.all(pods.map((pod) => fetched(pod, 'node-cache', order)));
    for (const [i, pod] of pods.entries()) expect(await digestInside(pod, `${paths[i]}/policy.safetensors`)).toBe(file.digest);
    expect(scene.origins.origin.served).toMatchObject({ requests: 2, bytes: 2 * BYTES });
  });

  it('has what another Muster brought, too', async () => {
    await using scene = await Scene.open(['a']);
    scene.ground.simulator.nodeCaches.deploy(image);
    const { order } = await scene.checkpoint();
    for (let i = 0; i < 2; i += 1) await fetched(await scene.pod(scene.provider(), 'node-cache'), 'node-cache', order);
    expect(scene.origins.origin.served.requests).toBe(1);
  });

  it('keeps what a pod uses, says that it is full, and makes room once the pod is gone', async () => {
    await using scene = await Scene.open(['a']);
    scene.ground.simulator.nodeCaches.deploy(image, 2 * BYTES);
    const [first, second, third] = [await scene.checkpoint(), await scene.checkpoint(), await scene.checkpoint()];
    const provider = scene.provider();
    const [one, other] = [await scene.pod(provider, 'node-cache'), await scene.pod(provider, 'node-cache')];
    await fetched(one, 'node-cache', first.order);
    const path = await fetched(other, 'node-cache', second.order);
    await expect(fetched(other, 'node-cache', third.order)).rejects.toThrow(/do not fit beside what is in use .*\(cache-full\)/);
    await one.destroy();
    expect(await digestInside(other, `${await fetched(other, 'node-cache', third.order)}/policy.safetensors`)).toBe(third.file.digest);
    expect(await digestInside(other, `${path}/policy.safetensors`)).toBe(second.file.digest);
  });

  it('that is gone is told of by its node’s name, so that the files come in another way', async () => {
    await using scene = await Scene.open(['a']);
    scene.ground.simulator.nodeCaches.deploy(image);
    scene.ground.simulator.nodeCaches.remove('a');
    const { order } = await scene.checkpoint();
    const sandbox = await scene.pod(scene.provider(), 'node-cache', 'pull');
    await expect(fetched(sandbox, 'node-cache', order)).rejects.toThrow('the node a has no cache');
    expect(await fetched(sandbox, 'pull', order)).toMatch('/muster/inbox/');
  });

  it('is asked again by Muster for as long as pods use what it has', async () => {
    await using scene = await Scene.open(['a']);
    scene.ground.simulator.nodeCaches.deploy(image);
    const { order } = await scene.checkpoint();
    await fetched(await scene.pod(scene.provider(), 'node-cache'), 'node-cache', order);
    const execs = (): number => scene.ground.simulator.requests.get('EXEC pods') ?? 0;
    const before = execs();
    scene.ground.clock.skip(1_000_000);
    await eventually('the node is asked again', () => execs() > before);
    expect(scene.origins.origin.served.requests).toBe(1);
  });
});
