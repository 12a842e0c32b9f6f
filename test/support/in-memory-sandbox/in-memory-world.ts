import type { OwnerId, SandboxId } from '../../../src/kernel/ids.ts';
import type { InMemorySandbox } from './in-memory-sandbox.ts';

interface Owner {
  isRunning: boolean;
  readonly sandboxes: Map<SandboxId, InMemorySandbox>;
}

/**
 * What outlives a Muster: the machine, or the service, that sandboxes are on. Providers that share a world can sweep after
 * each other, and a test can be the hand of fate.
 */
export class InMemoryWorld {
  readonly #owners = new Map<OwnerId, Owner>();

  enter(owner: OwnerId): void {
    if (!this.#owners.has(owner)) this.#owners.set(owner, { isRunning: true, sandboxes: new Map() });
  }

  leave(owner: OwnerId): void {
    this.#owners.delete(owner);
  }

  add(owner: OwnerId, sandbox: InMemorySandbox): void {
    this.#owners.get(owner)?.sandboxes.set(sandbox.id, sandbox);
  }

  remove(owner: OwnerId, id: SandboxId): void {
    this.#owners.get(owner)?.sandboxes.delete(id);
  }

  has(owner: OwnerId, id: SandboxId): boolean {
    return this.#owners.get(owner)?.sandboxes.has(id) ?? false;
  }

  getSandboxes(owner: OwnerId): readonly InMemorySandbox[] {
    return [...(this.#owners.get(owner)?.sandboxes.values() ?? [])];
  }

  /** Owners that crashed and whose sandboxes are not swept yet. */
  crashedOwners(): readonly OwnerId[] {
    return [...this.#owners].filter(([, { isRunning }]) => !isRunning).map(([owner]) => owner);
  }

  /** Imitates the sudden death of a Muster: its sandboxes stay until a sweep. */
  crash(owner: OwnerId): void {
    const entry = this.#owners.get(owner);
    if (entry) entry.isRunning = false;
  }

  /** Imitates a sandbox that is taken away from outside. */
  lose(owner: OwnerId, id: SandboxId): void {
    this.#owners.get(owner)?.sandboxes.get(id)?.end({ kind: 'lost', detail: 'taken away from outside' });
  }
}
