import { isWeightsFile } from '../../policy-distribution/checkpoint.ts';
import { readFile } from 'node:fs/promises';
import { LRUCache } from 'lru-cache';
import { openStoredTask } from '../../adapters/tasks/stored-task.ts';
import { AGENT_BYTES, type Agent, hasModel, parseAgent } from '../../agents/acting/agent.ts';
import type { EpisodeOffers } from '../../agents/acting/external/episode-offers.ts';
import type { Gateway } from '../../agents/acting/program/gateway.ts';
import { playTask, type PlayedTask } from '../../agents/acting/play-task.ts';
import type { EpisodeIdentity } from '../../agents/acting/task-episode.ts';
import { ResumedEndpoint } from '../../agents/acting/model/resumed-endpoint.ts';
import type { ModelEndpoint } from '../../agents/acting/model/model-endpoint.ts';
import { ComputedCases } from '../../agents/grading/expected-cases.ts';
import { systemClock } from '../../kernel/clock.ts';
import { parseYamlLayer } from '../../kernel/documents/yaml-layer.ts';
import { InfrastructureError, InputError } from '../../kernel/errors.ts';
import { formatExactBytes } from '../../kernel/text/figures.ts';
import type { AgentStage } from '../../orchestrator/run/agent-players.ts';
import { getAgentTask } from '../../orchestrator/suite/agent-tasks.ts';
import type { StoredCheckpoint } from '../../policy-distribution/stored-checkpoint.ts';
import type { PoolState } from '../../pool/members/pool-state.ts';
import type { PlannedEpisode } from '../../runner/playlist.ts';
import type { Played } from '../checkpoints/content-to-share.ts';
import type { OfferServers } from './offer-servers.ts';
import type { GradingPools } from './grading-pools.ts';
import type { ModelServers } from './model-servers.ts';
import type { OpenTask } from './task-grader.ts';

/** The part of an agent's digest after "sha256:" that tells its trajectories from another's begins here. */
const DIGEST_BEGIN = 7;
const DIGEST_SHOWN = 12;
/** The bounds of the cache of tasks' files, for all episodes of a suite. Larger files are read again for each. */
const KEPT = { maxSize: 32 * 2 ** 20, maxEntrySize: 2 ** 20, sizeCalculation: ({ length }: Buffer) => length + 1 };

interface OpenAgent {
  readonly agent: Agent;
  /** It is undefined unless the agent is a model or a program. */
  readonly endpoint: ModelEndpoint | undefined;
  /** It is undefined unless the agent runs outside of Muster. */
  readonly offers: EpisodeOffers | undefined;
}

/** Plays the tasks of a suite, each read once from the store. Part of the composition root. */
export class AgentEpisodes implements AgentStage {
  readonly #played: Played;
  readonly #pools: GradingPools;
  readonly #agents: ReadonlyMap<string, OpenAgent>;
  readonly #gateway: Gateway;
  readonly #computed = new ComputedCases();
  readonly #tasks = new Map<number, Promise<OpenTask>>();
  readonly #kept = new LRUCache<string, Buffer>(KEPT);

  private constructor(played: Played, pools: GradingPools, agents: ReadonlyMap<string, OpenAgent>, gateway: Gateway) {
    this.#gateway = gateway;
    this.#played = played;
    this.#pools = pools;
    this.#agents = agents;
  }

  /**
   * @throws InputError `agent.invalid` when the file is no agent; as `ModelServers` does for the server of a model, and `OfferServers` for a server
   * that offers episodes.
   */
  static async open(played: Played, pools: GradingPools, models: ModelServers, offerServers: OfferServers): Promise<AgentEpisodes> {
    const agents = new Map<string, OpenAgent>();
    for (const checkpoint of played.checkpoints) {
      const agent = await readAgent(checkpoint);
      agents.set(checkpoint.digest, {
        agent,
        endpoint: hasModel(agent) ? models.getEndpoint(agent) : undefined,
        offers: agent.agent === 'external' ? await offerServers.open(agent, checkpoint.digest) : undefined,
      });
    }
    return new AgentEpisodes(played, pools, agents, models.gateway);
  }

  state(): PoolState {
    return this.#pools.state();
  }

  async play(digest: string, episode: PlannedEpisode, isKept: boolean, signal: AbortSignal): ReturnType<AgentStage['play']> {
    const { index } = episode;
    const identity = { trajectory: `${digest.slice(DIGEST_BEGIN, DIGEST_BEGIN + DIGEST_SHOWN)}-${index}`, group: null, rep: index };
    await using resumed = this.#resume(digest, index);
    const { outcome, log, trajectories, transcript } = await this.playAt(
      digest,
      episode,
      { identity, isShown: isKept, ...(resumed && { endpoint: resumed }) },
      signal,
    );
    if (outcome.kind !== 'lost') for (const each of trajectories) await this.#played.trajectories?.write(each);
    if (outcome.kind !== 'lost') await resumed?.forget();
    return { outcome, log, transcript };
  }

  /**
   * @param at `endpoint`: the model's endpoint, instead of the agent's own. `isShown` and `onActed`: as in `PlayContext`. @throws as `playTask` does.
   */
  async playAt(
    digest: string,
    { task, environmentSeed, policySeed }: PlannedEpisode,
    {
      identity,
      endpoint,
      isShown = false,
      onActed,
    }: { readonly identity: EpisodeIdentity; readonly endpoint?: ModelEndpoint; readonly isShown?: boolean; readonly onActed?: () => void },
    signal: AbortSignal,
  ): Promise<PlayedTask> {
    const { agent, endpoint: own, offers } = this.#getAgent(digest);
    const open = await this.getTask(task);
    const context = {
      sandboxes: this.#pools.getSandboxes(open),
      clock: systemClock,
      computed: this.#computed,
      endpoint: endpoint ?? own,
      gateway: this.#gateway,
      offers,
      isShown,
      onActed,
    };
    return await playTask({ ...open, agent, agentDigest: digest, identity, environmentSeed, policySeed }, context, signal);
  }

  /** Returns the model of an episode, which continues from the stored turns. */
  #resume(digest: string, index: number): ResumedEndpoint | undefined {
    const { storedTurns, suite } = this.#played;
    const { endpoint } = this.#getAgent(digest);
    if (storedTurns === undefined || endpoint === undefined) return undefined;
    const { turns, principal } = storedTurns;
    // The key does not depend on the evaluation: for a principal, it is the same episode.
    return new ResumedEndpoint(endpoint, turns, `${principal} ${digest} ${suite.digest} ${index}`);
  }

  getAgent(digest: string): Agent {
    return this.#getAgent(digest).agent;
  }

  #getAgent(digest: string): OpenAgent {
    const acting = this.#agents.get(digest);
    if (!acting) throw new RangeError(`agent ${digest} is none of this run's`);
    return acting;
  }

  /** @param position in the suite. */
  getTask(position: number): Promise<OpenTask> {
    const opening = this.#tasks.get(position) ?? this.#openTask(position);
    this.#tasks.set(position, opening);
    return opening;
  }

  async #openTask(position: number): Promise<OpenTask> {
    const { suite, suiteFiles } = this.#played;
    const named = suite.tasks[position];
    const place = named && getAgentTask(named.environment);
    if (!place || !suiteFiles) throw new RangeError(`task ${position} of suite ${suite.name} is none for agents`);
    const open = await openStoredTask(suiteFiles.files, place, this.#kept);
    if (open.task.digest === place.digest) return open;
    throw new InfrastructureError(
      'store.task',
      `task ${named.name} was accepted as ${place.digest}, and is ${open.task.digest} to this version of Muster; request the evaluation again`,
    );
  }
}

/** @throws InputError `agent.invalid` */
async function readAgent({ kind, files: [file] }: StoredCheckpoint): Promise<Agent> {
  if (kind !== 'file' || !file) throw new InputError('agent.invalid', 'expected an agent: oracle, nop, or a file; got a directory');
  if (isWeightsFile(file.path))
    throw new InputError(
      'agent.invalid',
      `${file.path} has the name of a checkpoint's file, and this suite has tasks for agents; expected oracle, nop, or an agent's file`,
    );
  if (file.size > AGENT_BYTES)
    throw new InputError(
      'agent.invalid',
      `${file.path} has ${formatExactBytes(file.size)}; an agent's file has at most ${formatExactBytes(AGENT_BYTES)}`,
    );
  return parseAgent(file.path, parseYamlLayer(file.path, await readFile(file.hostPath, 'utf8'), 'agent.invalid').value);
}
