import type { Slot, SlotShare } from '../../orchestrator/run/slot-share.ts';
import { raceWithAbort } from '../../kernel/abort.ts';
import type { Clock } from '../../kernel/clock.ts';
import { createUnbounded, type EpisodeBounds } from './episode-bounds.ts';
import { plan, type Competitor } from './fair-shares.ts';

export interface Competing {
  readonly principal: string;
  readonly priority: number;
}

/** A share that is given up when it is disposed of. */
export interface HeldShare extends SlotShare, Disposable {}

/**
 * How often the order of principals is updated by how much they were served. Shorter is fairer when there are more principals than sandboxes, but
 * each change costs loading a policy.
 */
const TURN_MILLISECONDS = 10_000;

/** More than the largest difference of two priorities. */
const BACK = 2 ** 40;

interface Holding {
  readonly recall: AbortController;
  isSpare: boolean;
  /** Up to then its time has been counted. */
  countedTo: number;
}

/** One of the competing evaluations. */
class Member implements Competing {
  readonly principal: string;
  readonly priority: number;
  isBack = false;
  readonly holdings = new Set<Holding>();
  readonly waiting = new Set<(slot: Slot) => void>();

  constructor({ principal, priority }: Competing) {
    this.principal = principal;
    this.priority = priority;
  }

  /** Slots without work. */
  get spare(): number {
    return [...this.holdings].filter(({ isSpare }) => isSpare).length;
  }

  get busy(): number {
    return this.holdings.size - this.spare;
  }
}

/**
 * The sandboxes of one pool, divided between the evaluations that play on it. Each takes a slot for every sandbox that it leases. An evaluation with
 * more than its share is asked to return slots, and does so once their work under way is played. A slot without work goes to an evaluation that can
 * use it, whatever the shares, so the next evaluation begins while the previous one plays its last episodes.
 */
export class Slots implements Disposable {
  readonly #clock: Clock;
  readonly #members = new Set<Member>();
  /** Milliseconds that principals have held slots for, halved with every turn. */
  readonly #had = new Map<string, number>();
  /** The same milliseconds when the turn began: within a turn no contender overtakes another. */
  readonly #served = new Map<string, number>();
  readonly #bounds: EpisodeBounds;
  readonly #onRoom = (): void => this.#share();
  #bound: Disposable | undefined;
  #total: number;
  #turn: Disposable | undefined;

  /** @param bounds what principals may have over all pools. */
  constructor(total: number, clock: Clock, bounds: EpisodeBounds = createUnbounded()) {
    this.#total = total;
    this.#clock = clock;
    this.#bounds = bounds;
  }

  /** Changes the number of slots. With none, all evaluations wait. */
  resize(total: number): void {
    this.#total = total;
    this.#share();
  }

  /** Slots that evaluations want and have not been given. */
  get waiting(): number {
    return [...this.#members].reduce((sum, { waiting }) => sum + waiting.size, 0);
  }

  join(competing: Competing): HeldShare {
    const member = new Member(competing);
    this.#members.add(member);
    this.#bound ??= this.#bounds.join(this.#onRoom);
    return {
      take: (signal) => this.#take(member, signal),
      standBack: () => {
        member.isBack = true;
        return {
          [Symbol.dispose]: () => {
            member.isBack = false;
            this.#share();
          },
        };
      },
      [Symbol.dispose]: () => {
        this.#members.delete(member);
        if (this.#members.size === 0) this.#leave();
        this.#share();
      },
    };
  }

  [Symbol.dispose](): void {
    this.#turn?.[Symbol.dispose]();
    this.#turn = undefined;
  }

  async #take(member: Member, signal: AbortSignal): Promise<Slot> {
    const { promise, resolve } = Promise.withResolvers<Slot>();
    member.waiting.add(resolve);
    this.#share();
    try {
      return await raceWithAbort(promise, signal);
    } catch (error) {
      // It may have been granted in the moment of the abort, and then has no holder.
      if (!member.waiting.delete(resolve)) (await promise)[Symbol.dispose]();
      this.#share();
      throw error;
    }
  }

  #share(): void {
    const competitors = [...this.#members].map((member) => ({
      id: member,
      principal: member.principal,
      priority: member.isBack ? member.priority - BACK : member.priority,
      wanted: member.busy + member.waiting.size,
    }));
    const limits = plan({ slots: this.#total, competitors, served: this.#served, most: this.#computeMost(competitors) });
    let unclaimed = this.#total - [...limits.values()].reduce((sum, limit) => sum + limit, 0);
    for (const [member, limit] of limits) {
      const spare = Math.min(member.spare, Math.max(0, unclaimed));
      unclaimed -= spare;
      recallBeyond(member, limit + spare);
    }
    let free = this.#total - [...this.#members].reduce((sum, { holdings }) => sum + holdings.size, 0);
    for (const [member, limit] of limits) {
      for (const grant of member.waiting) {
        if (free <= 0 || member.busy >= limit) break;
        free -= 1;
        member.waiting.delete(grant);
        grant(this.#hold(member));
      }
    }
    this.#keepTurns();
  }

  #computeMost(competitors: readonly Competitor<Member>[]): ReadonlyMap<string, number> {
    const most = new Map<string, number>();
    for (const [principal, own] of Map.groupBy(competitors, ({ principal }) => principal)) {
      const here = own.reduce((sum, { id }) => sum + id.holdings.size, 0);
      const wanted = own.reduce((sum, each) => sum + each.wanted, 0);
      most.set(principal, this.#bounds.computeMost(principal, here, wanted));
    }
    return most;
  }

  #leave(): void {
    this.#bound?.[Symbol.dispose]();
    this.#bound = undefined;
  }

  #hold(member: Member): Slot {
    const holding: Holding = { recall: new AbortController(), isSpare: false, countedTo: this.#clock.now() };
    member.holdings.add(holding);
    this.#bounds.take(member.principal);
    return {
      recalled: holding.recall.signal,
      offerSlot: () => {
        holding.isSpare = true;
        this.#share();
        return { [Symbol.dispose]: () => (holding.isSpare = false) };
      },
      [Symbol.dispose]: () => {
        if (!member.holdings.delete(holding)) return;
        this.#count(member.principal, holding);
        this.#bounds.giveBack(member.principal, this.#onRoom);
        this.#share();
      },
    };
  }

  /** Turns are taken only while an evaluation waits. */
  #keepTurns(): void {
    const isContested = [...this.#members].some(({ waiting }) => waiting.size > 0);
    if (!isContested) return this[Symbol.dispose]();
    this.#turn ??= this.#clock.after(TURN_MILLISECONDS, () => {
      this.#turn = undefined;
      this.#beginTurn();
      this.#share();
    });
  }

  /** Begins a turn. Earlier service counts less and less. */
  #beginTurn(): void {
    for (const { principal, holdings } of this.#members) for (const holding of holdings) this.#count(principal, holding);
    this.#served.clear();
    for (const [principal, milliseconds] of this.#had) {
      this.#served.set(principal, milliseconds);
      if (milliseconds < 1) this.#had.delete(principal);
      else this.#had.set(principal, milliseconds / 2);
    }
  }

  #count(principal: string, holding: Holding): void {
    const now = this.#clock.now();
    this.#had.set(principal, (this.#had.get(principal) ?? 0) + now - holding.countedTo);
    holding.countedTo = now;
  }
}

/** Slots without work are recalled first, then the latest ones: they have done least with what they loaded. */
function recallBeyond(member: Member, limit: number): void {
  const present = [...member.holdings].filter(({ recall }) => !recall.signal.aborted);
  const kept = [...present.filter(({ isSpare }) => !isSpare), ...present.filter(({ isSpare }) => isSpare)];
  for (const { recall } of kept.slice(Math.max(0, limit))) recall.abort();
}
