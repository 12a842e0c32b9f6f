import nock from 'nock';
import { beforeAll, describe, expect, it } from 'vitest';
import { dialBackImage, type DialBackImage } from '../../../../support/kubernetes/dial-back-image.ts';
import { safetensorsFile, trained, weights } from '../../../../policy-distribution/safetensors-file.ts';
import { BYTES, digestInside, fetched, FetchingFixture } from '../fetching-fixture.ts';

nock.restore();
let dialling: DialBackImage;
beforeAll(async () => {
  dialling = await dialBackImage();
});

/** Programs that the API server has started in containers. */
function execs({ context }: FetchingFixture): number {
  return context.simulator.requests.get('EXEC pods') ?? 0;
}

describe('a pod that dials back and fetches', () => {
  it('has the exact bytes without any exec through the API server', async () => {
    await using fixture = await FetchingFixture.open(dialling);
    const { file, order } = await fixture.checkpoint('actor/policy.safetensors');
    const sandbox = await fixture.pod(fixture.provider(), 'pull');
    const both = await Promise.all([fetched(sandbox, 'pull', order), fetched(sandbox, 'pull', order)]);
    expect(new Set(both).size).toBe(1);
    expect(await digestInside(sandbox, `${both[0]}/actor/policy.safetensors`)).toBe(file.digest);
    expect([fixture.origins.origin.served.bytes, execs(fixture)]).toEqual([BYTES, 0]);
  });

  it('whose link has expired has nothing, and reports which file and why; a new link works', async () => {
    await using fixture = await FetchingFixture.open(dialling);
    const { file, order } = await fixture.checkpoint();
    const sandbox = await fixture.pod(fixture.provider(), 'pull');
    await fixture.origins.clock.advance(3_600_000);
    const text = `policy.safetensors (${file.digest}): the server answered 403 the link has expired (refused)`;
    await expect(fetched(sandbox, 'pull', order)).rejects.toThrow(text);
    const anew = { ...order, files: [{ ...file, url: await fixture.origins.origin.link(file) }] };
    expect(await digestInside(sandbox, `${await fetched(sandbox, 'pull', anew)}/policy.safetensors`)).toBe(file.digest);
  });

  it('gets the next checkpoint of a run as a delta', async () => {
    const before = weights(1_000_000, 1);
    const [first, second] = [safetensorsFile({ w: before }), safetensorsFile({ w: trained(before, 0.01, 2) })];
    await using fixture = await FetchingFixture.open(dialling);
    const sandbox = await fixture.pod(fixture.provider(), 'pull');
    const [one, next] = [await fixture.checkpoint('step-1.safetensors', first), await fixture.checkpoint('step-2.safetensors', second)];
    await fetched(sandbox, 'pull', one.order);
    expect(await digestInside(sandbox, `${await fetched(sandbox, 'pull', next.order)}/step-2.safetensors`)).toBe(next.file.digest);
    expect(fixture.origins.origin.served.deltas).toBe(1);
  });

  it('and is destroyed meanwhile ends the fetch', async () => {
    await using fixture = await FetchingFixture.open(dialling);
    const { order } = await fixture.checkpoint('large', 50_000_000);
    const sandbox = await fixture.pod(fixture.provider(), 'pull');
    const under = fetched(sandbox, 'pull', order);
    under.catch(() => undefined);
    await sandbox.destroy();
    await expect(under).rejects.toHaveProperty('kind', 'infrastructure');
  });
});

describe('a node whose pods dial back', () => {
  it('fetches once for all of them, by the one program that is started in its cache', async () => {
    await using fixture = await FetchingFixture.open(dialling, ['a']);
    fixture.context.simulator.nodeCaches.deploy(dialling.image);
    const { file, order } = await fixture.checkpoint();
    const provider = fixture.provider();
    const pods = await Promise.all(Array.from({ length: 4 }, () => fixture.pod(provider, 'shared-cache')));
    const paths = await Promise.all(pods.map((pod) => fetched(pod, 'shared-cache', order)));
    for (const [i, pod] of pods.entries()) expect(await digestInside(pod, `${paths[i]}/policy.safetensors`)).toBe(file.digest);
    expect([fixture.origins.origin.served.bytes, execs(fixture)]).toEqual([BYTES, 1]);
  });
});
