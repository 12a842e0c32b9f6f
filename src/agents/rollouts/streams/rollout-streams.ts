import { InfrastructureError } from '../../../kernel/errors.ts';
import type { OwnerId } from '../../../kernel/ids.ts';
import type { MemberResult } from './member-result.ts';
import type { RunningGroup, SettledGroup } from './plan-stream.ts';
import type { ReportedVersion } from './policy-versions.ts';
import type { StreamId } from './stream-ids.ts';
import type { GroupTerms } from './stream-order.ts';

export const STREAM_STATES = ['running', 'completed', 'cancelled', 'failed'] as const;
export type StreamState = (typeof STREAM_STATES)[number];

export interface NewStream {
  readonly id: StreamId;
  readonly principal: string;
  /** The name of its principal's policy. The trainer reports its versions. */
  readonly policy: string;
  readonly terms: GroupTerms;
  /** Suite and agent, as a document. */
  readonly order: unknown;
}

/** Groups by state. Running ones are the rest of `begun`. */
export interface StreamCounts {
  readonly begun: number;
  readonly ready: number;
  readonly acknowledged: number;
  readonly filtered: number;
  readonly stale: number;
  /** Trajectories that ended. */
  readonly trajectories: number;
}

export interface StoredStream extends NewStream {
  readonly createdAt: Date;
  readonly state: StreamState;
  /** Why it failed; while it runs, what went wrong last. */
  readonly problem: string | undefined;
  readonly endedAt: Date | undefined;
  /** How often a version of the policy was reported before it began. */
  readonly reportedBefore: number;
  readonly counts: StreamCounts;
}

/** The right to play a stream, until another holder gets it. */
export interface StreamHold {
  readonly stream: StreamId;
  /** Grows with each holder. */
  readonly fence: number;
}

/** Another Muster plays the stream, or it has ended. The receiver stops playing it. */
export class StreamLostError extends InfrastructureError {
  constructor(stream: StreamId) {
    super('rollouts.hold-lost', `stream ${stream} has ended, or another Muster plays it by now`);
  }
}

/** What a group's trainer gets besides the trajectories. */
export interface GroupHead extends SettledGroup {
  readonly task: string;
  readonly taskDigest: string;
  readonly taskSeed: number;
  /** Versions in the group, as the model server or the trainer states them; null when none is known. */
  readonly versions: { readonly oldest: number | null; readonly newest: number | null };
}

export interface LeasedGroup {
  readonly number: number;
  readonly cursor: number;
  /** The number of times that it was leased, this one included. The trainer acknowledges with it. */
  readonly lease: number;
  readonly head: GroupHead;
  /** The JSON of each trajectory, in the order of their positions; undefined for one that was lost. */
  readonly trajectories: readonly (string | undefined)[];
}

/**
 * acknowledged: now. repeated: before, by the same lease. late: it was leased again since, and another may have it. unknown: there is none, or it did
 * not get that lease.
 */
export const ACKNOWLEDGEMENTS = ['acknowledged', 'repeated', 'late', 'unknown'] as const;
export type Acknowledgement = (typeof ACKNOWLEDGEMENTS)[number];

export const GROUP_STATES = ['running', 'ready', 'acknowledged', 'filtered', 'stale'] as const;

/** A group as an observer sees it, without a lease. */
export interface ListedGroup extends RunningGroup {
  readonly state: (typeof GROUP_STATES)[number];
  /** It is set once a trainer may have it. Its members' results are removed with the acknowledgement. */
  readonly head: GroupHead | undefined;
  /** The number of times that it was leased. */
  readonly lease: number;
  /** While a trainer has it. */
  readonly leasedUntil: Date | undefined;
}

export interface LeaseRequest {
  readonly milliseconds: number;
  /** Groups after this cursor. */
  readonly after: number;
  /** The least version, as a number of reports, of the group's oldest one. */
  readonly oldest: number;
}

/**
 * Streams, their groups and the trajectories of these. What a method has resolved survives the end of a Muster. Each throws InfrastructureError when
 * the store fails or is too slow. Methods that take a hold throw StreamLostError when it is lost.
 */
export interface RolloutStreams {
  create(stream: NewStream): Promise<StoredStream>;

  find(id: StreamId): Promise<StoredStream | undefined>;

  /** Lists the latest first. @param principal undefined for all. */
  list(principal: string | undefined, limit: number): Promise<readonly StoredStream[]>;

  /** Lists the streams that run, oldest first. */
  listRunning(limit: number): Promise<readonly StoredStream[]>;

  /** Sums the concurrent trajectories that a principal's running streams may have. */
  countConcurrency(principal: string): Promise<number>;

  /** Takes the right to play, unless another holder has it now. The same holder renews its own. Returns undefined for a stream that has ended. */
  hold(id: StreamId, holder: OwnerId, milliseconds: number): Promise<StreamHold | undefined>;

  /** Gives the right back. */
  release(hold: StreamHold): Promise<void>;

  /** Takes effect once: a stream that has ended stays as it is. */
  end(id: StreamId, state: Exclude<StreamState, 'running'>, problem: string | undefined): Promise<void>;

  /** Stores the latest problem; undefined when there is none any more. */
  note(hold: StreamHold, problem: string | undefined): Promise<void>;

  /** Lists the groups that were begun and are not settled, with what is known of their members. */
  listUnsettled(id: StreamId): Promise<readonly RunningGroup[]>;

  /** Lists the groups that were begun last, latest first, without their trajectories. */
  listRecent(id: StreamId, limit: number): Promise<readonly ListedGroup[]>;

  begin(hold: StreamHold, group: Omit<RunningGroup, 'ended'>): Promise<void>;

  grow(hold: StreamHold, number: number, wanted: number): Promise<void>;

  /** @param trajectory its JSON; undefined for one that was lost. Storing a member again changes nothing. */
  keepMember(hold: StreamHold, number: number, rep: number, result: MemberResult, trajectory: string | undefined): Promise<void>;

  /** Offers the group to the trainer. */
  accept(hold: StreamHold, head: GroupHead): Promise<void>;

  /** Discards a group: no trainer gets it, and its trajectories are removed. */
  discard(hold: StreamHold, number: number, why: 'filtered' | 'stale'): Promise<void>;

  /** Discards as stale the ready, unleased groups whose oldest version is older than that. @returns how many. */
  discardOld(hold: StreamHold, oldest: number): Promise<number>;

  /** Records that a trainer asks for its groups. */
  noteAsked(id: StreamId): Promise<void>;

  /** Cancels the streams whose groups no trainer has requested for this many milliseconds. */
  endAbandoned(milliseconds: number, problem: string): Promise<void>;

  /** Leases the first group that is ready and not leased; returns undefined when there is none. */
  lease(id: StreamId, request: LeaseRequest): Promise<LeasedGroup | undefined>;

  acknowledge(id: StreamId, number: number, lease: number): Promise<Acknowledgement>;

  /** Removes streams that ended at least this many milliseconds ago. */
  forgetOld(milliseconds: number, limit: number): Promise<void>;

  /** @returns undefined when a later version was reported before. Reporting the last one again changes nothing. */
  reportVersion(principal: string, policy: string, version: number, endpoint: string | undefined): Promise<ReportedVersion | undefined>;

  findLastReported(principal: string, policy: string): Promise<ReportedVersion | undefined>;

  /** Lists the versions after an ordinal, in order. */
  listReported(principal: string, policy: string, after: number): Promise<readonly ReportedVersion[]>;
}
