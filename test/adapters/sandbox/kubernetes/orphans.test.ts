import nock from 'nock';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseSandboxId } from '../../../../src/kernel/ids.ts';
import type { SandboxProvider } from '../../../../src/pool/ports/sandbox.ts';
import { NEVER } from '../../../contract/sandbox-fixture.ts';
import { TEMPLATE } from '../../../support/evaluation-fixture.ts';
import { eventually } from '../../../support/eventually.ts';
import { TINY_RUNNERS } from '../../../support/kubernetes/faulty-evaluation.ts';
import { KubernetesContext } from '../../../support/kubernetes/kubernetes-context.ts';
import { failOnLeftoverProcesses } from '../../../support/no-leftovers.ts';
import { PodPart } from '../../../../src/adapters/sandbox/kubernetes/settings/pod-template.ts';

nock.restore();

const LEASES = 'leases';
const PROCESS = 'muster.dev/process';
const ELSEWHERE = JSON.stringify({ pid: 1, startTime: '1', bootId: 'another machine', pidNamespace: 'pid:[1]' });

describe('pods of a Muster that is on another machine', () => {
  failOnLeftoverProcesses();
  let context: KubernetesContext;
  let owner: SandboxProvider;
  let other: SandboxProvider;
  /** The cluster's clock, ahead of the test's beginning. It stands: how long a busy machine takes makes nothing older. */
  let aheadMs: number;

  beforeEach(async () => {
    aheadMs = 0;
    const begin = Date.now();
    context = await KubernetesContext.open(TINY_RUNNERS, { now: () => new Date(begin + aheadMs) });
    [owner, other] = [context.provider(), context.provider()];
  });
  afterEach(async () => {
    await other[Symbol.asyncDispose]();
    await owner[Symbol.asyncDispose]();
    await context[Symbol.asyncDispose]();
  });

  /** A pod of the owner's, whose process cannot be looked at from here. */
  async function podElsewhere(): Promise<void> {
    const command = ['perl', '/opt/runners/tiny-runner.pl'];
    const template = { ...TEMPLATE, command, limits: { ...TEMPLATE.limits, memoryBytes: 2 ** 26 }, providerPart: new PodPart(context.pod) };
    await owner.create({ id: parseSandboxId('s1'), template }, NEVER);
    context.simulator.store.change(LEASES, `muster-${owner.owner}`, (lease) => ({
      ...lease,
      metadata: { ...lease.metadata, annotations: { [PROCESS]: ELSEWHERE } },
    }));
  }

  it.each([
    ['behind', -7_200_000],
    ['ahead', 7_200_000],
  ])('are left alone while its lease is young, though the cluster’s clock is two hours %s', async (_where, skew) => {
    aheadMs = skew;
    await podElsewhere();
    expect(await other.sweep(NEVER)).toEqual([]);
    expect(context.simulator.podNames()).toHaveLength(1);
  });

  it('are swept once the lease has run out by the API server’s clock', async () => {
    await podElsewhere();
    aheadMs = 50_000;
    expect(await other.sweep(NEVER)).toEqual([]);
    aheadMs = 65_000;
    expect(await other.sweep(NEVER)).toEqual(['s1']);
    expect(await context.traces()).toEqual([]);
  });

  it('keep their lease, which the owner renews in time', async () => {
    await podElsewhere();
    const lease = (): string => JSON.stringify(context.simulator.store.get(LEASES, `muster-${owner.owner}`));
    const before = lease();
    aheadMs = 50_000;
    context.clock.skip(15_000);
    await eventually('the lease is renewed', () => lease() !== before);
    aheadMs = 100_000;
    expect(await other.sweep(NEVER)).toEqual([]);
  });

  it('are swept when their lease was deleted', async () => {
    await podElsewhere();
    context.simulator.store.remove(LEASES, `muster-${owner.owner}`);
    expect(await other.sweep(NEVER)).toEqual(['s1']);
  });
});
