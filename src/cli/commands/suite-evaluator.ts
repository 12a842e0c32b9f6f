import type { Muster } from '../../app/main.ts';
import type { SuiteEvaluator, SuiteRequest } from './evaluate-suite.ts';
import { buildStopOverride } from '../flags/stop-override.ts';
import { readSuiteChanges } from '../flags/suite-change-flags.ts';

/**
 * Reads the suite once: every checkpoint plays the same suite, even if its files change meanwhile. Muster is closed with the evaluator, or
 * at once if the suite cannot be read.
 */
export async function openEvaluator(
  muster: Pick<Muster, 'loadSuite' | 'evaluateLoaded' | typeof Symbol.asyncDispose>,
  request: SuiteRequest,
): Promise<SuiteEvaluator> {
  await using opening = new AsyncDisposableStack();
  opening.use(muster);
  const stop = buildStopOverride(request);
  const suite = await muster.loadSuite({ suite: request.suite, ...(stop ? { stop } : {}), changes: readSuiteChanges(request) });
  const opened = opening.move();
  return {
    suiteName: suite.definition.name,
    agent: suite.agent,
    evaluate: (checkpoint, options) => muster.evaluateLoaded(suite, { checkpoint }, options),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}
