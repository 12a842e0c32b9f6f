import { agentEpisodes } from './agent-episodes.ts';
import { aggregationThroughput } from './aggregation-throughput.ts';
import { arenaSize } from './arena-size.ts';
import { arenaSteps } from './arena-steps.ts';
import type { Benchmark } from './benchmark.ts';
import { podTransports } from './pod-transports.ts';
import { bulkySandboxes } from './bulky-sandboxes.ts';
import { cartpoleEpisodes } from './cartpole-episodes.ts';
import { checkpointStore } from './checkpoint-store.ts';
import { clusterPods } from './cluster-pods.ts';
import { durableEpisodes } from './durable-episodes.ts';
import { egress } from './egress.ts';
import { episodeCost } from './episode-cost.ts';
import { episodesSaved } from './episodes-saved.ts';
import { forkedCrowd } from './forked-crowd.ts';
import { forkedEpisodes } from './forked-episodes.ts';
import { forkedPool } from './forked-pool.ts';
import { freshSandboxes } from './fresh-sandboxes.ts';
import { idlePods } from './idle-pods.ts';
import { nextPolicy } from './next-policy.ts';
import { livePage } from './live-page.ts';
import { pageBesideInspect } from './page-beside-inspect.ts';
import { noopEpisodes } from './noop-episodes.ts';
import { idleSandboxes } from './idle-sandboxes.ts';
import { imageEpisodes } from './image-episodes.ts';
import { playedTogether } from './played-together.ts';
import { preparedCandidates } from './prepared-candidates.ts';
import { policyApart } from './policy-apart.ts';
import { rolloutExports } from './rollout-exports.ts';
import { rolloutLoad } from './rollout-load.ts';
import { serviceLoad } from './service-load.ts';
import { sharedPolicy } from './shared-policy.ts';
import { swap } from './swap.ts';
import { systemCalls } from './system-calls.ts';
import { twoPrincipals } from './two-principals.ts';
import { verdicts } from './verdicts.ts';
import { warmPool } from './warm-pool.ts';

export const BENCHMARKS: readonly Benchmark[] = [
  noopEpisodes,
  cartpoleEpisodes,
  playedTogether,
  policyApart,
  imageEpisodes,
  idleSandboxes,
  durableEpisodes,
  serviceLoad,
  livePage,
  pageBesideInspect,
  warmPool,
  forkedPool,
  forkedCrowd,
  freshSandboxes,
  forkedEpisodes,
  sharedPolicy,
  nextPolicy,
  swap,
  twoPrincipals,
  checkpointStore,
  egress,
  verdicts,
  preparedCandidates,
  episodeCost,
  aggregationThroughput,
  arenaSteps,
  arenaSize,
  rolloutExports,
  rolloutLoad,
  episodesSaved,
  agentEpisodes,
  systemCalls,
  idlePods,
  bulkySandboxes,
  clusterPods,
  podTransports,
];
