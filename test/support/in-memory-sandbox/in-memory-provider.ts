import { createAbortError } from '../../../src/kernel/abort.ts';
import type { Clock } from '../../../src/kernel/clock.ts';
import { InfrastructureError, InputError } from '../../../src/kernel/errors.ts';
import type { OwnerId, SandboxId } from '../../../src/kernel/ids.ts';
import type { Sandbox, SandboxProvider, SandboxSpec } from '../../../src/pool/ports/sandbox.ts';
import type { Isolation, SandboxTemplate } from '../../../src/pool/ports/template.ts';
import { InMemorySandbox } from './in-memory-sandbox.ts';
import { InMemoryWorld } from './in-memory-world.ts';
import type { Program } from './program.ts';

export interface InMemoryOptions {
  readonly owner: OwnerId;
  readonly clock: Clock;
  /** By the first word of a template's command. */
  readonly programs: Readonly<Record<string, Program>>;
  /** Shared by providers that are to see each other's sandboxes; one of its own by default. */
  readonly world?: InMemoryWorld;
}

const NONE = { scope: 'none', by: 'none' } as const;
const ISOLATION: Isolation = {
  mechanism: 'in-memory',
  limits: { memory: NONE, processes: NONE, cpu: NONE, disk: NONE, lifetime: { scope: 'tree', by: 'timer' } },
};

/** Sandboxes without isolation, for tests and benchmarks: everything about a sandbox but its walls. */
export function createInMemoryProvider(options: InMemoryOptions): SandboxProvider {
  return new InMemoryProvider(options);
}

class InMemoryProvider implements SandboxProvider {
  readonly name = 'in-memory';
  readonly owner: OwnerId;
  readonly #options: InMemoryOptions;
  readonly #world: InMemoryWorld;
  #isClosed = false;

  constructor(options: InMemoryOptions) {
    this.owner = options.owner;
    this.#options = options;
    this.#world = options.world ?? new InMemoryWorld();
    this.#world.enter(this.owner);
  }

  async describe({ name, demands }: SandboxTemplate): Promise<Isolation> {
    const missing = demands.find((demand) => ISOLATION.limits[demand].scope !== 'tree');
    if (missing === undefined) return ISOLATION;
    const problem = `template "${name}" demands the limit "${missing}", which in-memory sandboxes do not enforce`;
    throw new InputError('template.limit-unavailable', `${problem}; use another provider or drop the demand`);
  }

  async create(spec: SandboxSpec, signal: AbortSignal): Promise<Sandbox> {
    const isolation = await this.describe(spec.template);
    if (signal.aborted) throw createAbortError(signal);
    if (this.#isClosed) throw new InfrastructureError('sandbox.provider-closed', 'the sandbox provider has been closed');
    if (this.#world.has(this.owner, spec.id)) throw new InfrastructureError('sandbox.create', `sandbox "${spec.id}" exists`);
    const program = this.#options.programs[spec.template.command[0] ?? ''];
    const onGone = (): void => this.#world.remove(this.owner, spec.id);
    const sandbox = new InMemorySandbox(spec, isolation, program, this.#options.clock, onGone);
    this.#world.add(this.owner, sandbox);
    return sandbox;
  }

  async sweep(signal: AbortSignal): Promise<readonly SandboxId[]> {
    const swept: SandboxId[] = [];
    for (const owner of this.#world.crashedOwners()) {
      if (signal.aborted) throw createAbortError(signal);
      for (const sandbox of this.#world.getSandboxes(owner)) {
        swept.push(sandbox.id);
        await sandbox.destroy();
      }
      this.#world.leave(owner);
    }
    return swept;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.#world.getSandboxes(this.owner).map((sandbox) => sandbox.destroy()));
    this.#world.leave(this.owner);
  }
}
