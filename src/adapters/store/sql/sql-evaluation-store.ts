import type { StoredTurns } from '../../../agents/acting/model/stored-turns.ts';
import type { FileContents } from '../../../agents/arena/step-files.ts';
import type { TaskRecords } from '../../../agents/arena/task-records.ts';
import type { RolloutStreams } from '../../../agents/rollouts/streams/rollout-streams.ts';
import type { Trajectories } from '../../../agents/arena/trajectories.ts';
import type { EvaluationStore } from '../../../evaluation-store/evaluation-store.ts';
import type { Clock } from '../../../kernel/clock.ts';
import type { Database } from './schema/database.ts';
import { sweepEpisodes } from './schema/discarded.ts';
import { SqlAnswers } from './sql-answers.ts';
import { SqlAudit } from './sql-audit.ts';
import { SqlCatalogue } from './sql-catalogue.ts';
import { SqlCheckpointRights } from './sql-checkpoint-rights.ts';
import { SqlCourse } from './sql-course.ts';
import { SqlEpisodes } from './sql-episodes.ts';
import { SqlFileContents } from './sql-file-contents.ts';
import { SqlEvents } from './sql-events.ts';
import { SqlOwnerships } from './sql-ownerships.ts';
import { SqlTaskRecords } from './sql-task-records.ts';
import { SqlRolloutStreams } from './rollouts/sql-rollout-streams.ts';
import { SqlStoredTurns } from './rollouts/sql-stored-turns.ts';
import { SqlTokens } from './sql-tokens.ts';
import { SqlTrajectories } from './sql-trajectories.ts';
import { SqlUsage } from './sql-usage.ts';
import { SqlWebhooks } from './sql-webhooks.ts';

/** Everything that one database stores. */
export interface SqlStore extends EvaluationStore {
  readonly trajectories: Trajectories;
  readonly tasks: TaskRecords;
  readonly rollouts: RolloutStreams;
  readonly turns: StoredTurns;
  /** Files of the steps of agents, for servers that share the database. */
  readonly contents: FileContents;
}

/** Opens a store on a database whose structure is up to date; both are closed together. */
export async function openSqlEvaluationStore(database: Database, clock: Clock): Promise<SqlStore> {
  await sweepEpisodes(database);
  const episodes = new SqlEpisodes(database, clock);
  const evaluations = new SqlCatalogue(database, clock);
  return {
    evaluations,
    ownerships: new SqlOwnerships(database, clock),
    course: new SqlCourse(database, clock),
    episodes,
    cache: episodes,
    answers: new SqlAnswers(database, clock, evaluations),
    events: new SqlEvents(database, clock),
    webhooks: new SqlWebhooks(database, clock),
    audit: new SqlAudit(database, clock),
    tokens: new SqlTokens(database, clock),
    usage: new SqlUsage(database, clock),
    trajectories: new SqlTrajectories(database, clock),
    tasks: new SqlTaskRecords(database, clock),
    rollouts: new SqlRolloutStreams(database, clock),
    turns: new SqlStoredTurns(database, clock),
    contents: new SqlFileContents(database, clock),
    rights: new SqlCheckpointRights(database, clock),
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  };
}
