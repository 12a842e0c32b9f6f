import nock from 'nock';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createKubernetesProvider } from '../../src/adapters/sandbox/kubernetes/kubernetes-provider.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import { parseOwnerId, parseSandboxId } from '../../src/kernel/ids.ts';
import { PodPart, type PodTemplate } from '../../src/adapters/sandbox/kubernetes/settings/pod-template.ts';
import type { SandboxProvider } from '../../src/pool/ports/sandbox.ts';
import type { SandboxTemplate } from '../../src/pool/ports/template.ts';
import { NEVER } from '../contract/sandbox-fixture.ts';
import { clusterPod, podsOf, unavailable } from './cluster-under-test.ts';

nock.restore();

const OWNER = parseOwnerId(`refused-${process.pid}`);
const LIMITS = { memoryBytes: 2 ** 27, processes: 8, cpus: 1, diskBytes: 2 ** 20, lifetimeSeconds: 600 };

describe.runIf(unavailable === undefined)('what a real cluster refuses', { timeout: 300_000 }, () => {
  let provider: SandboxProvider;
  beforeAll(() => {
    provider = createKubernetesProvider({ owner: OWNER, clock: systemClock });
  });
  afterAll(async () => {
    await provider[Symbol.asyncDispose]();
    expect(await podsOf(OWNER)).toEqual([]);
  });

  const template = (changes: Partial<PodTemplate>, limits: Partial<typeof LIMITS> = {}): SandboxTemplate => ({
    name: 'refused',
    command: ['cat'],
    environment: {},
    mounts: [],
    network: 'none',
    limits: { ...LIMITS, ...limits },
    demands: [],
    providerPart: new PodPart(clusterPod(changes)),
  });
  let made = 0;
  const make = (changes: Partial<PodTemplate>, limits: Partial<typeof LIMITS> = {}): Promise<unknown> =>
    provider.create({ id: parseSandboxId(`s${(made += 1)}`), template: template(changes, limits) }, NEVER);

  it('an unknown runtime class and priority class are errors of the template', async () => {
    await expect(make({ runtimeClassName: 'no-such-class' })).rejects.toMatchObject({ code: 'template.refused-by-cluster', kind: 'input' });
    await expect(make({ priorityClassName: 'no-such-class' })).rejects.toMatchObject({
      code: 'template.refused-by-cluster',
      kind: 'input',
    });
  });

  it('an image that cannot be pulled is named', async () => {
    const image = 'registry.invalid/no-such-image:1';
    await expect(make({ image })).rejects.toMatchObject({ code: 'template.image', message: expect.stringContaining(image) });
    await expect(make({ image, imagePullPolicy: 'Never' })).rejects.toMatchObject({ code: 'template.image' });
  });

  it('a pod that no node has room for is given up in time, in the scheduler’s words', async () => {
    const creation = make({ requestedShare: 1, unschedulableSeconds: 5 }, { memoryBytes: 2 ** 45 });
    await expect(creation).rejects.toMatchObject({
      code: 'sandbox.unschedulable',
      message: expect.stringContaining('Insufficient memory'),
    });
  });

  it('a namespace without permissions, or a missing one, is refused before any pod', async () => {
    await expect(provider.describe(template({ namespace: 'no-such-namespace' }))).rejects.toMatchObject({ kind: 'input' });
  });
});
