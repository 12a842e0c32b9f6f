import type { UsageLedger } from '../../../evaluation-store/usage-ledger.ts';
import type { Digest } from '../../../kernel/ids.ts';
import { readNumber } from './schema/columns.ts';
import { toStep, type Dialect, type Step } from './schema/database.ts';
import { toPlainSql, sql, type Sql } from './schema/statement.ts';
import { SqlAdapter } from './schema/sql-adapter.ts';

const HOUR_MS = 3_600_000;

export class SqlUsage extends SqlAdapter implements UsageLedger {
  async countWaiting(principal: string): Promise<number> {
    return this.#queryNumber(sql`SELECT count(*) AS figure FROM evaluations WHERE principal = ${principal} AND state = 'waiting'`);
  }

  async countEpisodesSince(principal: string, since: Date): Promise<number> {
    return this.#queryNumber(
      sql`SELECT CAST(coalesce(sum(episodes), 0) AS bigint) AS figure FROM episode_hours
          WHERE principal = ${principal} AND hour >= ${floorToHour(since.getTime())}`,
    );
  }

  async sumCheckpointBytes(principal: string): Promise<number> {
    return this.#queryNumber(
      sql`SELECT CAST(coalesce(sum(bytes), 0) AS bigint) AS figure FROM charged_checkpoints WHERE principal = ${principal}`,
    );
  }

  async chargeCheckpoint(principal: string, checkpoint: Digest, bytes: number): Promise<void> {
    const charged = sql`
      INSERT INTO charged_checkpoints (principal, digest, bytes) VALUES (${principal}, ${checkpoint}, ${bytes}) ON CONFLICT DO NOTHING`;
    await this.database.transact([toStep(charged)]);
  }

  async creditCheckpoint(checkpoint: Digest): Promise<void> {
    await this.database.transact([toStep(sql`DELETE FROM charged_checkpoints WHERE digest = ${checkpoint}`)]);
  }

  async #queryNumber(query: Sql): Promise<number> {
    const [row] = await this.database.query(query);
    return row === undefined ? 0 : readNumber(row, 'figure');
  }
}

/**
 * Returns a step that counts episodes for the principal of an evaluation. Each connection counts in a row of its own: with a common row, appends
 * would wait for each other with the ownership locked, and a claim of it would wait for all of them.
 *
 * @param key of the evaluation. @param at milliseconds.
 */
export function countEpisodes({ connection }: Dialect, key: number, episodes: number, at: number): Step {
  return toStep(
    sql`INSERT INTO episode_hours (principal, hour, evaluation, connection, episodes)
        SELECT principal, CAST(${floorToHour(at)} AS bigint), key, ${toPlainSql(connection)}, CAST(${episodes} AS bigint) FROM evaluations WHERE key = ${key}
        ON CONFLICT (principal, hour, evaluation, connection) DO UPDATE SET episodes = episode_hours.episodes + excluded.episodes`,
  );
}

function floorToHour(milliseconds: number): number {
  return Math.floor(milliseconds / HOUR_MS);
}
