import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { createPodTemplate } from '../../../../src/adapters/sandbox/kubernetes/claims/claim-manifest.ts';
import { findShortcomings } from '../../../../src/adapters/sandbox/kubernetes/claims/sandbox-template-check.ts';
import { PROGRAM_CONTAINER } from '../../../../src/adapters/sandbox/kubernetes/pods/container-names.ts';
import { createPodManifest } from '../../../../src/adapters/sandbox/kubernetes/pods/pod-manifest.ts';
import type { PodHold } from '../../../../src/adapters/sandbox/kubernetes/exec/pod-line.ts';
import { getPod, createTemplateForPods as configured } from '../../../../src/adapters/sandbox/kubernetes/pods/kubernetes-template.ts';
import { byteSizeSchema } from '../../../../src/config/byte-size.ts';
import { loadConfig } from '../../../../src/app/configuration.ts';
import { getValueAt, isMapping } from '../../../../src/kernel/documents/path.ts';
import { parseOwnerId, parseSandboxId } from '../../../../src/kernel/ids.ts';
import { TEMPLATE } from '../../../support/evaluation-fixture.ts';
import { isHelmInstalled, renderChart, renderWithHelm } from '../../../support/kubernetes/chart.ts';
import { podTemplate } from '../../../support/kubernetes/kubernetes-context.ts';
import { getPodPart, PodPart } from '../../../../src/adapters/sandbox/kubernetes/settings/pod-template.ts';
import { kubernetesSchema } from '../../../../src/adapters/sandbox/kubernetes/settings/schema.ts';

const DEPLOY = path.join(import.meta.dirname, '../../../../deploy/kubernetes');

/** Values that cannot work together, and why. */
const REFUSED: readonly (readonly [values: object, reason: string])[] = [
  [{ dialBack: { enabled: true }, claims: { enabled: true, ownPool: true } }, 'dialBack.enabled and claims exclude each other'],
  [{ claims: { enabled: true, ownPool: true, warmPool: 'muster' } }, 'claims.warmPool and claims.ownPool exclude each other'],
  [{ claims: { warmPool: 'muster' } }, 'need claims.enabled: true'],
  [{ claims: { enabled: true } }, 'claims.enabled needs a pool'],
  [{ delivery: { nodeCache: true } }, 'delivery.nodeCache needs delivery.enabled: true'],
  [{ server: { enabled: false }, delivery: { enabled: true } }, 'need server.enabled: true'],
  [{ dialBack: { enabled: true } }, 'dialBack.scheme: wss needs dialBack.tlsSecret'],
  [{ dialBack: { enabled: true, scheme: 'ws' } }, 'dialBack.scheme: ws needs dialBack.plaintext: allowed'],
  [{ dialBack: { scheme: 'https' } }, 'has to be wss or ws'],
  [{ dialBack: { enabled: true, tlsSecret: 'dial-back', port: 7677 } }, 'dialBack.port has to differ from server.port'],
  [{ delivery: { enabled: true, port: 7677 } }, 'delivery.port has to differ'],
];

const RENDERED: readonly object[] = [
  { dialBack: { enabled: true, scheme: 'ws', plaintext: 'allowed' } },
  { dialBack: { enabled: true, tlsSecret: 'dial-back' }, delivery: { enabled: true, nodeCache: true } },
  { claims: { enabled: true, warmPool: 'muster' }, delivery: { enabled: true } },
  { server: { enabled: false }, claims: { enabled: true } },
];
const POD = podTemplate('auto', {
  runtimeClassName: 'gvisor',
  priorityClassName: 'low',
  nodeSelector: { pool: 'evaluation' },
  requestedShare: 0.5,
});
const LIMITS = { memoryBytes: 2 ** 30, processes: 10, cpus: 1.5, diskBytes: 4_000_000, lifetimeSeconds: 600 };
const SPEC = { id: parseSandboxId('s7'), template: { ...TEMPLATE, limits: LIMITS, environment: { OMP_NUM_THREADS: '1' } } };
const manifest = createPodManifest(parseOwnerId('muster-1'), SPEC, POD);

describe('the pod of a sandbox', () => {
  it('is confined as the Pod Security level "restricted" demands, and more', () => {
    const { spec } = manifest;
    expect(spec?.automountServiceAccountToken).toBe(false);
    expect(spec?.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
    expect(spec?.hostNetwork ?? spec?.hostPID ?? spec?.hostIPC).toBeUndefined();
    expect(spec?.containers).toHaveLength(2);
    for (const { securityContext, resources } of spec?.containers ?? []) {
      expect(securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        runAsNonRoot: true,
        runAsUser: 1000,
        runAsGroup: 1000,
        capabilities: { drop: ['ALL'] },
        seccompProfile: { type: 'RuntimeDefault' },
      });
      expect(Object.keys(resources?.limits ?? {}).sort()).toEqual(['cpu', 'memory']);
    }
    for (const { emptyDir } of spec?.volumes ?? []) expect(emptyDir).toBeDefined();
  });

  it('gives the program its limits, a writable space of bounded size, and an inbox that it cannot write', () => {
    const program = manifest.spec?.containers.find(({ name }) => name === PROGRAM_CONTAINER);
    expect(program?.resources).toEqual({
      limits: { memory: '1073741824', cpu: '1500m' },
      requests: { memory: '536870912', cpu: '750m' },
    });
    expect(program?.volumeMounts?.find(({ mountPath }) => mountPath === '/muster/inbox')?.readOnly).toBe(true);
    expect(program?.env).toContainEqual({ name: 'OMP_NUM_THREADS', value: '1' });
    const sizes = manifest.spec?.volumes?.map(({ name, emptyDir }) => [name, emptyDir?.sizeLimit]);
    expect(sizes).toEqual([
      ['tmp', '3000000'],
      ['shared-memory', '1000000'],
      ['inbox', undefined],
    ]);
  });

  it('names its owner, its template, and when it ends without its Muster', () => {
    expect(manifest.metadata?.name).toBe('muster-1-s7');
    expect(manifest.metadata?.labels).toEqual({
      'app.kubernetes.io/managed-by': 'muster',
      'muster.dev/owner': 'muster-1',
      'muster.dev/sandbox': 's7',
      'muster.dev/pool': 'local',
      'muster.dev/network': 'none',
      'muster.dev/template-digest': expect.stringMatching(/^[0-9a-f]{16}$/),
      'muster.dev/generation': '1',
    });
    expect(manifest.spec).toMatchObject({
      activeDeadlineSeconds: 660,
      restartPolicy: 'Never',
      runtimeClassName: 'gvisor',
      priorityClassName: 'low',
      nodeSelector: { pool: 'evaluation' },
    });
  });

  it('is selected by the NetworkPolicies of deploy/ and of the chart', () => {
    const labels = manifest.metadata?.labels ?? {};
    const policies = [parse(readFileSync(path.join(DEPLOY, 'network-policy.yaml'), 'utf8')), ...renderChart()].filter(
      (document) => Object(document).kind === 'NetworkPolicy',
    );
    expect(policies).toHaveLength(2);
    for (const policy of policies) {
      expect(labels).toMatchObject(Object(policy).spec.podSelector.matchLabels);
      expect(Object(policy).spec).toMatchObject({ policyTypes: ['Ingress', 'Egress'] });
      expect(Object(policy).spec.egress).toBeUndefined();
    }
  });
});

describe('the pod of a sandbox that dials back', () => {
  const transport = {
    kind: 'dial-back',
    provider: 'kubernetes',
    host: '127.0.0.1',
    port: 0,
    plaintext: 'refused',
    python: 'python3',
    dialler: '/dialler.py',
  } as const;
  const env = [{ name: 'MUSTER_DIAL_URL', value: 'wss://muster:7678/dial-back/muster-1-s7/program' }];
  const hold: PodHold = {
    hostAliases: [{ ip: '10.0.0.1', hostnames: ['muster'] }],
    container: () => ({ command: ['python3', '-I', '/dialler.py'], env, terminationMessagePolicy: 'FallbackToLogsOnError' }),
  };
  const pod = podTemplate('auto', { transport });
  const dialling = createPodManifest(
    parseOwnerId('muster-1'),
    { ...SPEC, template: { ...SPEC.template, providerPart: new PodPart(pod) } },
    pod,
    hold,
  );

  it('runs the dialler in both containers, which are equally confined', () => {
    const plain = createPodManifest(parseOwnerId('muster-1'), SPEC, podTemplate('auto'));
    expect(dialling.spec?.hostAliases).toEqual([{ ip: '10.0.0.1', hostnames: ['muster'] }]);
    for (const [i, container] of (dialling.spec?.containers ?? []).entries()) {
      expect(container).toMatchObject({ command: ['python3', '-I', '/dialler.py'], terminationMessagePolicy: 'FallbackToLogsOnError' });
      expect(container.env).toEqual(expect.arrayContaining(env));
      expect(container.securityContext).toEqual(plain.spec?.containers[i]?.securityContext);
      expect(container.volumeMounts).toEqual(plain.spec?.containers[i]?.volumeMounts);
    }
  });

  it('may reach only Muster’s port by the NetworkPolicies of deploy/ and of the chart', () => {
    const documents = parseAllDocuments(readFileSync(path.join(DEPLOY, 'dial-back.yaml'), 'utf8')).map((document): unknown =>
      document.toJS(),
    );
    const policies = [...documents, ...renderChart({ dialBack: { enabled: true, tlsSecret: 'dial-back' } })].filter(
      (document) => Object(document).metadata.name === 'muster-dial-back' && Object(document).kind === 'NetworkPolicy',
    );
    expect(policies).toHaveLength(2);
    for (const policy of policies) {
      const { podSelector, policyTypes, egress } = Object(policy).spec;
      expect(dialling.metadata?.labels).toMatchObject(podSelector.matchLabels);
      const [{ key, operator, values }] = podSelector.matchExpressions;
      expect([key, operator]).toEqual(['muster.dev/network', 'In']);
      expect(values).toContain(dialling.metadata?.labels?.['muster.dev/network']);
      expect(values).not.toContain(manifest.metadata?.labels?.['muster.dev/network']);
      expect(policyTypes).toEqual(['Ingress', 'Egress']);
      expect(egress).toEqual([{ to: [{ podSelector: expect.any(Object) }], ports: [{ protocol: 'TCP', port: 7678 }] }]);
    }
  });

  it('may have a network if its template says so', () => {
    const open = podTemplate('auto', { transport, network: 'cluster' });
    const { metadata } = createPodManifest(
      parseOwnerId('muster-1'),
      { ...SPEC, template: { ...SPEC.template, providerPart: new PodPart(open) } },
      open,
      hold,
    );
    expect(metadata?.labels?.['muster.dev/network']).toBe('cluster');
  });
});

describe('what is in deploy/', () => {
  it('is YAML, and the kustomization lists all of it', () => {
    const { resources } = Object(parse(readFileSync(path.join(DEPLOY, 'kustomization.yaml'), 'utf8')));
    const caches = Object(parse(readFileSync(path.join(DEPLOY, 'node-cache/kustomization.yaml'), 'utf8'))).resources;
    const ofCaches = caches.map((file: unknown) => `node-cache/${String(file)}`);
    for (const file of [
      ...resources,
      'disruption-budget.yaml',
      'claims-rbac.yaml',
      'own-pool-rbac.yaml',
      'sandbox-template.yaml',
      ...ofCaches,
    ]) {
      for (const document of parseAllDocuments(readFileSync(path.join(DEPLOY, String(file)), 'utf8'))) {
        expect(document.errors).toEqual([]);
        expect(document.toJS()).toMatchObject({
          apiVersion: expect.any(String),
          kind: expect.any(String),
          metadata: { name: expect.any(String) },
        });
      }
    }
  });

  it('has a chart that renders with everything on and off, and contains a valid configuration', () => {
    const kinds = (documents: readonly unknown[]): readonly string[] => documents.map((document) => String(Object(document).kind)).sort();
    const off = { server: { enabled: false }, networkPolicy: { enabled: false }, priorityClass: { enabled: false } };
    expect(kinds(renderChart(off))).toEqual(['Role', 'RoleBinding', 'ServiceAccount']);
    const all = renderChart({
      podDisruptionBudget: { enabled: true },
      sandbox: { runtimeClassName: 'gvisor' },
      server: { storeSecret: 'store' },
      dialBack: { enabled: true, tlsSecret: 'dial-back' },
    });
    expect(kinds(all)).toEqual([
      'ConfigMap',
      'Deployment',
      'NetworkPolicy',
      'NetworkPolicy',
      'PersistentVolumeClaim',
      'PodDisruptionBudget',
      'PriorityClass',
      'Role',
      'RoleBinding',
      'Service',
      'Service',
      'ServiceAccount',
    ]);
    const map = all.find((document) => Object(document).kind === 'ConfigMap');
    expect(parse(Object(map).data['muster.yaml']).templates.local.kubernetes).toEqual({
      namespace: 'muster',
      image: 'muster-runner:0.1.0',
      priorityClassName: 'muster-sandbox',
      runtimeClassName: 'gvisor',
      transport: 'dial-back',
      dialBack: {
        host: '0.0.0.0',
        port: 7678,
        advertise: 'wss://muster-dial-back.muster.svc:7678',
        plaintext: 'refused',
        certificate: '/etc/muster-dial-back/tls.crt',
        key: '/etc/muster-dial-back/tls.key',
      },
    });
  });

  it.each([
    [{ enabled: true, warmPool: 'muster' }, { warmPool: 'muster' }],
    [{ enabled: true, ownPool: true }, { replicas: 4 }],
  ])('has a chart that has pods claimed with %j', (claims, expected) => {
    const map = renderChart({ claims }).find((document) => Object(document).kind === 'ConfigMap');
    expect(parse(Object(map).data['muster.yaml']).templates.local.kubernetes.claims).toEqual(expected);
  });
});

describe('a chart whose sandboxes fetch checkpoints', () => {
  const all = renderChart({ delivery: { enabled: true, nodeCache: true } });
  const ofKind = (kind: string): readonly object[] => all.map(Object).filter((document) => document.kind === kind);

  it('has a network policy for the port of the server', () => {
    const policy = ofKind('NetworkPolicy')
      .map(Object)
      .find(({ metadata }) => metadata.name === 'muster-origin-only');
    const own = parse(readFileSync(path.join(DEPLOY, 'origin-policy.yaml'), 'utf8'));
    expect(policy.spec.podSelector).toEqual(own.spec.podSelector);
    expect(policy.spec.egress[0].ports).toEqual(own.spec.egress[0].ports);
    const [deployment] = ofKind('Deployment').map(Object);
    const { metadata, spec } = deployment.spec.template;
    expect(metadata.labels).toMatchObject(policy.spec.egress[0].to[0].podSelector.matchLabels);
    expect(spec.containers[0].env).toContainEqual({ name: 'MUSTER_DELIVERY__URL', value: 'http://$(POD_IP):7680' });
  });

  it('has a valid configuration', async () => {
    const directory = await mkdtemp(path.join(tmpdir(), 'muster-chart-'));
    try {
      const file = path.join(directory, 'muster.yaml');
      const [map] = ofKind('ConfigMap').map(Object);
      await writeFile(file, map.data['muster.yaml']);
      const environment = { HOME: '/', MUSTER_DELIVERY__URL: 'http://10.0.0.5:7680' };
      const { delivery, templates } = loadConfig({ file, environment });
      expect(delivery).toMatchObject({ url: 'http://10.0.0.5:7680', port: 7680 });
      expect(templates['local']?.kubernetes).toMatchObject({ network: 'origin', nodeCache: { claim: 'muster-node-cache' } });
    } finally {
      await rm(directory, { recursive: true });
    }
  });
});

describe('a template with provider: kubernetes', () => {
  const { templates } = loadConfig({
    file: path.join(import.meta.dirname, '../../../../config/kubernetes.yaml'),
    environment: { HOME: '/' },
  });
  const local = templates['local'];
  if (!local) throw new Error('config/kubernetes.yaml has no template "local"');
  const own = kubernetesSchema.parse(local['kubernetes']);

  it('runs the image’s Python and runner, whatever Python this machine has', () => {
    const template = configured('local', local, own);
    const { command, mounts } = template;
    const pod = getPodPart(template);
    expect(command.slice(0, 3)).toEqual(['python3', '-I', '/muster/runner']);
    expect(mounts).toEqual([]);
    expect(pod).toMatchObject({ kubeconfig: 'auto', namespace: 'muster', image: 'muster-runner:0.1.0', requestedShare: 1 });
    expect(pod?.transport).toEqual({ kind: 'exec' });
  });

  it('with transport: dial-back names the dialler in the image, and the address where Muster listens, the loopback by default', () => {
    const template = configured('local', local, { ...own, transport: 'dial-back' });
    expect(getPodPart(template)?.transport).toEqual({
      kind: 'dial-back',
      provider: 'kubernetes',
      host: '127.0.0.1',
      port: 0,
      plaintext: 'refused',
      python: 'python3',
      dialler: '/muster/runner/dialler.py',
    });
  });

  it('makes the pods that the SandboxTemplate of deploy/ describes', () => {
    const template = configured('local', local, own);
    const [sandboxTemplate] = parseAllDocuments(readFileSync(path.join(DEPLOY, 'sandbox-template.yaml'), 'utf8'));
    const pod = getPod(template);
    expect(findShortcomings(sandboxTemplate?.toJS(), createPodTemplate(template, pod).spec, pod)).toEqual([]);
  });

  it('must name an image, and nothing of this machine', () => {
    expect(() => configured('local', local, { ...own, image: undefined })).toThrow('set kubernetes.image');
    expect(() => configured('local', { ...local, mounts: [{ source: '/data', target: '/data' }] }, own)).toThrow('mounts');
  });

  it.each(REFUSED)('is refused with the impossible %j', (values, reason) => {
    expect(() => renderChart(values)).toThrow(reason);
  });

  it.each(RENDERED)('is rendered with %j', (values) => {
    expect(renderChart(values).length).toBeGreaterThan(3);
  });

  it('has a schema whose byte sizes are those of the configuration', () => {
    const schema: unknown = JSON.parse(readFileSync(path.join(DEPLOY, '../helm/muster/values.schema.json'), 'utf8'));
    const pattern = new RegExp(String(getValueAt(schema, ['definitions', 'bytes', 'anyOf', 1, 'pattern'])));
    for (const text of ['1GiB', '1.5 GB', '512MiB', '1Gi', '1G', 'lots', ''])
      expect({ text, fits: pattern.test(text) }).toEqual({ text, fits: byteSizeSchema.safeParse(text).success });
  });

  it('has a schema with exactly the existing values', () => {
    const keysOf = (values: unknown, schema: unknown): readonly string[] =>
      Object(schema).additionalProperties === false
        ? Object.keys(Object(schema).properties).filter((key) => key !== 'global')
        : Object.keys(Object(values));
    const check = (values: unknown, schema: unknown): void => {
      if (!isMapping(values)) return;
      expect(keysOf(values, schema).toSorted()).toEqual(Object.keys(values).toSorted());
      for (const [key, value] of Object.entries(values)) check(value, Object(schema).properties?.[key]);
    };
    const chart = path.join(DEPLOY, '../helm/muster');
    check(
      parse(readFileSync(path.join(chart, 'values.yaml'), 'utf8')),
      JSON.parse(readFileSync(path.join(chart, 'values.schema.json'), 'utf8')),
    );
  });

  it.skipIf(!isHelmInstalled())('is refused and rendered by Helm as by the tests, where Helm is in .tools', () => {
    for (const [values, reason] of REFUSED) expect(() => renderWithHelm(values)).toThrow(reason);
    expect(() => renderWithHelm({ claims: { enable: true } })).toThrow('Additional property enable is not allowed');
    for (const limit of [{ memoryBytes: '1Gi' }, { cpus: 0 }])
      expect(() => renderWithHelm({ sandbox: { limits: limit } })).toThrow('sandbox.limits');
    expect(() => renderWithHelm({ sandbox: { max: 0 } })).toThrow('sandbox.max');
    for (const values of [{}, ...RENDERED]) expect(sortObjects(renderWithHelm(values))).toEqual(sortObjects(renderChart(values)));
  });
});

/** Helm has an order of its own. */
function sortObjects(documents: readonly unknown[]): readonly unknown[] {
  return documents.toSorted((a, b) => (getObjectName(a) < getObjectName(b) ? -1 : 1));
}

function getObjectName(document: unknown): string {
  const { kind, metadata } = Object(document);
  return `${kind} ${metadata.name}`;
}
