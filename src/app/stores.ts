import { describeDatabase, openPostgresStore, readPostgresVersion } from '../adapters/store/postgres/open-postgres-store.ts';
import { openSqliteStore } from '../adapters/store/sqlite/open-sqlite-store.ts';
import type { Config } from '../config/config.ts';
import type { SqlStore } from '../adapters/store/sql/sql-evaluation-store.ts';
import type { Trajectories } from '../agents/arena/trajectories.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Random } from '../kernel/seeded-random.ts';
import { namesServer } from '../kernel/documents/store-url.ts';

/** Opens the configured store. @throws as `openSqliteStore` and `openPostgresStore` do. */
export function openEvaluationStore({ store: { url } }: Pick<Config, 'store'>, clock: Clock): Promise<SqlStore> {
  return namesServer(url) ? openPostgresStore(url, clock) : openSqliteStore(url, clock);
}

/** Describes the store for people, without user and password. */
export function describeStore(url: string): string {
  return namesServer(url) ? describeDatabase(url) : `the store ${url}`;
}

/** Reads what answers at the URL, and its version. Changes nothing there. @throws as `openPostgresStore` does. */
export function readStoreVersion(url: string): Promise<string> {
  return readPostgresVersion(url);
}

/** Opens the store of a server, with trajectories where `arena.trajectories` says. @throws as `openEvaluationStore` and `openFirestore` do. */
export async function openServerStore(config: Config, clock: Clock, random: Random): Promise<SqlStore> {
  const { trajectories: place } = config.arena;
  const trajectories = place === 'store' ? undefined : await openFirestore(place, clock, random);
  const store = await openEvaluationStore(config, clock);
  return trajectories === undefined ? store : { ...store, trajectories };
}

/**
 * @param setting `arena.trajectories`, other than "store". Uses an emulator if FIRESTORE_EMULATOR_HOST names one, as Google's clients do. @throws as
 * `FirestoreTrajectories.open`.
 */
export async function openFirestore(setting: string, clock: Clock, random: Random): Promise<Trajectories> {
  const [project = '', database = '(default)'] = setting.replace('firestore://', '').split('/');
  // Its library for credentials is loaded only by those who use it.
  const { FirestoreTrajectories } = await import('../adapters/arena/firestore/firestore-trajectories.ts');
  return await FirestoreTrajectories.open({ project, database, emulator: process.env['FIRESTORE_EMULATOR_HOST'] }, clock, random);
}
