import type { EpisodeLog, EpisodeRanking, Leg, NewEpisode, StoredEpisode } from '../../../evaluation-store/episode-log.ts';
import type { Ownership } from '../../../evaluation-store/ownership.ts';
import type { ResultCache } from '../../../evaluation-store/result-cache.ts';
import type { EvaluationId } from '../../../kernel/ids.ts';
import { readNumber, readOptional, readText } from './schema/columns.ts';
import { toStep, type BulkColumn, type Step } from './schema/database.ts';
import { readEpisodeRow, toEpisodeRow } from './episode-row.ts';
import { transactOwned } from './schema/owned.ts';
import { countEpisodes } from './sql-usage.ts';
import { toPlainSql, sql, type Sql } from './schema/statement.ts';
import { SqlAdapter } from './schema/sql-adapter.ts';

const KEY: readonly BulkColumn[] = [
  { name: 'evaluation', type: 'bigint' },
  { name: 'arm', type: 'integer' },
  { name: 'episode', type: 'bigint' },
];
const COLUMNS: readonly BulkColumn[] = [
  ...KEY,
  { name: 'task', type: 'integer' },
  { name: 'outcome', type: 'text' },
  { name: 'result', type: 'double precision' },
  { name: 'length', type: 'bigint' },
  { name: 'seconds', type: 'double precision' },
  { name: 'extra', type: 'text' },
];

const TRANSCRIPT_COLUMNS: readonly BulkColumn[] = [...KEY, { name: 'document', type: 'text' }];

interface RankingSql {
  readonly joined: Sql;
  /** The episodes that the ranking is about. */
  readonly about: Sql;
  readonly order: Sql;
}

const NOTHING = toPlainSql('');
const COMPLETED = toPlainSql("e.outcome = 'completed'");

const RANKINGS: Readonly<Record<EpisodeRanking, RankingSql>> = {
  worst: { joined: NOTHING, about: COMPLETED, order: toPlainSql('e.result') },
  best: { joined: NOTHING, about: COMPLETED, order: toPlainSql('e.result DESC') },
  longest: { joined: NOTHING, about: COMPLETED, order: toPlainSql('e.length DESC') },
  slowest: { joined: NOTHING, about: toPlainSql('1 = 1'), order: toPlainSql('e.seconds DESC') },
  discordant: {
    joined: toPlainSql('JOIN episodes b ON b.evaluation = e.evaluation AND b.arm = 0 AND b.episode = e.episode'),
    about: toPlainSql("e.arm > 0 AND e.outcome = 'completed' AND b.outcome = 'completed'"),
    order: toPlainSql('abs(e.result - b.result) DESC'),
  },
  failed: { joined: NOTHING, about: toPlainSql("e.outcome <> 'completed'"), order: toPlainSql('e.episode') },
};

export class SqlEpisodes extends SqlAdapter implements EpisodeLog, ResultCache {
  async append(ownership: Ownership, leg: Leg, episodes: readonly NewEpisode[]): Promise<void> {
    const { key } = ownership;
    const rows = episodes.map((episode) => [key, leg.arm, ...toEpisodeRow(episode)]);
    await transactOwned(this.database, ownership, [
      { kind: 'bulk', insert: { table: 'episodes', columns: COLUMNS, rows } },
      ...planTranscripts(key, leg, episodes),
      ...planDonation(ownership, leg),
      countEpisodes(this.database.dialect, key, rows.length, this.clock.date().getTime()),
    ]);
  }

  async page(evaluation: EvaluationId, arm: number, from: number, limit: number): Promise<readonly StoredEpisode[]> {
    const rows = await this.database.query(
      sql`SELECT episode, task, outcome, result, length, seconds, extra FROM episodes
          WHERE evaluation = (SELECT key FROM evaluations WHERE id = ${evaluation}) AND arm = ${arm} AND episode >= ${from}
          ORDER BY episode LIMIT ${limit}`,
    );
    return rows.map(readEpisodeRow);
  }

  async rank(
    evaluation: EvaluationId,
    arm: number,
    ranking: EpisodeRanking,
    { from, limit }: { readonly from: number; readonly limit: number },
  ): Promise<readonly StoredEpisode[]> {
    const { joined, about, order } = RANKINGS[ranking];
    const rows = await this.database.query(
      sql`SELECT e.episode, e.task, e.outcome, e.result, e.length, e.seconds, e.extra FROM episodes e ${joined}
          WHERE e.evaluation = (SELECT key FROM evaluations WHERE id = ${evaluation}) AND e.arm = ${arm} AND ${about}
          ORDER BY ${order}, e.episode LIMIT ${limit} OFFSET ${from}`,
    );
    return rows.map(readEpisodeRow);
  }

  async adopt(ownership: Ownership, { arm, cacheKey }: Leg, from: number, to: number): Promise<void> {
    if (cacheKey === undefined) return;
    const { key } = ownership;
    const adopted = sql`
      INSERT INTO episodes (evaluation, arm, episode, task, outcome, result, length, seconds, extra)
      SELECT CAST(${key} AS bigint), CAST(${arm} AS integer), e.episode, e.task, e.outcome, e.result, e.length, e.seconds, e.extra
      FROM cache_donors d JOIN episodes e ON e.evaluation = d.evaluation AND e.arm = d.arm
      WHERE d.cache_key = ${cacheKey} AND (d.evaluation <> ${key} OR d.arm <> ${arm})
        AND e.episode >= ${from} AND e.episode < ${to} AND e.outcome <> 'lost'
      ON CONFLICT DO NOTHING`;
    await transactOwned(this.database, ownership, [toStep(adopted), toStep(adoptTranscripts(key, arm, cacheKey, from, to))]);
  }

  async readTranscript(evaluation: EvaluationId, arm: number, index: number): Promise<string | undefined> {
    const [row] = await this.database.query(
      sql`SELECT document FROM transcripts
          WHERE evaluation = (SELECT key FROM evaluations WHERE id = ${evaluation}) AND arm = ${arm} AND episode = ${index}`,
    );
    return row && readText(row, 'document');
  }

  async findNextKnown({ key }: Ownership, { arm, cacheKey }: Leg, from: number): Promise<number | undefined> {
    if (cacheKey === undefined) return undefined;
    const [row] = await this.database.query(
      sql`SELECT min((SELECT e.episode FROM episodes e WHERE e.evaluation = d.evaluation AND e.arm = d.arm AND e.episode >= ${from}
            AND e.outcome <> 'lost' ORDER BY e.episode LIMIT 1)) AS episode
          FROM cache_donors d WHERE d.cache_key = ${cacheKey} AND (d.evaluation <> ${key} OR d.arm <> ${arm})`,
    );
    return row && readOptional(row, 'episode', readNumber);
  }
}

/** Returns none where no episode has a transcript, as for policies. */
function planTranscripts(key: number, { arm }: Leg, episodes: readonly NewEpisode[]): readonly Step[] {
  const rows = episodes.flatMap(({ index, transcript }) => (transcript ? [[key, arm, index, JSON.stringify(transcript)]] : []));
  return rows.length === 0 ? [] : [{ kind: 'bulk', insert: { table: 'transcripts', columns: TRANSCRIPT_COLUMNS, rows } }];
}

/** Adopts the transcripts of the adopted plays. Another donor may have another play of the same index, with other times. */
function adoptTranscripts(key: number, arm: number, cacheKey: string, from: number, to: number): Sql {
  return sql`
    INSERT INTO transcripts (evaluation, arm, episode, document)
    SELECT CAST(${key} AS bigint), CAST(${arm} AS integer), t.episode, t.document
    FROM cache_donors d JOIN transcripts t ON t.evaluation = d.evaluation AND t.arm = d.arm
      JOIN episodes e ON e.evaluation = t.evaluation AND e.arm = t.arm AND e.episode = t.episode
      JOIN episodes o ON o.evaluation = ${key} AND o.arm = ${arm} AND o.episode = t.episode AND o.outcome = e.outcome AND o.seconds = e.seconds
    WHERE d.cache_key = ${cacheKey} AND (d.evaluation <> ${key} OR d.arm <> ${arm}) AND t.episode >= ${from} AND t.episode < ${to}
    ON CONFLICT DO NOTHING`;
}

/**
 * Makes the evaluation a donor of results, since it has played something itself. Only donors are searched: however often a question is repeated, few
 * are.
 */
function planDonation({ key }: Ownership, { arm, cacheKey }: Leg): readonly Step[] {
  if (cacheKey === undefined) return [];
  return [toStep(sql`INSERT INTO cache_donors (cache_key, evaluation, arm) VALUES (${cacheKey}, ${key}, ${arm}) ON CONFLICT DO NOTHING`)];
}
