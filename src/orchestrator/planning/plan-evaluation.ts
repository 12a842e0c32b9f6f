import { setImmediate } from 'node:timers/promises';
import { computeCertainty } from '../../aggregation/results/certainty.ts';
import { computeNormalQuantile } from '../../aggregation/intervals/distribution-quantiles.ts';
import { EpisodeSimulation, type Spread } from '../../aggregation/forecast/episode-forecast.ts';
import { findHalfWidthProblem, computeLeastEpisodes } from '../../aggregation/stopping/reach.ts';
import { createTwoValuedReturns, type SimulatedReturns } from '../../aggregation/forecast/simulated-returns.ts';
import { InputError } from '../../kernel/errors.ts';
import type { EvaluationPlan, PlanForecast } from './evaluation-plan.ts';
import type { PlanBaseline } from './plan-baseline.ts';
import { planWarnings } from './plan-warnings.ts';
import { stoppingSchema } from '../suite/suite.ts';
import type { StopDeclaration, SuiteDefinition } from '../suite/suite-definition.ts';

export interface PlanRequest {
  readonly suite: SuiteDefinition;
  readonly baseline: PlanBaseline | undefined;
  /** The number of sandboxes at a time. */
  readonly sandboxes: number;
  readonly costPerSandboxHour: number | undefined;
}

type Distribution = Pick<PlanBaseline, 'from' | 'returns'> | { readonly from: 'bounds'; readonly returns: SimulatedReturns };

/**
 * Forecasts the suite's stopping rule, and others for comparison, from what is known of the returns. Takes some seconds at most.
 *
 * @throws InputError when nothing is known of the returns and the rule depends on them; the signal's reason when it is aborted.
 */
export async function planEvaluation(request: PlanRequest, signal: AbortSignal): Promise<EvaluationPlan> {
  const { suite, baseline, sandboxes, costPerSandboxHour } = request;
  const distribution = getDistribution(request);
  const returns = distribution?.returns;
  const forecast = await forecastStop(suite.stop, request, returns, signal);
  const others: PlanForecast[] = [];
  for (const stop of returns ? listOtherStops(suite, forecast.halfWidth) : [])
    others.push(await forecastStop(stop, request, returns, signal));
  const { episodes, seconds, cost } = suite.budget;
  const plan: Omit<EvaluationPlan, 'warnings'> = {
    schema: 'muster.plan/1',
    suite: { name: suite.name, digest: suite.digest },
    budget: { episodes: episodes ?? null, seconds: seconds ?? null, cost: cost ?? null },
    baseline: baseline ? { file: baseline.file, checkpoint: baseline.checkpoint } : null,
    returns: distribution ? toReturnsFacts(distribution) : null,
    sandboxes,
    episodeSeconds: baseline?.episodeSeconds ?? null,
    costPerSandboxHour: costPerSandboxHour ?? null,
    leastEpisodes: computeLeastEpisodes(suite.stop, suite.bounds),
    forecast,
    others,
    knownVarianceEpisodes: returns ? computeKnownVarianceEpisodes(suite.stop, returns) : null,
  };
  return { ...plan, warnings: planWarnings(plan, suite.allocation, baseline?.unseenTasks ?? []) };
}

/** Returns the baseline's distribution, or the worst that the bounds allow: returns on each bound with probability ½ have the largest variance. */
function getDistribution({ suite, baseline }: PlanRequest): Distribution | undefined {
  if (baseline) return baseline;
  if (suite.bounds) return { from: 'bounds', returns: createTwoValuedReturns(suite.bounds.low, suite.bounds.high, 0.5) };
  if (suite.stop.rule === 'fixed') return undefined;
  throw new InputError(
    'plan.baseline-missing',
    'the suite declares no reward.bounds, so its returns are unknown; give an evaluation of it as --baseline ("muster eval --episodes 100 --out DIR" makes one)',
  );
}

function toReturnsFacts({ from, returns }: Distribution): EvaluationPlan['returns'] {
  return { from, observed: returns.observed ?? null, mean: returns.mean, standardDeviation: Math.sqrt(returns.variance) };
}

async function forecastStop(
  stop: StopDeclaration,
  request: PlanRequest,
  returns: SimulatedReturns | undefined,
  signal: AbortSignal,
): Promise<PlanForecast> {
  if (stop.rule === 'fixed') return forecastFixed(stop, request, returns);
  if (returns === undefined) throw new RangeError(`the rule "${stop.rule}" cannot be forecast without returns`);
  const { bounds, budget } = request.suite;
  const simulation = new EpisodeSimulation({ stop, bounds, returns, budgetEpisodes: budget.episodes });
  while (!simulation.isDone) {
    // A signal arrives only between two turns of the event loop.
    await setImmediate();
    signal.throwIfAborted();
    simulation.run();
  }
  const forecast = simulation.forecast();
  return { stop, halfWidth: stop.halfWidth, ...forecast, ...computeCosts(forecast.episodes, request) };
}

function forecastFixed(
  stop: Extract<StopDeclaration, { rule: 'fixed' }>,
  request: PlanRequest,
  returns: SimulatedReturns | undefined,
): PlanForecast {
  const most = request.suite.budget.episodes ?? Infinity;
  const played = Math.min(stop.episodes, most);
  const episodes = { low: played, median: played, high: played };
  const halfWidth = returns === undefined ? null : (computeDeviate(stop.confidence) * Math.sqrt(returns.variance)) / Math.sqrt(played);
  const isCut = stop.episodes > most;
  return { stop, halfWidth, episodes, shareCut: isCut ? 1 : 0, shareGivenUp: 0, simulation: null, ...computeCosts(episodes, request) };
}

/** Lists the rules that can aim at the same half-width, with their defaults. */
function listOtherStops({ stop: { rule, confidence }, bounds }: SuiteDefinition, halfWidth: number | null): StopDeclaration[] {
  if (halfWidth === null || halfWidth === 0) return [];
  const isWithinReach = bounds !== undefined && findHalfWidthProblem(halfWidth, bounds) === undefined;
  const rules = isWithinReach ? (['certified', 'approximate', 'asymptotic'] as const) : (['asymptotic'] as const);
  return rules.filter((other) => other !== rule).map((other) => stoppingSchema.parse({ rule: other, halfWidth, confidence }));
}

function computeKnownVarianceEpisodes(stop: StopDeclaration, { variance }: SimulatedReturns): number | null {
  if (stop.rule === 'fixed') return null;
  return computeCertainty(0, Math.sqrt(variance), stop.halfWidth, stop.confidence)?.knownVarianceEpisodes ?? null;
}

function computeCosts(
  episodes: Spread,
  { baseline, sandboxes, costPerSandboxHour }: PlanRequest,
): Pick<PlanForecast, 'sandboxSeconds' | 'seconds' | 'cost'> {
  const each = baseline?.episodeSeconds;
  if (each === undefined) return { sandboxSeconds: null, seconds: null, cost: null };
  return {
    sandboxSeconds: scaleSpread(episodes, each),
    seconds: scaleSpread(episodes, each / sandboxes),
    cost: costPerSandboxHour === undefined ? null : scaleSpread(episodes, (each / 3600) * costPerSandboxHour),
  };
}

function scaleSpread({ low, median, high }: Spread, factor: number): Spread {
  return { low: low * factor, median: median * factor, high: high * factor };
}

function computeDeviate(confidence: number): number {
  return computeNormalQuantile((1 + confidence) / 2);
}
