import type { EvaluateOptions } from '../../src/orchestrator/evaluate.ts';
import type { SuiteDefinition } from '../../src/orchestrator/suite/suite-definition.ts';
import type { Summary } from '../../src/orchestrator/results/summary.ts';
import { EvaluationFixture, suiteWith } from './evaluation-fixture.ts';
import type { ScriptedAnswer, ScriptedEpisode } from './in-memory-runner.ts';
import { LosableSandboxes } from './losable-sandboxes.ts';
import { settle } from './manual-clock.ts';

/** Three tasks of which one is a constant, one all or nothing, one in between; some episodes fail, and some are lost wherever they are played. */
export function durableSuite(stop: object, allocation: string): SuiteDefinition {
  const tasks = [1, 2, 1].map((weight, task) => ({ name: `task-${task}`, weight, environment: 'm:f' }));
  return suiteWith({ environment: undefined, tasks, allocation, stop, budget: { episodes: 2000 }, metrics: ['seen'], seed: 2 });
}

export interface Play {
  readonly sandboxes?: number;
  /** Most episodes ahead of the fold. */
  readonly window?: number;
  /** Turns of the event loop that an episode takes at most. */
  readonly slowness?: number;
  /** Called when an episode is about to be played. */
  readonly onPlay?: (index: number) => void;
  readonly options?: EvaluateOptions;
}

/** Plays the suite on in-memory sandboxes, until it is over or ended by the options' signal. */
export async function playStudy(
  suite: SuiteDefinition,
  { sandboxes = 4, window = 4096, slowness = 1, onPlay, options }: Play,
): Promise<Summary> {
  const losable = new LosableSandboxes();
  const program = losable.program(async (episode, lose) => {
    onPlay?.(episode.index);
    for (let turn = (Math.imul(episode.environmentSeed, 0x9e3779b1) >>> 0) % slowness; turn > 0; turn -= 1) await settle();
    return answerTo(episode) ?? lose();
  });
  await using fixture = new EvaluationFixture({
    program,
    clock: losable.clock,
    sandboxes,
    evaluation: { window, infrastructureRetries: 1000 },
  });
  return await fixture.evaluate(suite, options);
}

/** The episode alone decides. Undefined for one that takes its sandbox with it. */
function answerTo({ task, environmentSeed, policySeed }: ScriptedEpisode): ScriptedAnswer | undefined {
  if (environmentSeed % 101 === 0) return undefined;
  if (environmentSeed % 31 === 0) return { failed: 'environment-crash', detail: 'scripted' };
  const share = (environmentSeed % 1000) / 999;
  const value = task === 0 ? 0.9 : task === 1 ? Math.round(share) : 0.6 + 0.3 * share;
  return {
    return: value,
    length: policySeed % 50,
    metrics: { seen: policySeed % 7 },
    ...(policySeed % 9 === 0 ? { log: 'seen\u0000' } : {}),
  };
}
