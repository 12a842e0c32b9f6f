import { type MemberResult, summariseMember, VOID_MEMBER } from '../../agents/rollouts/streams/member-result.ts';
import { nameGroup, type StreamId } from '../../agents/rollouts/streams/stream-ids.ts';
import type { GroupTerms } from '../../agents/rollouts/streams/stream-order.ts';
import { type Clock, sleep } from '../../kernel/clock.ts';
import { Permits } from '../../pool/permits.ts';
import type { CurrentVersion, OpenRollout } from './rollout-player.ts';

export interface MemberPlaysOptions {
  readonly stream: StreamId;
  readonly terms: GroupTerms;
  readonly rollout: OpenRollout;
  readonly version: CurrentVersion;
  readonly clock: Clock;
  /** Durable once it resolves. */
  readonly keep: (number: number, rep: number, result: MemberResult, trajectory: string | undefined) => Promise<void>;
  /** Called when a member was lost, and is played again. */
  readonly onLost: (detail: string) => void;
  /** Called when a member has ended, or its agent has. */
  readonly onChange: () => void;
  /** Called when the stream can make no more progress in this process. */
  readonly onFailure: (error: unknown) => void;
}

interface PlayedGroup {
  readonly cancelled: AbortController;
  readonly ended: Map<number, MemberResult>;
  readonly grading: Set<number>;
}

/** How often a member is played that is lost through no fault of the agent. */
const ATTEMPTS = 3;
const WAIT_MS = 1000;

/** The trajectories of a stream that this process plays. */
export class MemberPlays implements AsyncDisposable {
  readonly #options: MemberPlaysOptions;
  /** Permits for agents that act. */
  readonly #permits: Permits;
  readonly #groups = new Map<number, PlayedGroup>();
  readonly #underWay = new Set<Promise<void>>();

  constructor(options: MemberPlaysOptions) {
    this.#options = options;
    this.#permits = new Permits(options.terms.concurrency);
  }

  /** Adds a group, with what is known of its members. */
  add(number: number, ended: ReadonlyMap<number, MemberResult> = new Map()): void {
    this.#groups.set(number, { cancelled: new AbortController(), ended: new Map(ended), grading: new Set() });
  }

  listEnded(number: number): ReadonlyMap<number, MemberResult> {
    return this.#groups.get(number)?.ended ?? new Map();
  }

  countGrading(number: number): number {
    return this.#groups.get(number)?.grading.size ?? 0;
  }

  /** Begins the members between two positions that have not ended, each as soon as its agent may act. */
  begin(number: number, from: number, to: number): void {
    const group = this.#groups.get(number);
    if (group === undefined) return;
    for (let rep = from; rep < to; rep += 1) {
      if (group.ended.has(rep)) continue;
      const playing = this.#play(number, rep, group).catch((error: unknown) => {
        if (!group.cancelled.signal.aborted) this.#options.onFailure(error);
      });
      this.#underWay.add(playing);
      void playing.then(() => this.#underWay.delete(playing));
    }
  }

  /** Ends the running members of the group. */
  drop(number: number): void {
    this.#groups.get(number)?.cancelled.abort(new DOMException('the group is not wanted any more', 'AbortError'));
    this.#groups.delete(number);
  }

  /** Ends all of it, and waits for that. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const number of this.#groups.keys()) this.drop(number);
    await Promise.allSettled(this.#underWay);
  }

  async #play(number: number, rep: number, { cancelled: { signal }, ended, grading }: PlayedGroup): Promise<void> {
    const { stream, terms, rollout, version, clock, keep, onLost, onChange } = this.#options;
    const member = { group: nameGroup(stream, number), number, rep };
    let [result, document]: [MemberResult, string | undefined] = [VOID_MEMBER, undefined];
    for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
      const [permit] = await this.#permits.acquire(1, signal);
      const onActed = (): void => {
        permit?.[Symbol.dispose]();
        grading.add(rep);
        onChange();
      };
      const played = await rollout.play(member, { version, onActed }, signal).finally(() => {
        permit?.[Symbol.dispose]();
        grading.delete(rep);
      });
      if (played.kind === 'played') {
        [result, document] = [summariseMember(played.trajectory, terms), JSON.stringify(played.trajectory)];
        break;
      }
      onLost(played.detail);
      if (attempt < ATTEMPTS) await sleep(clock, WAIT_MS * 2 ** attempt, signal);
    }
    signal.throwIfAborted();
    await keep(number, rep, result, document);
    ended.set(rep, result);
    onChange();
  }
}
