import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import nock from 'nock';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseSandboxId } from '../../../../src/kernel/ids.ts';
import type { Sandbox, SandboxProvider } from '../../../../src/pool/ports/sandbox.ts';
import { NEVER } from '../../../contract/sandbox-fixture.ts';
import { TEMPLATE } from '../../../support/evaluation-fixture.ts';
import { TINY_RUNNERS } from '../../../support/kubernetes/faulty-evaluation.ts';
import { KubernetesContext } from '../../../support/kubernetes/kubernetes-context.ts';
import { failOnLeftoverProcesses } from '../../../support/no-leftovers.ts';
import { localCertificate } from '../../../support/web-server.ts';
import { PodPart } from '../../../../src/adapters/sandbox/kubernetes/settings/pod-template.ts';

nock.restore();

describe('the connections to an API server over TLS', () => {
  failOnLeftoverProcesses();
  let context: KubernetesContext;
  let provider: SandboxProvider;
  let made = 0;

  beforeEach(async () => {
    context = await KubernetesContext.open(TINY_RUNNERS, { certificate: localCertificate() });
    provider = context.provider();
  });
  afterEach(async () => {
    await provider[Symbol.asyncDispose]();
    await context[Symbol.asyncDispose]();
  });

  const create = (...command: readonly string[]): Promise<Sandbox> => {
    const template = { ...TEMPLATE, command, limits: { ...TEMPLATE.limits, memoryBytes: 2 ** 26 }, providerPart: new PodPart(context.pod) };
    return provider.create({ id: parseSandboxId(`s${(made += 1)}`), template }, NEVER);
  };

  it('are shared by all requests, and carry whole lives of sandboxes', async () => {
    await provider.describe({ ...TEMPLATE, providerPart: new PodPart(context.pod) });
    for (let i = 0; i < 5; i += 1) {
      const sandbox = await create('sh', '-c', 'cat; exit 3');
      sandbox.stdin.end('over TLS\n');
      expect(await text(sandbox.stdout)).toBe('over TLS\n');
      expect(await sandbox.exit).toEqual({ kind: 'exited', code: 3 });
    }
    const requests = [...context.simulator.requests.values()].reduce((sum, count) => sum + count, 0);
    const execs = context.simulator.requests.get('EXEC pods') ?? 0;
    expect(requests).toBeGreaterThan(25);
    expect(context.simulator.connections).toBeLessThan(requests / 2 + execs);
  });

  it('are refused when the certificate has no known issuer', async () => {
    const untrusting = path.join(context.stateDir, 'untrusting');
    await writeFile(untrusting, context.simulator.kubeconfig(undefined, localCertificate().cert));
    await expect(
      provider.describe({ ...TEMPLATE, providerPart: new PodPart({ ...context.pod, kubeconfig: untrusting }) }),
    ).rejects.toMatchObject({
      code: 'kubernetes.unreachable',
      message: expect.stringContaining('certificate'),
    });
  });

  it('tell whether programs are reachable: not when the server is silent, nor when its node refuses exec', async () => {
    const [sandbox, other] = [await create('cat'), await create('cat')];
    expect(await sandbox.capabilities?.isReachable?.()).toBe(true);
    context.simulator.faults.plan(({ kind }) => (kind === 'exec' ? { kind: 'status', code: 500 } : undefined));
    expect(await sandbox.capabilities?.isReachable?.()).toBe(false);
    context.simulator.faults.plan(() => undefined);
    context.simulator.dropConnections();
    expect(await other.capabilities?.isReachable?.()).toBe(false);
    await Promise.all([sandbox.exit, other.exit]);
  });

  it('that break all at once lose only their own sandboxes', async () => {
    const sandboxes = await Promise.all([create('cat'), create('cat')]);
    context.simulator.dropConnections();
    for (const sandbox of sandboxes) expect(await sandbox.exit).toMatchObject({ kind: 'lost', detail: expect.stringContaining('lost') });
    const next = await create('sh', '-c', 'echo still there');
    expect(await text(next.stdout)).toBe('still there\n');
    await next.exit;
    expect(await context.traces()).toEqual([]);
  });
});
