import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import nock from 'nock';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { parseSandboxId } from '../../../../../src/kernel/ids.ts';
import { PodPart } from '../../../../../src/adapters/sandbox/kubernetes/settings/pod-template.ts';
import type { DialBackSettings } from '../../../../../src/adapters/sandbox/kubernetes/settings/pod-template.ts';
import type { Sandbox, SandboxProvider } from '../../../../../src/pool/ports/sandbox.ts';
import { firstLine, NEVER } from '../../../../contract/sandbox-fixture.ts';
import { TEMPLATE } from '../../../../support/evaluation-fixture.ts';
import { sampled } from '../../../../support/full-form.ts';
import { dialBackImage, type DialBackImage } from '../../../../support/kubernetes/dial-back-image.ts';
import { evaluateOnPods, TINY_RUNNERS, type Ending } from '../../../../support/kubernetes/faulty-evaluation.ts';
import { KubernetesContext } from '../../../../support/kubernetes/kubernetes-context.ts';
import { failOnLeftoverProcesses } from '../../../../support/no-leftovers.ts';
import { localCertificate } from '../../../../support/web-server.ts';

nock.restore();

let image: DialBackImage;
let context: KubernetesContext;

beforeAll(async () => {
  image = await dialBackImage();
  context = await KubernetesContext.open({ mounts: [...image.image.mounts, ...TINY_RUNNERS.mounts] }, {}, undefined, image.transport);
});
afterAll(() => context[Symbol.asyncDispose]());

describe('pods that dial back', () => {
  failOnLeftoverProcesses();
  const providers: SandboxProvider[] = [];
  let made = 0;

  afterEach(async () => {
    for (const provider of providers.splice(0)) await provider[Symbol.asyncDispose]();
    expect(await context.traces()).toEqual([]);
  });

  const create = async (command: readonly string[], changes: Partial<DialBackSettings> = {}): Promise<Sandbox> => {
    const provider = context.provider();
    providers.push(provider);
    const providerPart = new PodPart({ ...context.pod, transport: { ...image.transport, ...changes } });
    const template = { ...TEMPLATE, command, limits: { ...TEMPLATE.limits, memoryBytes: 2 ** 27 }, providerPart };
    await provider.describe(template);
    return await provider.create({ id: parseSandboxId(`s${(made += 1)}`), template }, NEVER);
  };

  it('are reached over TLS where Muster has a certificate, and trust that one', async () => {
    const { key, cert } = localCertificate();
    const files = { certificate: path.join(context.stateDir, 'cert.pem'), key: path.join(context.stateDir, 'key.pem') };
    await writeFile(files.certificate, cert);
    await writeFile(files.key, key);
    const sandbox = await create(['sh', '-c', 'read path; cat "$path"; cat; exit 4'], { ...files, advertise: 'wss://127.0.0.1:0' });
    const weights = 'weights '.repeat(100_000);
    await writeFile(path.join(context.stateDir, 'weights'), weights);
    const inside = await sandbox.upload('weights', { kind: 'file', hostPath: path.join(context.stateDir, 'weights') }, NEVER);
    sandbox.stdin.end(`${inside}\nand more`);
    expect(await text(sandbox.stdout)).toBe(`${weights}and more`);
    expect(await sandbox.exit).toEqual({ kind: 'exited', code: 4 });
  });

  it('that do not trust Muster’s certificate end, and the error says why', async () => {
    const [served, trusted] = [localCertificate(), localCertificate()];
    const files = { certificate: path.join(context.stateDir, 'c.pem'), key: path.join(context.stateDir, 'k.pem') };
    const authority = path.join(context.stateDir, 'ca.pem');
    await writeFile(files.certificate, served.cert);
    await writeFile(files.key, served.key);
    await writeFile(authority, trusted.cert);
    await expect(create(['true'], { ...files, authority, advertise: 'wss://127.0.0.1:0' })).rejects.toMatchObject({
      code: 'sandbox.ended',
      message: expect.stringContaining('CERTIFICATE_VERIFY_FAILED'),
    });
  });

  it('whose image has no dialler end, and the error reports it', async () => {
    await expect(create(['true'], { dialler: '/no/such/dialler.py' })).rejects.toMatchObject({
      code: 'sandbox.ended',
      message: expect.stringContaining('/no/such/dialler.py'),
    });
  });

  it('keep token and connection from the program that runs in them', async () => {
    const sandbox = await create([image.python, '-I', '-c', PRYING]);
    expect(await text(sandbox.stdout)).toBe("environ: [] descriptors: ['PermissionError'] memory: ['PermissionError'] own: []\n");
  });

  it('are lost as soon as their connections are', async () => {
    const sandbox = await create(['sh', '-c', 'echo ready; cat']);
    expect(await firstLine(sandbox)).toBe('ready\n');
    // Has used the inbox's connection: one that breaks within its first handshake is taken for a theft.
    await sandbox.upload('file', { kind: 'file', hostPath: import.meta.filename }, NEVER);
    context.exitFaults.dropAll();
    expect(await sandbox.exit).toMatchObject({ kind: 'lost', detail: expect.stringContaining('connection') });
  });

  it('use the API server for the pod only', async () => {
    const before = new Map(context.simulator.requests);
    const sandbox = await create(['sh', '-c', 'cat']);
    await sandbox.upload('file', { kind: 'file', hostPath: import.meta.filename }, NEVER);
    sandbox.stdin.end('x'.repeat(100_000));
    expect(await text(sandbox.stdout)).toHaveLength(100_000);
    await sandbox.exit;
    const asked = [...context.simulator.requests].filter(([kind, count]) => kind.endsWith(' pods') && count > (before.get(kind) ?? 0));
    expect(asked.map(([kind]) => kind).sort()).toEqual(['DELETE pods', 'GET pods', 'POST pods', 'WATCH pods']);
  });
});

describe('an evaluation on pods that dial back', () => {
  failOnLeftoverProcesses();
  let undisturbed: Ending;

  beforeAll(async () => {
    undisturbed = await evaluateOnPods(context);
    expect(undisturbed.kind).toBe('official');
  });

  const breaks = [
    ['in the middle of the handshake', 20],
    ['in the middle of a frame', 1_000],
    ['in mid-evaluation', 5_000],
  ] as const;
  // A connection that broke after its handshake is missed only when the pod has been silent for seconds.
  it.each(sampled(breaks, ([, bytes]) => bytes < 5_000))(
    'ends with the same official result when connections break %s',
    async (_title, bytes) => {
      context.exitFaults.cutNext(bytes);
      context.exitFaults.cutNext(bytes);
      expect(await evaluateOnPods(context)).toEqual(undisturbed);
      // A node cleans up behind a record that was taken away.
      await context.simulator.pods.settled();
      expect(await context.traces()).toEqual([]);
    },
  );

  it('has the same official result as over exec', async () => {
    await using other = await KubernetesContext.open(TINY_RUNNERS);
    expect(await evaluateOnPods(other)).toEqual(undisturbed);
  });
});

/**
 * What a program finds that looks for its dialler's token and connection everywhere. Process 1 is left out: it is that of the simulated container, which is
 * a plain local sandbox; in a pod the dialler is the first.
 */
const PRYING = `
import os
me, found, descriptors, memory = str(os.getpid()), [], set(), set()
for process in os.listdir('/proc'):
    if not process.isdigit() or process in (me, '1'): continue
    try:
        if b'MUSTER_DIAL_TOKEN' in open('/proc/%s/environ' % process, 'rb').read(): found.append(process)
    except OSError: pass
    try: command = open('/proc/%s/cmdline' % process, 'rb').read()
    except OSError: continue
    if b'dialler' not in command or b'pod_exit' in command: continue
    for descriptor in range(3, 20):
        try: os.readlink('/proc/%s/fd/%d' % (process, descriptor))
        except OSError as error: descriptors.add(type(error).__name__)
        else: descriptors.add('seen')
    try: open('/proc/%s/mem' % process, 'rb')
    except OSError as error: memory.add(type(error).__name__)
    else: memory.add('open')
print('environ:', found, 'descriptors:', sorted(descriptors), 'memory:', sorted(memory), 'own:', [name for name in os.environ if 'DIAL' in name])
`;
