import type { RunningGroup } from '../../../../agents/rollouts/streams/plan-stream.ts';
import type { MemberResult } from '../../../../agents/rollouts/streams/member-result.ts';
import {
  type GroupHead,
  type ListedGroup,
  type NewStream,
  type RolloutStreams,
  type StoredStream,
  type StreamHold,
  StreamLostError,
  type StreamState,
} from '../../../../agents/rollouts/streams/rollout-streams.ts';
import { nameGroup, nameMember, parseStreamId, type StreamId } from '../../../../agents/rollouts/streams/stream-ids.ts';
import type { OwnerId } from '../../../../kernel/ids.ts';
import { readListedGroups, readRunningGroups, readStream } from './rollout-rows.ts';
import { readNumber, readText } from '../schema/columns.ts';
import { guard, toStep, type Step } from '../schema/database.ts';
import { sql, type Sql } from '../schema/statement.ts';
import { SqlGroupDelivery } from './sql-group-delivery.ts';
import { forgetTurns } from './sql-stored-turns.ts';

/** Streams, and the writes of their holders. SqlGroupDelivery has the trainers' requests. */
export class SqlRolloutStreams extends SqlGroupDelivery implements RolloutStreams {
  async create({ id, principal, policy, terms, order }: NewStream): Promise<StoredStream> {
    const created = sql`
      INSERT INTO rollout_streams (id, principal, policy, terms, request, concurrency, state, created_at, told_before, begun, ready, acknowledged,
        filtered, stale, trajectories, finished, fence, held_until, asked_at)
      VALUES (${id}, ${principal}, ${policy}, ${JSON.stringify(terms)}, ${JSON.stringify(order)}, ${terms.concurrency}, 'running', ${this.#now()},
        (SELECT coalesce(max(ordinal), 0) FROM policy_versions WHERE principal = ${principal} AND policy = ${policy}), 0, 0, 0, 0, 0, 0, 0, 0, 0,
        ${this.#now()})
      RETURNING *`;
    const [row] = (await this.database.transact([guard(created)]))?.[0] ?? [];
    if (row === undefined) throw new StreamLostError(id);
    return readStream(row);
  }

  async find(id: StreamId): Promise<StoredStream | undefined> {
    const [row] = await this.database.query(sql`SELECT * FROM rollout_streams WHERE id = ${id}`);
    return row && readStream(row);
  }

  async list(principal: string | undefined, limit: number): Promise<readonly StoredStream[]> {
    const whose = principal === undefined ? sql`` : sql`WHERE principal = ${principal}`;
    const rows = await this.database.query(sql`SELECT * FROM rollout_streams ${whose} ORDER BY created_at DESC, id DESC LIMIT ${limit}`);
    return rows.map(readStream);
  }

  async listRunning(limit: number): Promise<readonly StoredStream[]> {
    const rows = await this.database.query(
      sql`SELECT * FROM rollout_streams WHERE state = 'running' ORDER BY created_at, id LIMIT ${limit}`,
    );
    return rows.map(readStream);
  }

  async countConcurrency(principal: string): Promise<number> {
    const [row] = await this.database.query(
      sql`SELECT CAST(coalesce(sum(concurrency), 0) AS bigint) AS figure FROM rollout_streams WHERE principal = ${principal} AND state = 'running'`,
    );
    return row === undefined ? 0 : readNumber(row, 'figure');
  }

  async hold(id: StreamId, holder: OwnerId, milliseconds: number): Promise<StreamHold | undefined> {
    const now = this.#now();
    const held = sql`
      UPDATE rollout_streams SET fence = CASE WHEN holder = ${holder} THEN fence ELSE fence + 1 END, holder = ${holder},
        held_until = ${now + milliseconds}
      WHERE id = ${id} AND state = 'running' AND (holder IS NULL OR holder = ${holder} OR held_until <= ${now}) RETURNING fence`;
    const [row] = (await this.database.transact([guard(held)]))?.[0] ?? [];
    return row && { stream: id, fence: readNumber(row, 'fence') };
  }

  async release({ stream, fence }: StreamHold): Promise<void> {
    const released = sql`UPDATE rollout_streams SET holder = NULL, held_until = 0 WHERE id = ${stream} AND fence = ${fence}`;
    await this.database.transact([toStep(released)]);
  }

  async end(id: StreamId, state: Exclude<StreamState, 'running'>, problem: string | undefined): Promise<void> {
    const ended = sql`
      UPDATE rollout_streams SET state = ${state}, problem = ${problem}, ended_at = ${this.#now()} WHERE id = ${id} AND state = 'running'`;
    await this.database.transact([toStep(ended), forgetTurns(`${id}.`)]);
  }

  async endAbandoned(milliseconds: number, problem: string): Promise<void> {
    const old = await this.database.query(
      sql`SELECT id FROM rollout_streams WHERE state = 'running' AND asked_at <= ${this.#now() - milliseconds}`,
    );
    for (const row of old) await this.end(parseStreamId(readText(row, 'id')), 'cancelled', problem);
  }

  async note(hold: StreamHold, problem: string | undefined): Promise<void> {
    await this.#changeHeld(hold, sql`problem = ${problem}`, []);
  }

  async listUnsettled(id: StreamId): Promise<readonly RunningGroup[]> {
    return readRunningGroups(
      await this.database.query(sql`
        SELECT g.number, g.begun, g.wanted, m.rep, m.result FROM rollout_groups g
        LEFT JOIN rollout_members m ON m.stream = g.stream AND m.number = g.number
        WHERE g.stream = ${matchStream(id)} AND g.state = 'running' ORDER BY g.number, m.rep`),
    );
  }

  async listRecent(id: StreamId, limit: number): Promise<readonly ListedGroup[]> {
    const latest = sql`SELECT * FROM rollout_groups WHERE stream = ${matchStream(id)} ORDER BY number DESC LIMIT ${limit}`;
    const rows = await this.database.query(sql`
      SELECT g.number, g.state, g.begun, g.wanted, g.head, g.lease, g.leased_until, m.rep, m.result FROM (${latest}) g
      LEFT JOIN rollout_members m ON m.stream = g.stream AND m.number = g.number ORDER BY g.number DESC, m.rep`);
    return readListedGroups(rows, this.#now());
  }

  async begin(hold: StreamHold, { number, begun, wanted }: Omit<RunningGroup, 'ended'>): Promise<void> {
    const begin = sql`
      INSERT INTO rollout_groups (stream, number, state, begun, wanted, lease, leased_until)
      SELECT key, CAST(${number} AS bigint), 'running', CAST(${begun} AS bigint), CAST(${wanted} AS bigint), 0, 0
      FROM rollout_streams WHERE id = ${hold.stream}`;
    await this.#changeHeld(hold, sql`begun = begun + 1`, [toStep(begin)]);
  }

  async grow(hold: StreamHold, number: number, wanted: number): Promise<void> {
    const grown = sql`UPDATE rollout_groups SET wanted = ${wanted} WHERE ${matchGroup(hold.stream, number)} AND state = 'running'`;
    await this.#changeHeld(hold, sql`begun = begun`, [toStep(grown)]);
  }

  async keepMember(hold: StreamHold, number: number, rep: number, result: MemberResult, trajectory: string | undefined): Promise<void> {
    const kept = sql`
      INSERT INTO rollout_members (stream, number, rep, result, document)
      SELECT key, CAST(${number} AS bigint), CAST(${rep} AS bigint), CAST(${JSON.stringify(result)} AS text), CAST(${trajectory} AS text)
      FROM rollout_streams WHERE id = ${hold.stream} ON CONFLICT DO NOTHING`;
    const member = nameMember(nameGroup(hold.stream, number), rep);
    await this.#changeHeld(hold, sql`trajectories = trajectories + 1`, [
      toStep(kept),
      toStep(sql`DELETE FROM agent_turns WHERE episode = ${member}`),
    ]);
  }

  async accept(hold: StreamHold, head: GroupHead): Promise<void> {
    const { number, oldest } = head;
    const accepted = sql`
      UPDATE rollout_groups SET state = 'ready', oldest = ${oldest}, head = ${JSON.stringify(head)},
        cursor = (SELECT finished FROM rollout_streams WHERE id = ${hold.stream})
      WHERE ${matchGroup(hold.stream, number)} AND state = 'running' RETURNING number`;
    await this.#changeHeld(hold, sql`ready = ready + 1, finished = finished + 1`, [guard(accepted)]);
  }

  async discard(hold: StreamHold, number: number, why: 'filtered' | 'stale'): Promise<void> {
    const discarded = sql`UPDATE rollout_groups SET state = ${why} WHERE ${matchGroup(hold.stream, number)} AND state = 'running' RETURNING number`;
    const counted = why === 'filtered' ? sql`filtered = filtered + 1` : sql`stale = stale + 1`;
    await this.#changeHeld(hold, counted, [
      guard(discarded),
      forgetMembers(hold.stream, number),
      forgetTurns(nameMember(nameGroup(hold.stream, number), '')),
    ]);
  }

  async discardOld(hold: StreamHold, oldest: number): Promise<number> {
    const old = await this.database.query(sql`
      SELECT number FROM rollout_groups WHERE stream = ${matchStream(hold.stream)} AND state = 'ready' AND oldest < ${oldest}
        AND leased_until <= ${this.#now()}`);
    for (const row of old) await this.#discardReady(hold, readNumber(row, 'number'));
    return old.length;
  }

  /** Has no effect when a trainer has got it in between. */
  async #discardReady({ stream, fence }: StreamHold, number: number): Promise<void> {
    const discarded = sql`
      UPDATE rollout_groups SET state = 'stale' WHERE ${matchGroup(stream, number)} AND state = 'ready' AND leased_until <= ${this.#now()}
      RETURNING number`;
    const counted = sql`
      UPDATE rollout_streams SET ready = ready - 1, stale = stale + 1 WHERE id = ${stream} AND fence = ${fence} AND state = 'running' RETURNING key`;
    await this.database.transact([guard(discarded), guard(counted), forgetMembers(stream, number)]);
  }

  async forgetOld(milliseconds: number, limit: number): Promise<void> {
    const old = sql`SELECT key FROM rollout_streams WHERE ended_at <= ${this.#now() - milliseconds} ORDER BY ended_at LIMIT ${limit}`;
    await this.database.transact([toStep(sql`DELETE FROM rollout_streams WHERE key IN (${old})`)]);
  }

  /** Makes the whole change while the hold is in force and the stream runs, or none of it. @throws StreamLostError */
  async #changeHeld({ stream, fence }: StreamHold, change: Sql, steps: readonly Step[]): Promise<void> {
    const held = sql`
      UPDATE rollout_streams SET ${change} WHERE id = ${stream} AND fence = ${fence} AND state = 'running' RETURNING key`;
    if ((await this.database.transact([guard(held), ...steps])) === undefined) throw new StreamLostError(stream);
  }

  #now(): number {
    return this.clock.date().getTime();
  }
}

function matchStream(id: StreamId): Sql {
  return sql`(SELECT key FROM rollout_streams WHERE id = ${id})`;
}

function matchGroup(id: StreamId, number: number): Sql {
  return sql`stream = ${matchStream(id)} AND number = ${number}`;
}

function forgetMembers(id: StreamId, number: number): Step {
  return toStep(sql`DELETE FROM rollout_members WHERE ${matchGroup(id, number)}`);
}
