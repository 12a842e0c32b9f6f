import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { createE2bProvider } from '../../../src/adapters/sandbox/e2b/e2b-provider.ts';
import type { E2bAccount } from '../../../src/adapters/sandbox/e2b/account.ts';
import type { Clock } from '../../../src/kernel/clock.ts';
import { type OwnerId, parseOwnerId, parseSandboxId, type SandboxId } from '../../../src/kernel/ids.ts';
import { E2bPart, type E2bMachine } from '../../../src/adapters/sandbox/e2b/e2b-machine.ts';
import type { SandboxProvider } from '../../../src/pool/ports/sandbox.ts';
import type { Mount } from '../../../src/pool/ports/template.ts';
import type { SandboxContext } from '../../contract/sandbox-provider.ts';
import { SkippableClock } from '../skippable-clock.ts';
import { E2bSimulator, SIMULATED_TEMPLATE, type SimulatorOptions } from './simulator.ts';

export const PROJECT = path.join(import.meta.dirname, '../../..');
const CRASHING_OWNER = path.join(import.meta.dirname, 'crashing-owner.ts');

export const MACHINE: E2bMachine = {
  template: SIMULATED_TEMPLATE,
  runner: 'baked',
  python: 'python3',
  visible: ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/etc', '/opt', '/muster/runner'],
  tenancySeconds: 300,
};

/** An account at the simulator and owners that are unique to one test. */
export class E2bContext implements SandboxContext {
  readonly additions = { providerPart: new E2bPart(MACHINE) };
  readonly clock = new SkippableClock();
  readonly simulator: E2bSimulator;
  readonly hiddenPaths: readonly string[] = [PROJECT];
  readonly logged: string[] = [];
  #owners = 0;

  private constructor(simulator: E2bSimulator) {
    this.simulator = simulator;
  }

  static async open(mounts: readonly Mount[], options: SimulatorOptions = {}): Promise<E2bContext> {
    return new E2bContext(await E2bSimulator.open({ baked: mounts, ...options }));
  }

  provider(clock: Clock = this.clock): SandboxProvider {
    return createE2bProvider({
      owner: this.#newOwner(),
      clock,
      account: this.simulator.credentials,
      projectDirectory: PROJECT,
      log: (message) => this.logged.push(message),
    });
  }

  async traces(): Promise<readonly string[]> {
    return this.simulator.account.tenants.map(({ id, metadata }) => `${metadata['muster-owner']}/${metadata['muster-sandbox']} (${id})`);
  }

  async killFromOutside({ owner }: SandboxProvider, id: SandboxId): Promise<void> {
    const { account } = this.simulator;
    for (const tenant of account.tenants)
      if (tenant.metadata['muster-owner'] === owner && tenant.metadata['muster-sandbox'] === id) await account.end(tenant);
  }

  async crashedOwner(commands: readonly (readonly string[])[]): Promise<readonly SandboxId[]> {
    return crashedOwner(this.simulator.credentials, this.#newOwner(), commands);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.simulator[Symbol.asyncDispose]();
  }

  #newOwner(): OwnerId {
    return parseOwnerId(`e2b-owner-${process.pid}-${(this.#owners += 1)}`);
  }
}

/** Another Muster creates sandboxes with these commands and dies without warning. @returns their ids. */
export async function crashedOwner(
  account: E2bAccount,
  owner: OwnerId,
  commands: readonly (readonly string[])[],
): Promise<readonly SandboxId[]> {
  const child = spawn(process.execPath, [CRASHING_OWNER, JSON.stringify({ account, owner, commands })], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  try {
    const line = await createInterface({ input: child.stdout })[Symbol.asyncIterator]().next();
    if (line.done) throw new Error('the other Muster ended before its sandboxes ran');
    return z.array(z.string()).parse(JSON.parse(line.value)).map(parseSandboxId);
  } finally {
    child.kill('SIGKILL');
    if (child.exitCode === null) await once(child, 'exit');
  }
}
