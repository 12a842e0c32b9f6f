import { readNumber } from './columns.ts';
import { toStep, type Database, type Step } from './database.ts';
import { sql } from './statement.ts';

/** Small enough that no other statement waits long for a removal. */
const EPISODES_A_TIME = 20_000;

/**
 * Returns the steps that remove an evaluation at once; its episodes, which may be a million, are marked for the sweep. @param key of the evaluation.
 */
export function planForgetting(key: number): readonly Step[] {
  return [
    toStep(sql`INSERT INTO discarded (evaluation) VALUES (${key}) ON CONFLICT DO NOTHING`),
    toStep(sql`DELETE FROM evaluations WHERE key = ${key}`),
  ];
}

/** Removes episodes of forgotten evaluations, including those that a Muster left when it ended in the middle of this. */
export async function sweepEpisodes(database: Database): Promise<void> {
  const discarded = await database.query(sql`SELECT evaluation FROM discarded`);
  for (const row of discarded) await sweepOne(database, readNumber(row, 'evaluation'));
}

async function sweepOne(database: Database, key: number): Promise<void> {
  const some = sql`
    SELECT arm, episode FROM episodes WHERE evaluation = ${key} ORDER BY arm, episode LIMIT 1 OFFSET ${EPISODES_A_TIME}`;
  for (let [next] = await database.query(some); next !== undefined; [next] = await database.query(some)) {
    const before = sql`(arm, episode) < (${readNumber(next, 'arm')}, ${readNumber(next, 'episode')})`;
    await database.transact([
      toStep(sql`DELETE FROM transcripts WHERE evaluation = ${key} AND ${before}`),
      toStep(sql`DELETE FROM episodes WHERE evaluation = ${key} AND ${before}`),
    ]);
  }
  await database.transact([
    toStep(sql`DELETE FROM transcripts WHERE evaluation = ${key}`),
    toStep(sql`DELETE FROM episodes WHERE evaluation = ${key}`),
    toStep(sql`DELETE FROM discarded WHERE evaluation = ${key}`),
  ]);
}
