import { readFileSync } from 'node:fs';
import path from 'node:path';
import nock from 'nock';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { AgentSandbox } from '../../../../src/adapters/sandbox/kubernetes/claims/agent-sandbox.ts';
import { parseClaim } from '../../../../src/adapters/sandbox/kubernetes/claims/claim-view.ts';
import { Cluster } from '../../../../src/adapters/sandbox/kubernetes/cluster/cluster.ts';
import { namePod } from '../../../../src/adapters/sandbox/kubernetes/cluster/pod-labels.ts';
import { parseSandboxId } from '../../../../src/kernel/ids.ts';
import { PodPart, type ClaimSettings } from '../../../../src/adapters/sandbox/kubernetes/settings/pod-template.ts';
import type { Sandbox, SandboxProvider } from '../../../../src/pool/ports/sandbox.ts';
import type { SandboxTemplate } from '../../../../src/pool/ports/template.ts';
import { firstLine, NEVER } from '../../../contract/sandbox-fixture.ts';
import { TEMPLATE } from '../../../support/evaluation-fixture.ts';
import { eventually } from '../../../support/eventually.ts';
import { objectSchema } from '../../../support/kubernetes/api-objects.ts';
import { TINY_RUNNERS } from '../../../support/kubernetes/faulty-evaluation.ts';
import { IMAGE, KubernetesContext } from '../../../support/kubernetes/kubernetes-context.ts';
import { CLAIMS, SANDBOXES, TEMPLATES, WARM_POOL, WARM_POOLS } from '../../../support/kubernetes/agent-sandbox-objects.ts';
import { failOnLeftoverProcesses } from '../../../support/no-leftovers.ts';
import { CLAIM_RULES, POOL_RULES } from './roles.ts';

nock.restore();

const OPERATORS = path.join(import.meta.dirname, '../../../../deploy/kubernetes/sandbox-template.yaml');
const ID = parseSandboxId('s1');
const LIMITS = { memoryBytes: 2 ** 30, processes: 16, cpus: 1, diskBytes: 2 ** 28, lifetimeSeconds: 3600 };

describe('sandboxes that are claimed from agent-sandbox', () => {
  failOnLeftoverProcesses();
  let context: KubernetesContext;
  let provider: SandboxProvider;
  /** The cluster's clock, ahead of this machine's. */
  let aheadMs: number;

  const open = async (claims: ClaimSettings): Promise<void> => {
    context = await KubernetesContext.open(TINY_RUNNERS, { now: () => new Date(Date.now() + aheadMs) }, claims);
    provider = context.provider();
  };
  beforeEach(() => {
    aheadMs = 0;
  });
  afterEach(async () => {
    await provider[Symbol.asyncDispose]();
    await context[Symbol.asyncDispose]();
  });

  const template = (changes: Partial<SandboxTemplate> = {}): SandboxTemplate => ({
    ...TEMPLATE,
    command: ['perl', '/opt/runners/tiny-runner.pl'],
    limits: LIMITS,
    providerPart: new PodPart(context.pod),
    ...changes,
  });
  const make = (): Promise<Sandbox> => provider.create({ id: ID, template: template() }, NEVER);
  const refusal = (): Promise<unknown> =>
    provider.describe(template()).then(
      () => undefined,
      (error: unknown) => error,
    );
  const failure = (): Promise<unknown> =>
    make().then(
      () => undefined,
      (error: unknown) => error,
    );
  const names = (resource: string): readonly string[] => context.simulator.names(resource);
  const warmPods = (): readonly string[] =>
    context.simulator.store.all('pods').flatMap(({ metadata }) => (metadata.labels?.[WARM_POOL] ? [metadata.name] : []));

  describe('of a warm pool that an operator has made', () => {
    beforeEach(() => open({ warmPool: 'muster' }));

    /** What deploy/kubernetes/sandbox-template.yaml has, with the image of these tests. */
    const operate = (edit: (text: string) => string = (text) => text): void => {
      const text = edit(readFileSync(OPERATORS, 'utf8').replaceAll('muster-runner:0.1.0', IMAGE).replace('replicas: 8', 'replicas: 2'));
      for (const document of parseAllDocuments(text)) {
        const object = objectSchema.parse(document.toJS());
        context.simulator.agentSandbox.create(object.kind === 'SandboxTemplate' ? TEMPLATES : WARM_POOLS, object);
      }
    };
    it('are reported while the API server refuses their pods, and given up in time', async () => {
      context.simulator.store.remove('priorityclasses', 'muster-sandbox');
      operate();
      const failed = failure();
      await eventually('the obstacle is known', () => (provider.obstacles?.(template())[0]?.detail ?? '').includes('PriorityClass'));
      expect(provider.obstacles?.(template())).toMatchObject([{ kind: 'unclaimed', sandboxes: 1 }]);
      context.clock.skip(60_000);
      expect(await failed).toMatchObject({ code: 'sandbox.unclaimed', message: expect.stringContaining('no PriorityClass with name') });
      expect(await context.traces()).toEqual([]);
    });

    it('are warm pods, need no more than the Role of deploy/, and leave the pool as it was', async () => {
      context.simulator.identities.set('admin-token', { user: 'system:serviceaccount:muster:muster', rules: CLAIM_RULES });
      operate();
      await eventually('the pool is warm', () => warmPods().length === 2);
      const warm = warmPods();
      await provider.describe(template());
      const sandbox = await make();
      expect(warm).toContain(context.podOf(provider.owner, ID));
      expect(await firstLine(sandbox)).toContain('"ready"');
      await sandbox.upload('weights', { kind: 'file', hostPath: import.meta.filename }, NEVER);
      await eventually('the pool is filled up', () => warmPods().length === 2);
      await sandbox.destroy();
      expect(await provider.sweep(NEVER)).toEqual([]);
      await provider[Symbol.asyncDispose]();
      expect(context.log).toEqual([]);
      expect(await context.traces()).toEqual([]);
      expect(names(WARM_POOLS)).toEqual(['muster']);
    });

    it('start cold when the pool is empty', async () => {
      operate((text) => text.replace('replicas: 2', 'replicas: 0'));
      const sandbox = await make();
      expect(await firstLine(sandbox)).toContain('"ready"');
      expect(context.podOf(provider.owner, ID)).toBe(namePod(provider.owner, ID));
      await sandbox.destroy();
      expect(await context.traces()).toEqual([]);
    });

    it('are refused before any is claimed when there is no such pool, or it names no template', async () => {
      expect(await refusal()).toMatchObject({ code: 'kubernetes.no-warm-pool', message: expect.stringContaining('"muster"') });
      operate();
      context.simulator.store.remove(TEMPLATES, 'muster');
      expect(await refusal()).toMatchObject({ code: 'kubernetes.no-sandbox-template', kind: 'input' });
    });

    it.each<readonly [string, string, string, string]>([
      [
        'a memory limit of another size',
        'memory: 1Gi, cpu: 1 }\n            requests',
        'memory: 2Gi, cpu: 1 }\n            requests',
        'containers[program].resources.limits.memory is "2Gi"',
      ],
      [
        'an inbox that the program can write',
        'inbox, readOnly: true',
        'inbox',
        'containers[program].volumeMounts[/muster/inbox].readOnly is missing, expected true',
      ],
      ['no container for the inbox', '        - name: inbox\n', '        - name: courier\n', 'containers[inbox] is missing'],
      [
        'a pod that starts its containers again',
        'restartPolicy: Never',
        'restartPolicy: Always',
        'restartPolicy is "Always", expected "Never"',
      ],
      [
        'a service-account token',
        'automountServiceAccountToken: false',
        'automountServiceAccountToken: true',
        'automountServiceAccountToken is true, expected false',
      ],
      ['the host’s network', '      hostname: sandbox', '      hostNetwork: true', 'hostNetwork is set'],
      [
        'a deadline that a warm pod would reach',
        '      hostname: sandbox',
        '      activeDeadlineSeconds: 60',
        'activeDeadlineSeconds is set',
      ],
      ['another runtime class', '      hostname: sandbox', '      runtimeClassName: kata', 'runtimeClassName is "kata"'],
      ['a capability', 'drop: [ALL]', 'drop: [NET_RAW]', 'capabilities.drop lacks "ALL"'],
    ])('are refused when the SandboxTemplate has %s', async (_what, from, to, problem) => {
      operate((text) => text.replace(from, to));
      expect(await refusal()).toMatchObject({
        code: 'template.sandbox-template',
        message: expect.stringContaining(problem),
      });
    });

    it('are refused when agent-sandbox allows them the internet, though another policy denies it', async () => {
      operate((text) => text.replace('  networkPolicy: {}\n', ''));
      await eventually('the controller has made its policy', () => names('networkpolicies').includes('muster-network-policy'));
      expect(await refusal()).toMatchObject({
        code: 'kubernetes.no-network-policy',
        message: expect.stringContaining('"muster-network-policy" in "muster" allows'),
      });
    });

    it('fail for good when the pool is deleted after it was checked', async () => {
      operate();
      await provider.describe(template());
      await (await make()).destroy();
      context.simulator.agentSandbox.delete(WARM_POOLS, 'muster', true);
      await eventually('the pool is gone', () => names(WARM_POOLS).length === 0);
      expect(await failure()).toMatchObject({ code: 'kubernetes.no-warm-pool', kind: 'input' });
      expect(await context.traces()).toEqual([]);
    });

    it('are reported while their claims go unanswered, and given up in time', async () => {
      operate();
      await eventually('the pool is warm', () => warmPods().length === 2);
      await eventually('the controller has looked at the template', () => names('networkpolicies').includes('muster-network-policy'));
      context.simulator.agentSandbox.isRunning = false;
      const failed = failure();
      await eventually('the obstacle is known', () => provider.obstacles?.(template()).length === 1);
      expect(provider.obstacles?.(template())).toEqual([{ kind: 'unclaimed', sandboxes: 1, detail: 'its controller has not spoken yet' }]);
      context.clock.skip(60_000);
      expect(await failed).toMatchObject({ code: 'sandbox.unclaimed', message: expect.stringContaining('does agent-sandbox') });
      expect(await context.traces()).toEqual([]);
    });

    it('are lost when their Sandbox or their claim is deleted', async () => {
      operate();
      for (const resource of [SANDBOXES, CLAIMS]) {
        const sandbox = await make();
        await firstLine(sandbox);
        const name = resource === CLAIMS ? namePod(provider.owner, ID) : context.podOf(provider.owner, ID);
        context.simulator.agentSandbox.delete(resource, name, false);
        expect(await sandbox.exit).toMatchObject({ kind: 'lost', detail: expect.stringContaining('deleted') });
        await sandbox.destroy();
        expect(await context.traces()).toEqual([]);
      }
    });
  });

  describe('of a warm pool of Muster’s own', () => {
    beforeEach(() => open({ replicas: 1 }));

    it('need the additional Role, and leave neither pool nor template', async () => {
      context.simulator.identities.set('admin-token', { user: 'muster', rules: CLAIM_RULES });
      expect(await refusal()).toMatchObject({
        code: 'kubernetes.forbidden',
        message: expect.stringContaining('resources: ["sandboxwarmpools"], verbs: ["create"]'),
      });
      context.simulator.identities.set('admin-token', { user: 'muster', rules: [...CLAIM_RULES, ...POOL_RULES] });
      await provider.describe(template());
      await (await make()).destroy();
      expect(names(WARM_POOLS)).toHaveLength(1);
      await provider[Symbol.asyncDispose]();
      expect(context.log).toEqual([]);
      expect([CLAIMS, WARM_POOLS, TEMPLATES, SANDBOXES, 'pods', 'leases'].flatMap(names)).toEqual([]);
    });

    it('are swept with their pool when their Muster was killed', async () => {
      const swept = await context.crashedOwner([['perl', '/opt/runners/tiny-runner.pl']]);
      expect(names(WARM_POOLS)).toHaveLength(1);
      expect(await provider.sweep(NEVER)).toEqual(swept);
      expect([CLAIMS, WARM_POOLS, TEMPLATES, SANDBOXES, 'pods'].flatMap(names)).toEqual([]);
    });

    it.each([
      ['behind', -7_200_000],
      ['ahead', 7_200_000],
    ])(
      'end by themselves once their lifetime has passed without a sweep, though the cluster’s clock is two hours %s',
      async (_where, skew) => {
        aheadMs = skew;
        await context.crashedOwner([['perl', '/opt/runners/tiny-runner.pl']]);
        // A lifetime of ten minutes, and what a claim and a pod may wait before it.
        aheadMs = skew + 1_100_000;
        context.simulator.agentSandbox.look();
        await eventually('the controllers have looked', () => names(CLAIMS).length === 1);
        aheadMs = skew + 1_400_000;
        context.simulator.agentSandbox.look();
        await eventually('the claim and its pod are gone', async () => (await context.traces()).length === 0);
        expect(await context.sweep()).toEqual([]);
      },
    );

    it('are refused on a cluster without agent-sandbox, where a sweep finds nothing to do', async () => {
      context.simulator.agentSandbox.isInstalled = false;
      expect(await refusal()).toMatchObject({
        code: 'kubernetes.no-agent-sandbox',
        message: expect.stringContaining('extensions.agents.x-k8s.io/v1beta1'),
      });
      expect(await provider.sweep(NEVER)).toEqual([]);
    });

    it('are not awaited when no controller handles the new pool', async () => {
      context.simulator.agentSandbox.isRunning = false;
      const failed = failure();
      await eventually('the controller is waited for', () => (context.simulator.requests.get('GET sandboxtemplates') ?? 0) > 2);
      context.clock.skip(30_000);
      expect(await failed).toMatchObject({ code: 'kubernetes.no-controller', kind: 'infrastructure' });
    });

    it('cost three requests each', async () => {
      await (await make()).destroy();
      const before = new Map(context.simulator.requests);
      const sandbox = await provider.create({ id: parseSandboxId('s2'), template: template() }, NEVER);
      await sandbox.destroy();
      // The owner's lease is renewed by the clock, whatever is made.
      const spent = [...context.simulator.requests].flatMap(([kind, count]) =>
        count > (before.get(kind) ?? 0) && kind !== 'PATCH leases' ? [`${kind} ${count - (before.get(kind) ?? 0)}`] : [],
      );
      expect(spent.sort()).toEqual(['DELETE sandboxclaims 1', 'EXEC pods 1', 'GET pods 1', 'POST sandboxclaims 1']);
    });
  });

  it('are listed page by page', async () => {
    await open({ replicas: 0 });
    for (let i = 0; i < 501; i += 1) {
      const metadata = { name: `claim-${i}`, labels: { many: 'yes' } };
      const claim = {
        apiVersion: 'extensions.agents.x-k8s.io/v1beta1',
        kind: 'SandboxClaim',
        metadata,
        spec: { warmPoolRef: { name: 'none' } },
      };
      context.simulator.store.create(CLAIMS, objectSchema.parse(claim));
    }
    using cluster = new Cluster(context.pod, context.clock);
    const { items } = await new AgentSandbox(cluster).list(CLAIMS, (object) => parseClaim(object).metadata.name, 'many=yes', NEVER);
    expect(new Set(items).size).toBe(501);
  });
});
