import { PassThrough } from 'node:stream';
import { InfrastructureError } from '../../src/kernel/errors.ts';
import { parseOwnerId, parseSandboxId, type SandboxId } from '../../src/kernel/ids.ts';
import type { Sandbox, SandboxExit, SandboxProvider, SandboxSpec } from '../../src/pool/ports/sandbox.ts';
import type { Isolation, SandboxTemplate } from '../../src/pool/ports/template.ts';

const BY_NOTHING = { scope: 'none', by: 'none' } as const;

const ISOLATION: Isolation = {
  mechanism: 'fake',
  limits: { memory: BY_NOTHING, processes: BY_NOTHING, cpu: BY_NOTHING, disk: BY_NOTHING, lifetime: BY_NOTHING },
};

export const FAKE_TEMPLATE: SandboxTemplate = {
  name: 'fake',
  command: ['true'],
  environment: {},
  mounts: [],
  network: 'none',
  limits: { memoryBytes: 1, processes: 1, cpus: 1, diskBytes: 1, lifetimeSeconds: 1 },
  demands: [],
};

/**
 * A provider that remembers: `log` lists what was asked of it, `alive` what it holds. Creations succeed at once unless they are held
 * (`holdCreations`) or made to fail (`failCreation`).
 */
export class FakeProvider implements SandboxProvider {
  readonly name = 'fake';
  readonly owner = parseOwnerId('owner-1');
  readonly log: string[] = [];
  /** For whom each sandbox was made. */
  readonly audiences = new Map<SandboxId, string | undefined>();
  readonly alive = new Map<SandboxId, FakeSandbox>();
  /** Most sandboxes that existed or were being made at one moment. */
  peak = 0;
  /** Ids that the next sweep finds. */
  leftovers: SandboxId[] = [];
  /** Thrown by every creation while set. */
  failCreation: Error | undefined;
  /** Thrown by every description while set. */
  failDescription: Error | undefined;
  failSweep: Error | undefined;
  holdCreations = false;
  /** A held creation takes no notice of its signal while set. */
  ignoreAbort = false;
  /** Destroying fails this many times. */
  failDestructions = 0;
  #coming = 0;
  #held: (() => void)[] = [];

  async describe(): Promise<Isolation> {
    if (this.failDescription !== undefined) throw this.failDescription;
    return ISOLATION;
  }

  async create(spec: SandboxSpec, signal: AbortSignal): Promise<Sandbox> {
    this.log.push(`create ${spec.id}`);
    this.audiences.set(spec.id, spec.audience);
    this.#coming++;
    this.peak = Math.max(this.peak, this.alive.size + this.#coming);
    try {
      if (this.holdCreations) await this.#release(signal);
      if (this.failCreation !== undefined) throw this.failCreation;
      const sandbox = new FakeSandbox(spec.id, this);
      this.alive.set(spec.id, sandbox);
      return sandbox;
    } finally {
      this.#coming--;
    }
  }

  async sweep(): Promise<readonly SandboxId[]> {
    this.log.push('sweep');
    if (this.failSweep !== undefined) throw this.failSweep;
    return this.leftovers.splice(0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.alive.values()].map((sandbox) => sandbox.destroy()));
  }

  /** Lets the creations that are held go on, and holds no more. */
  releaseCreations(): void {
    this.holdCreations = false;
    for (const release of this.#held.splice(0)) release();
  }

  sandbox(id: string): FakeSandbox {
    const sandbox = this.alive.get(parseSandboxId(id));
    if (sandbox === undefined) throw new Error(`no sandbox ${id} is alive, only ${[...this.alive.keys()].join(', ')}`);
    return sandbox;
  }

  count(operation: 'create' | 'destroy'): number {
    return this.log.filter((line) => line.startsWith(`${operation} `)).length;
  }

  #release(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#held.push(resolve);
      if (!this.ignoreAbort) signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
  }
}

export class FakeSandbox implements Sandbox {
  readonly id: SandboxId;
  readonly isolation = ISOLATION;
  readonly stdin = new PassThrough();
  readonly stdout = new PassThrough();
  readonly stderr = new PassThrough();
  readonly exit: Promise<SandboxExit>;
  readonly #provider: FakeProvider;
  readonly #end: (exit: SandboxExit) => void;

  constructor(id: SandboxId, provider: FakeProvider) {
    const { promise, resolve } = Promise.withResolvers<SandboxExit>();
    this.id = id;
    this.exit = promise;
    this.#provider = provider;
    this.#end = resolve;
  }

  upload(): Promise<string> {
    return Promise.reject(new InfrastructureError('sandbox.no-upload', 'the fake sandbox takes no files'));
  }

  /** Its program ends by itself. */
  die(exit: SandboxExit = { kind: 'exited', code: 1 }): void {
    this.#end(exit);
  }

  async destroy(): Promise<void> {
    this.#provider.log.push(`destroy ${this.id}`);
    if (this.#provider.failDestructions > 0) {
      this.#provider.failDestructions--;
      throw new InfrastructureError('fake.stuck', 'it does not let go');
    }
    this.#provider.alive.delete(this.id);
    this.#end({ kind: 'destroyed' });
  }
}
