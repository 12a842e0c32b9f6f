import type { UsageLedger } from '../../../src/evaluation-store/usage-ledger.ts';
import type { Digest } from '../../../src/kernel/ids.ts';
import type { Held } from './memory.ts';
import { InMemoryPart } from './in-memory-part.ts';

const HOUR_MS = 3_600_000;

export class InMemoryUsage extends InMemoryPart implements UsageLedger {
  async countWaiting(principal: string): Promise<number> {
    return this.#of(principal).filter(({ evaluation }) => evaluation.state === 'waiting').length;
  }

  async countEpisodesSince(principal: string, since: Date): Promise<number> {
    const from = Math.floor(since.getTime() / HOUR_MS) * HOUR_MS;
    const appends = this.#of(principal).flatMap(({ played }) => played.filter(({ at }) => at >= from));
    return appends.reduce((sum, { episodes }) => sum + episodes, 0);
  }

  async sumCheckpointBytes(principal: string): Promise<number> {
    return [...(this.memory.chargedCheckpoints.get(principal)?.values() ?? [])].reduce((sum, bytes) => sum + bytes, 0);
  }

  async chargeCheckpoint(principal: string, checkpoint: Digest, bytes: number): Promise<void> {
    const charged = this.memory.chargedCheckpoints.get(principal) ?? new Map<Digest, number>();
    this.memory.chargedCheckpoints.set(principal, charged);
    if (!charged.has(checkpoint)) charged.set(checkpoint, bytes);
  }

  async creditCheckpoint(checkpoint: Digest): Promise<void> {
    for (const charged of this.memory.chargedCheckpoints.values()) charged.delete(checkpoint);
  }

  #of(principal: string): readonly Held[] {
    return [...this.memory.evaluations.values()].filter(({ evaluation }) => evaluation.principal === principal);
  }
}
