import { Client } from 'pg';
import { sleep, systemClock } from '../../src/kernel/clock.ts';

/** An evaluation that a killed Muster was playing, and another went on with. */
export interface Takeover {
  readonly evaluation: string;
  /** From the kill to the moment when another had claimed it. */
  readonly seconds: number;
}

const LOOK_MILLISECONDS = 20;
const DEADLINE_MS = 60_000;

/**
 * Waits until others own everything that was left by a Muster that is not started again.
 *
 * @param store its URL. @param owner how the dead one's name in the store begins.
 * @throws Error when something is left for too long.
 */
export async function takenOver(store: string, owner: string): Promise<readonly Takeover[]> {
  const database = new Client({ connectionString: store });
  await database.connect();
  try {
    const start = systemClock.now();
    let left = await ownedBy(database, owner);
    const takeovers: Takeover[] = [];
    while (left.length > 0) {
      if (systemClock.now() - start > DEADLINE_MS) throw new Error(`no process took over ${left.join(', ')}`);
      await sleep(systemClock, LOOK_MILLISECONDS);
      const still = await ownedBy(database, owner);
      const seconds = (systemClock.now() - start) / 1000;
      for (const evaluation of left) if (!still.includes(evaluation)) takeovers.push({ evaluation, seconds });
      left = still;
    }
    return takeovers;
  } finally {
    await database.end();
  }
}

async function ownedBy(database: Client, owner: string): Promise<readonly string[]> {
  const { rows } = await database.query<{ id: string }>(
    `SELECT v.id FROM ownerships o JOIN evaluations v ON v.key = o.evaluation
     WHERE starts_with(o.owner, $1) AND v.state IN ('waiting', 'running')`,
    [owner],
  );
  return rows.map(({ id }) => id);
}
