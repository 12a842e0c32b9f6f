import { z } from 'zod';
import { memberResultSchema } from '../../../../agents/rollouts/streams/member-result.ts';
import type { ReportedVersion } from '../../../../agents/rollouts/streams/policy-versions.ts';
import {
  GROUP_STATES,
  type GroupHead,
  type ListedGroup,
  STREAM_STATES,
  type StoredStream,
} from '../../../../agents/rollouts/streams/rollout-streams.ts';
import type { RunningGroup } from '../../../../agents/rollouts/streams/plan-stream.ts';
import { parseStreamId } from '../../../../agents/rollouts/streams/stream-ids.ts';
import { groupTermsSchema } from '../../../../agents/rollouts/streams/stream-order.ts';
import { InfrastructureError } from '../../../../kernel/errors.ts';
import { readDate, readDocument, readNumber, readOptional, readText } from '../schema/columns.ts';
import type { Row } from '../schema/database.ts';

const whole = z.int().min(0);

const headSchema = z.strictObject({
  number: whole,
  task: z.string(),
  taskDigest: z.string(),
  taskSeed: whole,
  advantages: z.array(z.number().nullable()),
  size: whole,
  mean: z.number().nullable(),
  oldest: whole,
  versions: z.strictObject({ oldest: z.int().nullable(), newest: z.int().nullable() }),
});

export function readStream(row: Row): StoredStream {
  const id = parseStreamId(readText(row, 'id'));
  return {
    id,
    principal: readText(row, 'principal'),
    policy: readText(row, 'policy'),
    terms: parseDocument(groupTermsSchema, row, 'terms'),
    order: readDocument(row, 'request'),
    createdAt: readDate(row, 'created_at'),
    state: parse(z.enum(STREAM_STATES), row['state'], 'state'),
    problem: readOptional(row, 'problem', readText),
    endedAt: readOptional(row, 'ended_at', readDate),
    reportedBefore: readNumber(row, 'told_before'),
    counts: {
      begun: readNumber(row, 'begun'),
      ready: readNumber(row, 'ready'),
      acknowledged: readNumber(row, 'acknowledged'),
      filtered: readNumber(row, 'filtered'),
      stale: readNumber(row, 'stale'),
      trajectories: readNumber(row, 'trajectories'),
    },
  };
}

/** Reads groups with their members, from rows that have one member each, or none. */
export function readRunningGroups(rows: readonly Row[]): readonly RunningGroup[] {
  const groups = new Map<number, RunningGroup & { readonly ended: Map<number, z.infer<typeof memberResultSchema>> }>();
  for (const row of rows) {
    const number = readNumber(row, 'number');
    const group = groups.get(number) ?? { number, begun: readNumber(row, 'begun'), wanted: readNumber(row, 'wanted'), ended: new Map() };
    groups.set(number, group);
    const rep = readOptional(row, 'rep', readNumber);
    if (rep !== undefined) group.ended.set(rep, parseDocument(memberResultSchema, row, 'result'));
  }
  return [...groups.values()];
}

/** Reads groups with their members, state and lease. @param now milliseconds since 1970: an expired lease counts as none. */
export function readListedGroups(rows: readonly Row[], now: number): readonly ListedGroup[] {
  const first = new Map(rows.toReversed().map((row) => [readNumber(row, 'number'), row]));
  return readRunningGroups(rows).flatMap((group) => {
    const row = first.get(group.number);
    if (row === undefined) return [];
    const state = parse(z.enum(GROUP_STATES), row['state'], 'state');
    const until = readNumber(row, 'leased_until');
    const isLeased = state === 'ready' && until > now;
    return [
      {
        ...group,
        state,
        head: row['head'] === null ? undefined : readHead(row),
        lease: readNumber(row, 'lease'),
        leasedUntil: isLeased ? new Date(until) : undefined,
      },
    ];
  });
}

export function readHead(row: Row): GroupHead {
  return parseDocument(headSchema, row, 'head');
}

export function readReported(row: Row): ReportedVersion {
  return { ordinal: readNumber(row, 'ordinal'), version: readNumber(row, 'version'), endpoint: readOptional(row, 'endpoint', readText) };
}

function parseDocument<Schema extends z.ZodType>(schema: Schema, row: Row, column: string): z.infer<Schema> {
  return parse(schema, readDocument(row, column), column);
}

function parse<Schema extends z.ZodType>(schema: Schema, value: unknown, column: string): z.infer<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new InfrastructureError(
    'store.unreadable',
    `${column} of a stream of rollouts has a form that this version of Muster does not know; was it stored by a newer version?`,
  );
}
