import { computeAdvantages, type GroupAdvantages } from '../groups/compute-advantages.ts';
import { growGroups } from '../groups/grow-groups.ts';
import { isTooStale, planStarts } from '../groups/plan-starts.ts';
import type { MemberResult } from './member-result.ts';
import { countVersions, type ReportedVersion } from './policy-versions.ts';
import { toAdvantageTerms, toStreamTerms, type GroupTerms } from './stream-order.ts';

/** A group that is played, as it is stored. */
export interface RunningGroup {
  readonly number: number;
  /** The number of versions that had been reported when the group began. */
  readonly begun: number;
  /** Its planned number of members. */
  readonly wanted: number;
  /** Members that have ended, by their position in the group. */
  readonly ended: ReadonlyMap<number, MemberResult>;
}

export interface ActingGroup extends RunningGroup {
  /** Members whose agents have ended, and which are still graded: others may act in their place. */
  readonly grading: number;
}

export interface StreamView {
  readonly running: readonly ActingGroup[];
  /** The number of groups that were begun so far, which is the number of the next one. */
  readonly next: number;
  /** The number of groups that wait for the trainer, and of those that it has acknowledged. */
  readonly ready: number;
  readonly acknowledged: number;
  /** The versions that were reported since the stream began. */
  readonly reported: readonly Pick<ReportedVersion, 'version'>[];
}

export interface SettledGroup extends Pick<GroupAdvantages, 'advantages' | 'size' | 'mean'> {
  readonly number: number;
  /** Its oldest version, as a number of reports. */
  readonly oldest: number;
}

export type StreamAction =
  | { readonly kind: 'begin'; readonly number: number }
  /** Adds this many members to the group. */
  | { readonly kind: 'grow'; readonly number: number; readonly by: number }
  | { readonly kind: 'accept'; readonly group: SettledGroup }
  | { readonly kind: 'filter'; readonly number: number; readonly why: NonNullable<GroupAdvantages['filtered']> }
  /** The group has become too old for the trainer: its running members are cancelled. */
  | { readonly kind: 'cancel'; readonly number: number }
  | { readonly kind: 'complete' };

/**
 * Decides what a stream of groups does next: old groups are cancelled, complete ones are grown or settled, and new ones begin.
 *
 * A group's age is that of the oldest version in it: of a member that has ended, or of one that runs since the group began.
 */
export function planStream(view: StreamView, terms: GroupTerms): readonly StreamAction[] {
  const { running, ready, acknowledged, reported, next } = view;
  if (terms.total !== undefined && acknowledged >= terms.total) return [{ kind: 'complete' }];
  const version = reported.length;
  const isStale = (group: RunningGroup): boolean => isTooStale(findOldest(group, reported), version, terms);
  const cancelled = running.filter(isStale);
  const fresh = running.filter((group) => !isStale(group));
  const whole = fresh.filter(({ ended, wanted }) => ended.size >= wanted);
  const free = terms.concurrency - countActing(fresh);
  const grown = planGrowth(whole, free, terms);
  const settled = whole.filter(({ number }) => !grown.has(number)).map((group) => settle(group, reported, terms));
  const accepted = settled.filter(({ kind }) => kind === 'accept').length;
  const still = fresh.length - settled.length;
  const counts = {
    running: still,
    trajectories: countActing(fresh) + [...grown.values()].reduce((sum, by) => sum + by, 0),
    accepted: ready + acknowledged + accepted,
    waiting: ready + accepted,
    version,
  };
  const starts = planStarts(counts, toStreamTerms(terms));
  return [
    ...cancelled.map(({ number }) => ({ kind: 'cancel', number }) as const),
    ...[...grown].map(([number, by]) => ({ kind: 'grow', number, by }) as const),
    ...settled,
    ...Array.from({ length: starts }, (_, i) => ({ kind: 'begin', number: next + i }) as const),
  ];
}

/**
 * Finds the oldest version in the group, as a number of reports. A running member, or one with unknown versions, is as old as its group; one that
 * does not count in the group is ignored.
 */
function findOldest({ begun, wanted, ended }: RunningGroup, reported: StreamView['reported']): number {
  const counted = [...ended.values()].filter(({ reward, isMasked }) => reward !== null && !isMasked);
  const isRunning = ended.size < wanted || counted.length === 0;
  const ages = counted.map(({ oldest }) => (oldest === null ? begun : countVersions(oldest, reported)));
  return Math.min(...ages, ...(isRunning ? [begun] : []));
}

function countActing(groups: readonly ActingGroup[]): number {
  return groups.reduce((sum, { wanted, ended, grading }) => sum + Math.max(0, wanted - ended.size - grading), 0);
}

/** Grows only groups whose members differ; the others are filtered. @returns by how many members each of them grows. */
function planGrowth(whole: readonly RunningGroup[], free: number, terms: GroupTerms): ReadonlyMap<number, number> {
  const growing = whole.filter(
    ({ wanted, ended }) => wanted < terms.growTo && computeAdvantages(listMembers(ended), toAdvantageTerms(terms)).filtered === null,
  );
  const sizes = growing.map(({ ended }) => {
    const rewards = [...ended.values()].flatMap(({ core, isMasked }) => (core === null || isMasked ? [] : [core]));
    return { size: ended.size, rewards: rewards.reduce((sum, each) => sum + each, 0) };
  });
  const by = growGroups(sizes, Math.max(0, free), terms.growTo);
  return new Map(growing.flatMap(({ number }, i) => ((by[i] ?? 0) > 0 ? [[number, by[i] ?? 0] as const] : [])));
}

function settle(group: RunningGroup, reported: StreamView['reported'], terms: GroupTerms): StreamAction {
  const { number, ended } = group;
  const { filtered, advantages, size, mean } = computeAdvantages(listMembers(ended), toAdvantageTerms(terms));
  if (filtered === 'no-reward' || (filtered !== null && !terms.keepFiltered)) return { kind: 'filter', number, why: filtered };
  return { kind: 'accept', group: { number, advantages, size, mean, oldest: findOldest(group, reported) } };
}

/** Lists the members in the order of their positions. */
function listMembers(ended: RunningGroup['ended']): readonly MemberResult[] {
  return [...ended].sort(([one], [other]) => one - other).map(([, result]) => result);
}
