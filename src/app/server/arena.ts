import { randomBytes } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { FileContentsDirectory } from '../../adapters/arena/file-contents-directory.ts';
import { ForgivingLiveEpisodes } from '../../adapters/arena/forgiving-live-episodes.ts';
import { MemoryLiveEpisodes } from '../../adapters/arena/memory-live-episodes.ts';
import type { SqlStore } from '../../adapters/store/sql/sql-evaluation-store.ts';
import { parseAgentEpisodeId } from '../../agents/arena/episode-ids.ts';
import type { EpisodeLimits } from '../../agents/arena/episode-state.ts';
import type { LiveEpisodes } from '../../agents/arena/live-episodes.ts';
import type { GradingSandboxes } from '../../agents/grading/grading-sandboxes.ts';
import type { Config } from '../../config/config.ts';
import { type Clock, systemClock } from '../../kernel/clock.ts';
import { namesServer } from '../../kernel/documents/store-url.ts';
import { parseOwnerId } from '../../kernel/ids.ts';
import type { Log } from '../../kernel/log.ts';
import type { Quota } from '../../service/access/quota.ts';
import { CommandStarts } from '../../service/arena/command-starts.ts';
import { EpisodeService } from '../../service/arena/episode-service.ts';
import { GradingPools } from '../grading/grading-pools.ts';
import { getPlugin } from '../sandboxes/providers.ts';
import { TaskGrader } from '../grading/task-grader.ts';
import type { Runtime } from '../runtime.ts';
import { findTask, listReadableTasks } from '../tasks/task-finder.ts';
import { attributeToOperator } from './server-templates.ts';
import { createTimedId } from './timed-id.ts';

/** While one waits for this process, for the store or for a process of its own, another runs: with two a sixth of the processors' time is left over. */
const STARTS_PER_PROCESSOR = 4;

/** Agents' episodes on this server, with the sandboxes in which they are played and graded. Part of the composition root. */
export interface Arena extends AsyncDisposable {
  readonly service: EpisodeService;
}

/** @throws InputError `arena.live`, InfrastructureError `live.unreachable` when the server of the live state cannot be used. */
export async function openArena(runtime: Runtime, store: SqlStore, quotaOf: (principal: string) => Quota): Promise<Arena> {
  const { config, log } = runtime;
  const live = await openLiveEpisodes(config.arena.live, systemClock, log);
  const workspaces = new GradingPools({ ...config, pool: { ...config.pool, max: config.arena.workspaces } }, systemClock, log);
  const grader = new TaskGrader(config);
  const service = new EpisodeService({
    trajectories: store.trajectories,
    taskRecords: store.tasks,
    live: live.episodes,
    contents: namesServer(config.store.url) ? store.contents : new FileContentsDirectory(join(config.stateDir, 'episode-files')),
    retentionDays: () => runtime.config.server.retentionDays,
    getSandboxes: (open) => attributeSandboxes(workspaces.getSandboxes(open)),
    findTask: (name) => findTask(runtime.config.arena.tasks, name),
    listTasks: () => listReadableTasks(runtime.config.arena.tasks),
    grade: async (open, submission, seed, signal) => (await grader.grade(open, open.task.steps[0], submission, { seed }, signal)).verdict,
    clock: systemClock,
    starts: new CommandStarts(systemClock, countStarts(config)),
    holder: parseOwnerId(`arena-${process.pid}-${randomBytes(4).toString('hex')}`),
    holdMilliseconds: config.server.ownershipSeconds * 1000,
    audit: store.audit,
    log,
    limits: () => getLimits(runtime.config),
    openEpisodes: (principal) => quotaOf(principal).openEpisodes,
    newId: () => parseAgentEpisodeId(createTimedId('ep')),
  });
  service.open();
  return {
    service,
    [Symbol.asyncDispose]: async () => {
      await service.close();
      await grader[Symbol.asyncDispose]();
      await workspaces[Symbol.asyncDispose]();
      await live[Symbol.asyncDispose]();
    },
  };
}

/** Remote commands wait for none of this machine's processors. */
function countStarts({ templates }: Runtime['config']): number {
  const { isOwnMachine } = getPlugin({ provider: templates['local']?.provider ?? 'bubblewrap' });
  return isOwnMachine ? STARTS_PER_PROCESSOR * availableParallelism() : Infinity;
}

/** The caller sent neither the template nor the tasks, so the operator has to correct them. */
function attributeSandboxes(sandboxes: GradingSandboxes): GradingSandboxes {
  return {
    open: (...asked) => attribute(sandboxes.open(...asked)),
    openBoth: (...asked) => attribute(sandboxes.openBoth(...asked)),
    openTrusted: (...asked) => attribute(sandboxes.openTrusted(...asked)),
    rootFiles: (...asked) => attribute(sandboxes.rootFiles(...asked)),
  };
}

async function attribute<Opened>(opening: Promise<Opened>): Promise<Opened> {
  try {
    return await opening;
  } catch (error) {
    throw attributeToOperator(error, 'local');
  }
}

function getLimits({ arena: { steps, seconds, bytesWritten, outputCharacters, idleSeconds } }: Config): EpisodeLimits {
  return { steps, seconds, bytesWritten, output: outputCharacters, idleSeconds };
}

interface LiveTier extends AsyncDisposable {
  readonly episodes: LiveEpisodes;
}

/**
 * @param setting `arena.live`. The server must be reachable at the start; a later failure slows steps down and fails none. @throws as
 * `RedisLiveEpisodes.open`.
 */
async function openLiveEpisodes(setting: string, clock: Clock, log: Log): Promise<LiveTier> {
  if (setting === 'memory') return { episodes: new MemoryLiveEpisodes(), [Symbol.asyncDispose]: async () => undefined };
  // Loaded on use: the client of Redis has 480 modules.
  const { RedisLiveEpisodes } = await import('../../adapters/arena/redis/redis-live-episodes.ts');
  const redis = await RedisLiveEpisodes.open(setting, clock);
  return { episodes: new ForgivingLiveEpisodes(redis, clock, log), [Symbol.asyncDispose]: () => redis[Symbol.asyncDispose]() };
}
