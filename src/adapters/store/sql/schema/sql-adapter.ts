import type { Clock } from '../../../../kernel/clock.ts';
import type { Database } from './database.ts';

/** What all adapters of a port to an SQL database share. */
export abstract class SqlAdapter {
  protected readonly database: Database;
  protected readonly clock: Clock;

  constructor(database: Database, clock: Clock) {
    this.database = database;
    this.clock = clock;
  }
}
