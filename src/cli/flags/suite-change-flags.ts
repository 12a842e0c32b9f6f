import type { Command } from 'commander';
import type { SuiteChanges } from '../../orchestrator/suite/suite-definition.ts';
import { parseProbability, parseWholeNumberFromZero } from './flag-values.ts';

/** Flags that replace single settings of the suite. */
export interface SuiteChangeFlags {
  readonly seed?: number;
  readonly confidence?: number;
  readonly stochastic?: true;
}

export function addSuiteChangeFlags(command: Command): Command {
  return command
    .option('--seed <number>', "base seed, in place of the suite's own: other episodes of the same kind", parseWholeNumberFromZero)
    .option('--confidence <probability>', "of the interval, in place of the suite's own (0.99, for example)", parseProbability)
    .option('--stochastic', "draw the policy's actions with a seeded generator, in place of taking the best one");
}

export function readSuiteChanges({ seed, confidence, stochastic }: SuiteChangeFlags): SuiteChanges {
  return { seed, confidence, ...(stochastic && { actions: 'stochastic' }) };
}
