import { describe, expect, it } from 'vitest';
import { formatDeliveredGroup, deliveredGroupSchema, findOldestAllowed } from '../../../src/agents/rollouts/streams/delivered-group.ts';
import { deriveMemberSeed, summariseMember, VOID_MEMBER, type MemberResult } from '../../../src/agents/rollouts/streams/member-result.ts';
import { planStream, type ActingGroup, type StreamView } from '../../../src/agents/rollouts/streams/plan-stream.ts';
import { countVersions } from '../../../src/agents/rollouts/streams/policy-versions.ts';
import { parseGroupNumber, parseStreamId } from '../../../src/agents/rollouts/streams/stream-ids.ts';
import { completeTerms, givenTermsSchema, type GroupTerms } from '../../../src/agents/rollouts/streams/stream-order.ts';

function terms(changes: object = {}): GroupTerms {
  return completeTerms(givenTermsSchema.parse({ groupSize: 2, concurrency: 8, batch: 2, maxStaleness: 1, ...changes }));
}

function member(reward: number | null, changes: Partial<MemberResult> = {}): MemberResult {
  return { core: reward, reward, isMasked: false, oldest: null, newest: null, ...changes };
}

function group(number: number, members: readonly MemberResult[], changes: Partial<ActingGroup> = {}): ActingGroup {
  return { number, begun: 0, wanted: 2, ended: new Map(members.entries()), grading: 0, ...changes };
}

function view(changes: Partial<StreamView> = {}): StreamView {
  return { running: [], next: 0, ready: 0, acknowledged: 0, reported: [], ...changes };
}

const REPORTED = [{ version: 10 }, { version: 20 }, { version: 30 }];

describe('what a stream of groups does next', () => {
  it('begins groups that can be fresh enough, accepts whole ones, and replaces groups that teach nothing', () => {
    const begun = [0, 1, 2, 3].map((number) => ({ kind: 'begin', number }));
    expect(planStream(view(), terms())).toEqual(begun);
    const running = [group(0, [member(1), member(0)]), group(1, [member(1), member(1)]), group(2, [member(1)]), group(3, [])];
    const [accepted, ...rest] = planStream(view({ running, next: 4 }), terms());
    expect(accepted).toMatchObject({ kind: 'accept', group: { number: 0, size: 2, mean: 0.5, oldest: 0 } });
    expect(rest).toEqual([
      { kind: 'filter', number: 1, why: 'zero-variance' },
      { kind: 'begin', number: 4 },
    ]);
    // Filtered groups are none of those that the trainer waits for: the stream would run dry.
    expect(planStream(view({ next: 100, acknowledged: 4 }), terms())).toEqual([]);
    expect(planStream(view({ next: 100, acknowledged: 3 }), terms())).toEqual([{ kind: 'begin', number: 100 }]);
    expect(planStream(view({ next: 4, acknowledged: 3 }), terms({ total: 3 }))).toEqual([{ kind: 'complete' }]);
  });

  it('lets other members act while some are graded, within the bound on waiting groups', () => {
    const few = terms({ concurrency: 2, batch: 1 });
    expect(planStream(view({ running: [group(0, [])], next: 1 }), few)).toEqual([]);
    expect(planStream(view({ running: [group(0, [], { grading: 1 })], next: 1 }), few)).toEqual([{ kind: 'begin', number: 1 }]);
    expect(planStream(view({ running: [group(0, [], { grading: 1 }), group(1, [])], next: 2 }), few)).toEqual([]);
    const graded = [group(0, [member(1)], { grading: 1 })];
    expect(planStream(view({ running: graded, next: 1 }), few)).toEqual([{ kind: 'begin', number: 1 }]);
    expect(planStream(view({ running: [...graded, group(1, [], { grading: 2 })], next: 2 }), few)).toEqual([]);
  });

  it('filters on the core reward, before shaping can make noise look like a signal', () => {
    const shaped = group(0, [member(1, { core: 1, reward: 0.9 }), member(1, { core: 1, reward: 0.8 })]);
    expect(planStream(view({ running: [shaped], next: 4, acknowledged: 3 }), terms())).toContainEqual({
      kind: 'filter',
      number: 0,
      why: 'zero-variance',
    });
    expect(planStream(view({ running: [shaped], next: 4, acknowledged: 3 }), terms({ keepFiltered: true }))).toMatchObject([
      { kind: 'accept', group: { advantages: [expect.closeTo(Math.SQRT1_2, 3), expect.closeTo(-Math.SQRT1_2, 3)] } },
    ]);
  });

  it('counts no member that is void, masked or without a verdict, and continues with a group of which half is void', () => {
    const running = [group(0, [member(1), VOID_MEMBER, member(null), member(0), member(0.5, { isMasked: true })], { wanted: 5 })];
    expect(planStream(view({ running, acknowledged: 4 }), terms({ advantages: 'rloo' }))).toEqual([
      { kind: 'accept', group: { number: 0, advantages: [1, null, null, -1, null], size: 2, mean: 0.5, oldest: 0 } },
    ]);
    expect(planStream(view({ running: [group(0, [VOID_MEMBER, VOID_MEMBER])], acknowledged: 4 }), terms())[0]).toMatchObject({
      kind: 'filter',
      why: 'no-reward',
    });
  });

  it('counts staleness from the oldest version that took part, and cancels what is too old, also while it runs', () => {
    const spans = group(0, [member(1, { oldest: 30 }), member(0, { oldest: 10, newest: 30 })], { begun: 1 });
    const fresh = group(1, [member(1, { oldest: 20 }), member(0, { oldest: 30 })], { begun: 2 });
    const runs = group(2, [member(1, { oldest: 30 })], { begun: 1 });
    const actions = planStream(view({ running: [spans, fresh, runs], next: 3, reported: REPORTED }), terms());
    expect(actions.slice(0, 3)).toMatchObject([
      { kind: 'cancel', number: 0 },
      { kind: 'cancel', number: 2 },
      { kind: 'accept', group: { number: 1, oldest: 2 } },
    ]);
    expect([5, 10, 25, 30, 99].map((version) => countVersions(version, REPORTED))).toEqual([0, 1, 2, 3, 3]);
    expect([0, 1, 2, 5].map((version) => findOldestAllowed(version, { maxStaleness: 1 }))).toEqual([0, 0, 1, 4]);
  });

  it('gives further members to groups whose rewards differ most, as far as there is room, and to no others', () => {
    const running = [
      group(0, [member(1), member(1)]),
      group(1, [member(1), member(0.8)]),
      group(2, [member(1), member(0)]),
      group(3, [member(0)]),
    ];
    expect(() => terms({ growTo: 1 })).toThrow('growTo: expected groupSize, which is 2, or more; got 1');
    const actions = planStream(view({ running, next: 4, acknowledged: 4 }), terms({ growTo: 6, concurrency: 6 }));
    expect(actions).toMatchObject([
      { kind: 'grow', number: 1, by: 1 },
      { kind: 'grow', number: 2, by: 4 },
      { kind: 'filter', number: 0 },
    ]);
  });

  it('stops beginning groups while the trainer fetches none, and continues when it does', () => {
    const reported = [{ version: 1 }, { version: 2 }, { version: 3 }];
    expect(planStream(view({ ready: 4, next: 4, reported }), terms())).toEqual([]);
    expect(planStream(view({ ready: 3, acknowledged: 1, next: 4, reported }), terms())).toEqual([{ kind: 'begin', number: 4 }]);
  });
});

describe('a group and its members', () => {
  it('has seeds of its own for each member, and ids that no other stream takes for its own', () => {
    expect([0, 1, 2].map((rep) => deriveMemberSeed(7, rep))).toEqual([3_273_869_473, 1_973_244_547, 840_241_622]);
    const stream = parseStreamId('ro-a');
    expect(['ro-a.3', 'ro-ab.3', 'ro-a.03', 'ro-a.', 'ro-a.-1', 'x'].map((id) => parseGroupNumber(stream, id))).toEqual([
      3,
      ...Array(5).fill(undefined),
    ]);
    const turns = [3, null, 2].map((policyVersion) => ({ policyVersion }));
    const played = { reward: 0.7, components: { correctness: 1 }, status: 'truncated', turns } as const;
    const summarised = (maskTruncated: boolean): MemberResult =>
      summariseMember(Object.assign(Object.create(null), played), { maskTruncated });
    expect(summarised(false)).toEqual({ core: 1, reward: 0.7, isMasked: false, oldest: 2, newest: 3 });
    expect(summarised(true).isMasked).toBe(true);
  });

  it('is delivered without the members that were lost, on one line', () => {
    const versions = { oldest: 1, newest: 2 };
    const head = { number: 3, task: 't', taskDigest: 'd', taskSeed: 1, advantages: [0.5, null], size: 1, mean: 1, oldest: 1, versions };
    const leased = { number: 3, cursor: 9, lease: 2, head, trajectories: [undefined, undefined] };
    const text = formatDeliveredGroup(parseStreamId('ro-a'), leased, 3);
    expect(text).not.toContain('\n');
    const { oldest: _, number: __, ...rest } = head;
    expect(deliveredGroupSchema.parse(JSON.parse(text))).toEqual({
      ...rest,
      group: 'ro-a.3',
      lease: 2,
      cursor: 9,
      staleness: 2,
      advantages: [],
      trajectories: [],
    });
  });
});
