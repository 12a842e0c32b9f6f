import nock from 'nock';
import { describe, expect, it } from 'vitest';
import { InfrastructureError } from '../../../../src/kernel/errors.ts';
import type { FetchWay } from '../../../../src/kernel/fetching.ts';
import { eventually } from '../../../support/eventually.ts';
import { runnerImage } from '../../../support/kubernetes/runner-image.ts';
import { safetensorsFile, trained, weights } from '../../../policy-distribution/safetensors-file.ts';
import { BYTES, digestInside, fetched, FetchingFixture } from './fetching-fixture.ts';

nock.restore();
const runner = await runnerImage();
const { image } = runner;

describe('a pod that fetches', () => {
  it('has the exact bytes, which its program cannot change, and does not fetch them twice', async () => {
    await using fixture = await FetchingFixture.open(runner);
    const { file, order } = await fixture.checkpoint('actor/policy.safetensors');
    const sandbox = await fixture.pod(fixture.provider(), 'pull');
    const both = await Promise.all([fetched(sandbox, 'pull', order), fetched(sandbox, 'pull', order)]);
    expect(new Set(both).size).toBe(1);
    expect(await digestInside(sandbox, `${both[0]}/actor/policy.safetensors`)).toBe(file.digest);
    expect(fixture.origins.origin.served).toMatchObject({ requests: 1, bytes: BYTES });
  });

  it('whose link has expired has nothing, and reports which file and why; a new link works', async () => {
    await using fixture = await FetchingFixture.open(runner);
    const { file, order } = await fixture.checkpoint();
    const sandbox = await fixture.pod(fixture.provider(), 'pull');
    await fixture.origins.clock.advance(3_600_000);
    const refused = fetched(sandbox, 'pull', order);
    await expect(refused).rejects.toMatchObject({ code: 'sandbox.fetch', kind: 'infrastructure' });
    await expect(refused).rejects.toThrow(`policy.safetensors (${file.digest}): the server answered 403 the link has expired (refused)`);
    const anew = { ...order, files: [{ ...file, url: await fixture.origins.origin.link(file) }] };
    expect(await digestInside(sandbox, `${await fetched(sandbox, 'pull', anew)}/policy.safetensors`)).toBe(file.digest);
  });

  it('and is destroyed meanwhile ends the fetch', async () => {
    await using fixture = await FetchingFixture.open(runner);
    const { order } = await fixture.checkpoint('large', 50_000_000);
    const sandbox = await fixture.pod(fixture.provider(), 'pull');
    const under = fetched(sandbox, 'pull', order);
    under.catch(() => undefined);
    await sandbox.destroy();
    await expect(under).rejects.toThrow(InfrastructureError);
  });

  it('whose connection drops reports it, and the next attempt succeeds', async () => {
    await using fixture = await FetchingFixture.open(runner);
    const { file, order } = await fixture.checkpoint();
    const sandbox = await fixture.pod(fixture.provider(), 'pull');
    fixture.context.simulator.faults.once(({ kind }) => kind === 'exec', { kind: 'drop', after: 0 });
    await expect(fetched(sandbox, 'pull', order)).rejects.toHaveProperty('code', 'sandbox.fetch');
    expect(fixture.context.simulator.faults.struck).toHaveLength(1);
    expect(await digestInside(sandbox, `${await fetched(sandbox, 'pull', order)}/policy.safetensors`)).toBe(file.digest);
  });

  it('keeps links out of command lines and logs of the API server', async () => {
    await using fixture = await FetchingFixture.open(runner);
    const { order } = await fixture.checkpoint();
    const sandbox = await fixture.pod(fixture.provider(), 'pull');
    const asked: string[] = [];
    fixture.context.simulator.faults.plan(({ query }) => {
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

  it.each<FetchWay>(['pull', 'shared-cache'])('comes as what differs from it: %s', async (way) => {
    await using fixture = await FetchingFixture.open(runner, ['a']);
    fixture.context.simulator.nodeCaches.deploy(image);
    const sandbox = await fixture.pod(fixture.provider(), way);
    const [one, next] = [await fixture.checkpoint('step-1.safetensors', first), await fixture.checkpoint('step-2.safetensors', second)];
    await fetched(sandbox, way, one.order);
    const path = await fetched(sandbox, way, next.order);
    expect(await digestInside(sandbox, `${path}/step-2.safetensors`)).toBe(next.file.digest);
    const { deltas, bytes } = fixture.origins.origin.served;
    expect(deltas).toBe(1);
    expect(bytes - first.length).toBeLessThan(0.05 * second.length);
  });

  it('comes whole if the node has removed the earlier one meanwhile', async () => {
    await using fixture = await FetchingFixture.open(runner, ['a']);
    fixture.context.simulator.nodeCaches.deploy(image, 2_100_000);
    const provider = fixture.provider();
    const [one, next] = [await fixture.checkpoint('policy.safetensors', first), await fixture.checkpoint('policy.safetensors', second)];
    const sandbox = await fixture.pod(provider, 'shared-cache');
    await fetched(sandbox, 'shared-cache', one.order);
    await sandbox.destroy();
    const other = await fixture.pod(provider, 'shared-cache');
    const path = await fetched(other, 'shared-cache', next.order);
    expect(await digestInside(other, `${path}/policy.safetensors`)).toBe(next.file.digest);
    expect(fixture.origins.origin.served).toMatchObject({ deltas: 0, bytes: first.length + second.length });
  });
});

describe('a node with a cache', () => {
  it('fetches once for all of its pods, and each of them has the exact bytes', async () => {
    await using fixture = await FetchingFixture.open(runner);
    fixture.context.simulator.nodeCaches.deploy(image);
    const { file, order } = await fixture.checkpoint();
    const provider = fixture.provider();
    const pods = await Promise.all(Array.from({ length: 6 }, () => fixture.pod(provider, 'shared-cache')));
    const paths = await Promise.all(pods.map((pod) => fetched(pod, 'shared-cache', order)));
    for (const [i, pod] of pods.entries()) expect(await digestInside(pod, `${paths[i]}/policy.safetensors`)).toBe(file.digest);
    expect(fixture.origins.origin.served).toMatchObject({ requests: 2, bytes: 2 * BYTES });
  });

  it('has files that another Muster brought', async () => {
    await using fixture = await FetchingFixture.open(runner, ['a']);
    fixture.context.simulator.nodeCaches.deploy(image);
    const { order } = await fixture.checkpoint();
    for (let i = 0; i < 2; i += 1) await fetched(await fixture.pod(fixture.provider(), 'shared-cache'), 'shared-cache', order);
    expect(fixture.origins.origin.served.requests).toBe(1);
  });

  it('keeps a file that a pod uses, reports that it is full, and makes room once the pod is gone', async () => {
    await using fixture = await FetchingFixture.open(runner, ['a']);
    fixture.context.simulator.nodeCaches.deploy(image, 2 * BYTES);
    const [first, second, third] = [await fixture.checkpoint(), await fixture.checkpoint(), await fixture.checkpoint()];
    const provider = fixture.provider();
    const [one, other] = [await fixture.pod(provider, 'shared-cache'), await fixture.pod(provider, 'shared-cache')];
    await fetched(one, 'shared-cache', first.order);
    const path = await fetched(other, 'shared-cache', second.order);
    await expect(fetched(other, 'shared-cache', third.order)).rejects.toThrow(/do not fit beside what is in use .*\(cache-full\)/);
    await one.destroy();
    expect(await digestInside(other, `${await fetched(other, 'shared-cache', third.order)}/policy.safetensors`)).toBe(third.file.digest);
    expect(await digestInside(other, `${path}/policy.safetensors`)).toBe(second.file.digest);
  });

  it('that fails is reported with the name of its node, and the files come another way', async () => {
    await using fixture = await FetchingFixture.open(runner, ['a']);
    fixture.context.simulator.nodeCaches.deploy(image);
    fixture.context.simulator.nodeCaches.remove('a');
    const { order } = await fixture.checkpoint();
    const sandbox = await fixture.pod(fixture.provider(), 'shared-cache', 'pull');
    await expect(fetched(sandbox, 'shared-cache', order)).rejects.toThrow('the node a has no cache');
    expect(await fetched(sandbox, 'pull', order)).toMatch('/muster/inbox/');
  });

  it('keeps files while Muster renews its request for their pods', async () => {
    await using fixture = await FetchingFixture.open(runner, ['a']);
    fixture.context.simulator.nodeCaches.deploy(image);
    const { order } = await fixture.checkpoint();
    await fetched(await fixture.pod(fixture.provider(), 'shared-cache'), 'shared-cache', order);
    const execs = (): number => fixture.context.simulator.requests.get('EXEC pods') ?? 0;
    const before = execs();
    fixture.context.clock.skip(1_000_000);
    await eventually('the node is asked again', () => execs() > before);
    expect(fixture.origins.origin.served.requests).toBe(1);
  });
});
