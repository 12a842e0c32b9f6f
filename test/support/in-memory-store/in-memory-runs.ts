import type { EventLog, StoredEvent } from '../../../src/evaluation-store/event-log.ts';
import type { Conclusion, EvaluationCourse, Report } from '../../../src/evaluation-store/evaluation-course.ts';
import type { Claimable, Ownership, Ownerships, Renewal } from '../../../src/evaluation-store/ownership.ts';
import type { EvaluationId, OwnerId } from '../../../src/kernel/ids.ts';
import { copyOf, isOpen, type Held } from './memory.ts';
import { InMemoryPart } from './in-memory-part.ts';

/** Who plays which evaluation, and how it goes. */
export class InMemoryRuns extends InMemoryPart implements Ownerships, EvaluationCourse, EventLog {
  async listClaimable(limit: number): Promise<readonly Claimable[]> {
    const free = [...this.memory.evaluations.values()].filter((held) => isOpen(held) && !this.#isTaken(held)).sort(byUrgency);
    const turns = new Map<string, number>();
    const inTurn = free.map(({ evaluation: { id, principal, priority } }) => {
      const turn = (turns.get(principal) ?? 0) + 1;
      turns.set(principal, turn);
      return { turn, claimable: { id, principal, priority } };
    });
    return inTurn
      .sort((a, b) => a.turn - b.turn)
      .slice(0, limit)
      .map(({ claimable }) => claimable);
  }

  async claim(evaluation: EvaluationId, owner: OwnerId, milliseconds: number): Promise<Ownership | undefined> {
    const held = this.memory.evaluations.get(evaluation);
    if (!held || !isOpen(held) || this.#isTaken(held)) return undefined;
    const fence = (held.ownership?.fence ?? 0) + 1;
    held.ownership = { owner, fence, expiresAt: this.memory.now + milliseconds };
    return { evaluation, key: held.key, owner, fence };
  }

  async renew(ownership: Ownership, milliseconds: number): Promise<Renewal> {
    const held = this.memory.owned(ownership);
    held.ownership = { ...ownership, expiresAt: this.memory.now + milliseconds };
    return { cancelRequested: held.evaluation.cancelRequestedAt !== undefined };
  }

  async release(ownership: Ownership): Promise<void> {
    const held = this.memory.evaluations.get(ownership.evaluation);
    if (held?.ownership?.owner === ownership.owner && held.ownership.fence === ownership.fence)
      held.ownership = { ...held.ownership, expiresAt: 0 };
  }

  async begin(ownership: Ownership): Promise<void> {
    const held = this.memory.owned(ownership);
    if (held.evaluation.state === 'waiting') this.memory.enter(held, 'running', { startedAt: new Date(this.memory.now) });
  }

  async report(ownership: Ownership, report: Report): Promise<void> {
    this.#report(this.memory.owned(ownership), report);
  }

  #report(held: Held, { running, events }: Report): void {
    held.evaluation = { ...held.evaluation, running: copyOf(running) };
    for (const event of events) this.memory.tell(held, event);
  }

  async conclude(ownership: Ownership, { state, report, summary, failure, question, withheld, webhooks }: Conclusion): Promise<void> {
    const held = this.memory.owned(ownership);
    const { now } = this.memory;
    if (report) this.#report(held, report);
    this.memory.enter(held, state, { endedAt: new Date(now), summary: summary && copyOf(summary), failure });
    held.ownership = { owner: ownership.owner, fence: ownership.fence + 1, expiresAt: 0 };
    if (question !== undefined) this.memory.answers.set(question, held.evaluation.id);
    if (withheld === true) held.donates.clear();
    this.memory.announce(held, webhooks);
  }

  async readAfter(evaluation: EvaluationId, sequence: number, limit: number): Promise<readonly StoredEvent[]> {
    return this.memory.evaluations.get(evaluation)?.events.slice(sequence, sequence + limit) ?? [];
  }

  #isTaken({ ownership }: Held): boolean {
    return ownership !== undefined && ownership.expiresAt > this.memory.now;
  }
}

function byUrgency({ evaluation: a }: Held, { evaluation: b }: Held): number {
  return b.priority - a.priority || a.createdAt.getTime() - b.createdAt.getTime() || (a.id < b.id ? -1 : 1);
}
