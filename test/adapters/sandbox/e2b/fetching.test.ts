import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createE2bProvider } from '../../../../src/adapters/sandbox/e2b/e2b-provider.ts';
import { systemClock } from '../../../../src/kernel/clock.ts';
import type { FetchOrder } from '../../../../src/kernel/fetching.ts';
import { parseOwnerId, parseSandboxId } from '../../../../src/kernel/ids.ts';
import type { CheckpointFile } from '../../../../src/policy-distribution/checkpoint.ts';
import type { Sandbox, SandboxProvider } from '../../../../src/pool/ports/sandbox.ts';
import { NEVER } from '../../../contract/sandbox-fixture.ts';
import { bakedRunner } from '../../../support/e2b/baked-runner.ts';
import { MACHINE, PROJECT } from '../../../support/e2b/e2b-context.ts';
import { useRealSockets } from '../../../support/e2b/real-sockets.ts';
import { E2bSimulator } from '../../../support/e2b/simulator.ts';
import { TEMPLATE } from '../../../support/evaluation-fixture.ts';
import { OriginFixture } from '../../delivery/origin-fixture.ts';
import { E2bPart } from '../../../../src/adapters/sandbox/e2b/e2b-machine.ts';

useRealSockets();
const { python, mounts } = await bakedRunner();

/** An account at the simulator whose sandboxes say what the files are that they are given. */
class Fixture implements AsyncDisposable {
  readonly simulator: E2bSimulator;
  readonly origins: OriginFixture;
  readonly #provider: SandboxProvider;

  private constructor(simulator: E2bSimulator, origins: OriginFixture) {
    this.simulator = simulator;
    this.origins = origins;
    this.#provider = createE2bProvider({
      owner: parseOwnerId(`e2b-fetching-${process.pid}`),
      clock: systemClock,
      account: simulator.credentials,
      projectDirectory: PROJECT,
      origins: ['127.0.0.1'],
      log: () => undefined,
    });
  }

  static async open(): Promise<Fixture> {
    return new Fixture(await E2bSimulator.open({ baked: mounts }), await OriginFixture.open());
  }

  sandbox(): Promise<Sandbox> {
    const command = ['sh', '-c', 'while read path; do sha256sum "$path" || echo gone; done'];
    return this.#provider.create(
      { id: parseSandboxId('s1'), template: { ...TEMPLATE, command, providerPart: new E2bPart({ ...MACHINE, python }) } },
      NEVER,
    );
  }

  async checkpoint(): Promise<{ readonly file: CheckpointFile; readonly order: FetchOrder }> {
    const file = await this.origins.put('actor/policy.safetensors', randomBytes(300_000));
    return { file, order: { digest: file.digest, files: [{ ...file, url: await this.origins.origin.link(file) }] } };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#provider[Symbol.asyncDispose]();
    await this.simulator[Symbol.asyncDispose]();
    await this.origins[Symbol.asyncDispose]();
  }
}

async function digestInside({ stdin, stdout }: Sandbox, path: string): Promise<string> {
  stdin.write(`${path}\n`);
  for await (const chunk of stdout.iterator({ destroyOnReturn: false })) return `sha256:${String(chunk).slice(0, 64)}`;
  throw new Error('it says nothing');
}

describe('an E2B sandbox that fetches', () => {
  it('has the exact bytes where its program reads them, and may connect to that host alone', async () => {
    await using fixture = await Fixture.open();
    const { file, order } = await fixture.checkpoint();
    const sandbox = await fixture.sandbox();
    const directory = await sandbox.capabilities?.fetching?.fetch('pull', order, NEVER);
    expect(await digestInside(sandbox, `${directory}/actor/policy.safetensors`)).toBe(file.digest);
    expect(fixture.simulator.account.reached).toEqual([['127.0.0.1']]);
  });

  it('whose link has expired has nothing, and reports which file and why', async () => {
    await using fixture = await Fixture.open();
    const { file, order } = await fixture.checkpoint();
    const sandbox = await fixture.sandbox();
    await fixture.origins.clock.advance(3_600_000);
    const refused = sandbox.capabilities?.fetching?.fetch('pull', order, NEVER);
    await expect(refused).rejects.toMatchObject({ code: 'sandbox.fetch', kind: 'infrastructure' });
    await expect(refused).rejects.toThrow(`actor/policy.safetensors (${file.digest}): the server answered 403 the link has expired`);
  });

  it('and is destroyed meanwhile is reported as gone', async () => {
    await using fixture = await Fixture.open();
    const { order } = await fixture.checkpoint();
    const sandbox = await fixture.sandbox();
    const under = sandbox.capabilities?.fetching?.fetch('pull', order, NEVER);
    under?.catch(() => undefined);
    await sandbox.destroy();
    await expect(under).rejects.toHaveProperty('code', 'sandbox.gone');
  });

  it('reaches nothing when there is no origin', async () => {
    await using simulator = await E2bSimulator.open({ baked: mounts });
    await using provider = createE2bProvider({
      owner: parseOwnerId(`e2b-sent-${process.pid}`),
      clock: systemClock,
      account: simulator.credentials,
      projectDirectory: PROJECT,
      log: () => undefined,
    });
    const sandbox = await provider.create(
      { id: parseSandboxId('s1'), template: { ...TEMPLATE, command: ['cat'], providerPart: new E2bPart(MACHINE) } },
      NEVER,
    );
    expect(sandbox.capabilities?.fetching).toBeUndefined();
    expect(simulator.account.reached).toEqual([[]]);
  });
});
