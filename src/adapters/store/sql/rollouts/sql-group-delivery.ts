import type { ReportedVersion } from '../../../../agents/rollouts/streams/policy-versions.ts';
import type { Acknowledgement, LeasedGroup, LeaseRequest } from '../../../../agents/rollouts/streams/rollout-streams.ts';
import type { StreamId } from '../../../../agents/rollouts/streams/stream-ids.ts';
import { readHead, readReported } from './rollout-rows.ts';
import { readNumber, readOptional, readText } from '../schema/columns.ts';
import { guard, toStep, type Row } from '../schema/database.ts';
import { sql, toPlainSql } from '../schema/statement.ts';
import { SqlAdapter } from '../schema/sql-adapter.ts';

/** Trainers' requests to streams: groups, acknowledgements, and reported versions. */
export class SqlGroupDelivery extends SqlAdapter {
  async noteAsked(id: StreamId): Promise<void> {
    await this.database.transact([toStep(sql`UPDATE rollout_streams SET asked_at = ${this.#now()} WHERE id = ${id}`)]);
  }

  async lease(id: StreamId, { milliseconds, after, oldest }: LeaseRequest): Promise<LeasedGroup | undefined> {
    const now = this.#now();
    const stream = sql`(SELECT key FROM rollout_streams WHERE id = ${id})`;
    const first = sql`
      SELECT number FROM rollout_groups WHERE stream = ${stream} AND state = 'ready' AND leased_until <= ${now} AND cursor > ${after}
        AND oldest >= ${oldest} ORDER BY cursor LIMIT 1${toPlainSql(this.database.dialect.skipTaken)}`;
    const leased = sql`
      UPDATE rollout_groups SET lease = lease + 1, leased_until = ${now + milliseconds} WHERE stream = ${stream} AND number = (${first})
      RETURNING number, cursor, lease, head`;
    const [row] = (await this.database.transact([guard(leased)]))?.[0] ?? [];
    if (row === undefined) return undefined;
    const number = readNumber(row, 'number');
    const members = await this.database.query(
      sql`SELECT document FROM rollout_members WHERE stream = ${stream} AND number = ${number} ORDER BY rep`,
    );
    return {
      number,
      cursor: readNumber(row, 'cursor'),
      lease: readNumber(row, 'lease'),
      head: readHead(row),
      trajectories: members.map((member) => readOptional(member, 'document', readText)),
    };
  }

  async acknowledge(id: StreamId, number: number, lease: number): Promise<Acknowledgement> {
    const group = sql`stream = (SELECT key FROM rollout_streams WHERE id = ${id}) AND number = ${number}`;
    const done = sql`UPDATE rollout_groups SET state = 'acknowledged' WHERE ${group} AND state = 'ready' AND lease = ${lease} RETURNING number`;
    const counted = sql`UPDATE rollout_streams SET ready = ready - 1, acknowledged = acknowledged + 1 WHERE id = ${id}`;
    const forgotten = sql`DELETE FROM rollout_members WHERE ${group}`;
    if (lease > 0 && (await this.database.transact([guard(done), toStep(counted), toStep(forgotten)])) !== undefined) return 'acknowledged';
    const [row] = await this.database.query(sql`SELECT state, lease FROM rollout_groups WHERE ${group}`);
    return judgeAcknowledgement(row, lease);
  }

  async reportVersion(
    principal: string,
    policy: string,
    version: number,
    endpoint: string | undefined,
  ): Promise<ReportedVersion | undefined> {
    const of = sql`principal = ${principal} AND policy = ${policy}`;
    const report = sql`
      INSERT INTO policy_versions (principal, policy, ordinal, version, endpoint, at)
      SELECT CAST(${principal} AS text), CAST(${policy} AS text), coalesce(max(ordinal), 0) + 1, CAST(${version} AS bigint), CAST(${endpoint} AS text),
        CAST(${this.#now()} AS bigint) FROM policy_versions WHERE ${of} HAVING coalesce(max(version), -1) < ${version}`;
    await this.database.transact([toStep(report)]);
    const last = await this.findLastReported(principal, policy);
    return last?.version === version ? last : undefined;
  }

  async findLastReported(principal: string, policy: string): Promise<ReportedVersion | undefined> {
    const [row] = await this.database.query(
      sql`SELECT ordinal, version, endpoint FROM policy_versions WHERE principal = ${principal} AND policy = ${policy}
          ORDER BY ordinal DESC LIMIT 1`,
    );
    return row && readReported(row);
  }

  async listReported(principal: string, policy: string, after: number): Promise<readonly ReportedVersion[]> {
    const rows = await this.database.query(
      sql`SELECT ordinal, version, endpoint FROM policy_versions WHERE principal = ${principal} AND policy = ${policy} AND ordinal > ${after}
          ORDER BY ordinal`,
    );
    return rows.map(readReported);
  }

  #now(): number {
    return this.clock.date().getTime();
  }
}

function judgeAcknowledgement(row: Row | undefined, lease: number): Acknowledgement {
  if (row === undefined || lease < 1 || lease > readNumber(row, 'lease')) return 'unknown';
  const isLast = lease === readNumber(row, 'lease');
  return readText(row, 'state') === 'acknowledged' && isLast ? 'repeated' : 'late';
}
