import path from 'node:path';
import nock from 'nock';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createKubernetesProvider } from '../../../../src/adapters/sandbox/kubernetes/kubernetes-provider.ts';
import { namePod } from '../../../../src/adapters/sandbox/kubernetes/cluster/pod-labels.ts';
import {
  CLAIM_PERMISSIONS,
  listPermissions,
  POOL_PERMISSIONS,
  type Permission,
} from '../../../../src/adapters/sandbox/kubernetes/permissions.ts';
import { CACHE_PERMISSIONS } from '../../../../src/adapters/sandbox/kubernetes/preflight.ts';
import { InfrastructureError, InputError } from '../../../../src/kernel/errors.ts';
import { parseOwnerId, parseSandboxId } from '../../../../src/kernel/ids.ts';
import { ProviderBusyError } from '../../../../src/pool/ports/provider-busy.ts';
import { PodPart, type PodTemplate } from '../../../../src/adapters/sandbox/kubernetes/settings/pod-template.ts';
import type { Sandbox, SandboxProvider } from '../../../../src/pool/ports/sandbox.ts';
import type { SandboxTemplate } from '../../../../src/pool/ports/template.ts';
import { NEVER } from '../../../contract/sandbox-fixture.ts';
import { eventually } from '../../../support/eventually.ts';
import type { Rule } from '../../../support/kubernetes/access.ts';
import { renderChart } from '../../../support/kubernetes/chart.ts';
import { TINY_RUNNERS } from '../../../support/kubernetes/faulty-evaluation.ts';
import { KubernetesContext } from '../../../support/kubernetes/kubernetes-context.ts';
import { TEMPLATE } from '../../../support/evaluation-fixture.ts';
import { CACHE_RULES, CLAIM_RULES, POOL_RULES, RULES, rulesOf } from './roles.ts';

nock.restore();

const DIAL_BACK = {
  kind: 'dial-back',
  provider: 'kubernetes',
  host: '127.0.0.1',
  port: 0,
  plaintext: 'refused',
  python: 'python3',
  dialler: '/muster/runner/dialler.py',
} as const;

describe('before any sandbox is made on a cluster', () => {
  let context: KubernetesContext;
  let provider: SandboxProvider;

  beforeEach(async () => {
    context = await KubernetesContext.open(TINY_RUNNERS);
    provider = context.provider();
  });
  afterEach(async () => {
    await provider[Symbol.asyncDispose]();
    await context[Symbol.asyncDispose]();
  });

  const template = (changes: Partial<PodTemplate> = {}): SandboxTemplate => ({
    ...TEMPLATE,
    command: ['perl', '/opt/runners/tiny-runner.pl'],
    limits: { ...TEMPLATE.limits, memoryBytes: 2 ** 26 },
    providerPart: new PodPart({ ...context.pod, ...changes }),
  });
  const refusal = async (changes: Partial<PodTemplate> = {}): Promise<unknown> =>
    provider.describe(template(changes)).catch((error: unknown) => error);
  const make = (changes: Partial<PodTemplate> = {}): Promise<Sandbox> =>
    provider.create({ id: parseSandboxId('s1'), template: template(changes) }, NEVER);

  it('the Role of deploy/ is enough for a sandbox’s whole life and a sweep', async () => {
    context.simulator.identities.set('admin-token', { user: 'system:serviceaccount:muster:muster', rules: RULES });
    await provider.describe(template());
    const sandbox = await make();
    await sandbox.upload('weights', { kind: 'file', hostPath: import.meta.filename }, NEVER);
    await sandbox.destroy();
    expect(await provider.sweep(NEVER)).toEqual([]);
    await provider[Symbol.asyncDispose]();
    expect(context.log).toEqual([]);
    expect(await context.traces()).toEqual([]);
  });

  it('the Roles of deploy/ and of the chart equal the required permissions', () => {
    const single = (rules: readonly Rule[]): readonly string[] =>
      rules
        .flatMap(({ apiGroups: [group = ''], resources, verbs }) =>
          resources.flatMap((name) => verbs.map((verb) => `${verb} ${group} ${name}`)),
        )
        .sort();
    const asked = (permissions: readonly Permission[]): readonly string[] =>
      permissions
        .map(
          ({ verb, group, resource, subresource }) =>
            `${verb} ${group} ${subresource === undefined ? resource : `${resource}/${subresource}`}`,
        )
        .sort();
    const made = asked(listPermissions({ transport: { kind: 'attach' } }));
    expect(single(RULES)).toEqual(made);
    expect(single(CLAIM_RULES)).toEqual(asked(CLAIM_PERMISSIONS));
    expect(single([...CLAIM_RULES, ...POOL_RULES])).toEqual(asked(POOL_PERMISSIONS));
    expect(single(CACHE_RULES)).toEqual(asked(CACHE_PERMISSIONS));
    const charted = (claims: object): readonly string[] => single(rulesOf(renderChart({ claims })));
    expect(charted({})).toEqual(made);
    const both = new Set([...made, ...asked(CLAIM_PERMISSIONS)]);
    expect(charted({ enabled: true, warmPool: 'muster' })).toEqual([...both].sort());
    expect(charted({ enabled: true, ownPool: true })).toEqual([...new Set([...both, ...asked(POOL_PERMISSIONS)])].sort());
  });

  it('a missing rule is named, with the remedy', async () => {
    const rules = RULES.map(({ apiGroups, resources, verbs }) => ({
      apiGroups,
      resources,
      verbs: verbs.filter((verb) => verb !== 'deletecollection'),
    }));
    context.simulator.identities.set('admin-token', {
      user: 'muster',
      rules: rules.filter(({ resources }) => !resources.includes('pods/exec')),
    });
    const error = await refusal();
    expect(error).toBeInstanceOf(InputError);
    expect(error).toHaveProperty('code', 'kubernetes.forbidden');
    expect(String(error)).toContain('apiGroups: [""], resources: ["pods"], verbs: ["deletecollection"]');
    expect(String(error)).toContain('resources: ["pods/exec"], verbs: ["create"]');
    expect(String(error)).toContain('deploy/kubernetes/rbac.yaml');
  });

  it('rejected credentials are an input error', async () => {
    context.simulator.identities.clear();
    expect(await refusal()).toMatchObject({ code: 'kubernetes.unauthorized', kind: 'input' });
  });

  it('pods that dial back need no exec, and a NetworkPolicy of their own', async () => {
    const rules = RULES.filter(({ resources }) => !resources.includes('pods/exec'));
    context.simulator.identities.set('admin-token', { user: 'muster', rules });
    const transport = { ...DIAL_BACK, advertise: 'ws://127.0.0.1:0' };
    await provider.describe(template({ transport }));
    context.simulator.store.remove('networkpolicies', 'muster-dial-back');
    expect(await refusal({ transport })).toMatchObject({
      code: 'kubernetes.no-network-policy',
      message: expect.stringContaining('deploy/kubernetes/dial-back.yaml'),
    });
  });

  it('pods that are claimed cannot dial back', async () => {
    const transport = { ...DIAL_BACK, advertise: 'ws://127.0.0.1:0' };
    expect(await refusal({ transport, claims: { replicas: 1 } })).toMatchObject({ code: 'template.invalid', kind: 'input' });
  });

  it('pods that dial back need an address', async () => {
    expect(await refusal({ transport: DIAL_BACK })).toMatchObject({
      code: 'kubernetes.dial-back-address',
      kind: 'input',
      message: expect.stringContaining('kubernetes.dialBack.advertise is not set'),
    });
  });

  it('a missing namespace is named', async () => {
    expect(await refusal({ namespace: 'nowhere' })).toMatchObject({
      code: 'kubernetes.no-namespace',
      message: expect.stringContaining('"nowhere": kubectl create namespace nowhere'),
    });
  });

  it('a missing kubeconfig and a missing context are named', async () => {
    expect(await refusal({ kubeconfig: '/no/kubeconfig' })).toMatchObject({ code: 'kubernetes.config', kind: 'input' });
    expect(await refusal({ context: 'other' })).toMatchObject({ message: expect.stringContaining('no context "other", it has simulated') });
    vi.stubEnv('KUBECONFIG', undefined);
    vi.stubEnv('HOME', '/nonexistent');
    expect(await refusal({ kubeconfig: 'auto' })).toMatchObject({ message: expect.stringContaining('there is no kubeconfig: ') });
    vi.unstubAllEnvs();
  });

  it('an unknown runtime class is named', async () => {
    expect(await refusal({ runtimeClassName: 'gvisor' })).toMatchObject({ code: 'kubernetes.no-runtime-class' });
  });

  it('a namespace that does not deny its pods the network is refused, unless the template allows a network', async () => {
    context.simulator.store.remove('networkpolicies', 'muster-no-network');
    expect(await refusal()).toMatchObject({
      code: 'kubernetes.no-network-policy',
      message: expect.stringContaining('network-policy.yaml'),
    });
    await provider.describe(template({ network: 'cluster' }));
  });

  it('a namespace whose pods may connect to more than the sources of checkpoints is refused', async () => {
    expect(await refusal({ network: 'origin' })).toMatchObject({
      code: 'kubernetes.no-network-policy',
      message: expect.stringContaining('origin-policy.yaml'),
    });
    context.allowOrigin();
    await provider.describe(template({ network: 'origin' }));
    context.simulator.store.change('networkpolicies', 'muster-origin-only', (policy) => ({
      ...policy,
      spec: { ...Object(policy['spec']), egress: [{ ports: [{ port: 7680 }] }] },
    }));
    expect(await refusal({ network: 'origin' })).toMatchObject({ code: 'kubernetes.no-network-policy' });
  });

  it('a missing permission for the caches of nodes is named, with the remedy', async () => {
    context.simulator.identities.set('admin-token', {
      user: 'muster',
      rules: RULES.filter(({ resources }) => !resources.includes('pods/exec')),
    });
    const caches = { fetching: { ways: [], command: [], nodeCache: { namespace: 'muster-node-cache', claim: 'muster-node-cache' } } };
    expect(await refusal(caches)).toMatchObject({ code: 'kubernetes.forbidden', message: expect.stringContaining('"pods/exec"') });
    context.simulator.identities.set('admin-token', { user: 'muster', rules: [...RULES, ...CACHE_RULES] });
    await provider.describe(template(caches));
  });

  it('an unreachable API server is an infrastructure error', async () => {
    const kubeconfig = path.join(context.stateDir, 'kubeconfig');
    await context.simulator[Symbol.asyncDispose]();
    const hurried = createKubernetesProvider({ owner: parseOwnerId('hurried'), clock: context.clock });
    const error = await hurried.describe(template({ kubeconfig })).catch((failure: unknown) => failure);
    expect(error).toBeInstanceOf(InfrastructureError);
    expect(error).toHaveProperty('code', 'kubernetes.unreachable');
    await hurried[Symbol.asyncDispose]();
  });

  it('a used-up quota slows the pool down, and a pod that the namespace never allows is an error of the template', async () => {
    const answer = (code: number, message: string): void =>
      context.simulator.faults.once(({ method, path }) => method === 'POST' && path.endsWith('/pods'), { kind: 'status', code, message });
    answer(403, 'pods "x" is forbidden: exceeded quota: small, requested: pods=1, used: pods=10, limited: pods=10');
    await expect(make()).rejects.toBeInstanceOf(ProviderBusyError);
    answer(403, 'pods "x" is forbidden: maximum memory usage per Container is 1Gi, but limit is 2Gi');
    await expect(make()).rejects.toMatchObject({ code: 'template.limit-refused', kind: 'input' });
    answer(403, 'pods "x" is forbidden: violates PodSecurity "restricted:latest": seccompProfile');
    await expect(make()).rejects.toMatchObject({ code: 'template.refused-by-cluster', kind: 'input' });
    answer(422, 'Pod "x" is invalid: spec.containers[0].image: Required value');
    await expect(make()).rejects.toMatchObject({ code: 'template.refused-by-cluster', message: expect.stringContaining('Required value') });
    expect(await context.traces()).toEqual([]);
  });

  it('an unknown class is an error of the template, not a missing permission', async () => {
    await expect(make({ priorityClassName: 'urgent' })).rejects.toMatchObject({
      code: 'template.refused-by-cluster',
      kind: 'input',
      message: expect.stringContaining('no PriorityClass with name urgent was found; change the template'),
    });
    await expect(make({ runtimeClassName: 'kata' })).rejects.toMatchObject({
      code: 'template.refused-by-cluster',
      message: expect.stringContaining('RuntimeClass "kata" not found; change the template'),
    });
  });

  it('an image that cannot be pulled ends the creation, and the pool reports the reason meanwhile', async () => {
    await expect(make({ image: 'no-such-image:1' })).rejects.toMatchObject({
      code: 'template.image',
      kind: 'input',
      message: expect.stringContaining('ImagePullBackOff'),
    });
    expect(await context.traces()).toEqual([]);
  });

  it('pods without a node are reported while they wait, and given up in time', async () => {
    context.simulator.pods.capacity = { pods: 0, memoryBytes: 0 };
    const creation = make({ unschedulableSeconds: 600 });
    const given = creation.catch((error: unknown) => error);
    await eventually('the obstacle is known', () => provider.obstacles?.(template({ unschedulableSeconds: 600 })).length === 1);
    expect(provider.obstacles?.(template({ unschedulableSeconds: 600 }))).toEqual([
      { kind: 'unschedulable', sandboxes: 1, detail: 'Unschedulable: 0/1 nodes are available: 1 Too many pods.' },
    ]);
    context.clock.skip(600_000);
    expect(await given).toMatchObject({ code: 'sandbox.unschedulable', message: expect.stringContaining('Too many pods') });
    expect(context.simulator.podNames()).not.toContain(namePod(provider.owner, parseSandboxId('s1')));
  });
});
