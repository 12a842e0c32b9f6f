import { Option, type Command } from 'commander';
import { InputError } from '../../kernel/errors.ts';
import type { StopOverride } from '../../orchestrator/suite/suite-definition.ts';
import { parsePositiveNumber, parseWholeNumber } from './flag-values.ts';

const RULES = ['certified', 'approximate', 'asymptotic', 'fixed'] as const;

/** Flags that replace the suite's stopping rule; its confidence stays. */
export interface StopFlags {
  readonly rule?: (typeof RULES)[number];
  /** The number of episodes of `fixed`, which it also selects. */
  readonly episodes?: number;
  /** The half-width in units of the return, for the other rules. Alone, it selects `certified`. */
  readonly halfWidth?: number;
}

export function addStopFlags(command: Command): Command {
  return command
    .option('--episodes <count>', "play exactly so many episodes, in place of the suite's stopping rule", parseWholeNumber)
    .option('--half-width <width>', "stop when the interval is this narrow, in place of the suite's stopping rule", parsePositiveNumber)
    .addOption(
      new Option('--rule <rule>', 'which stopping rule that is (with --half-width: certified, unless you say another)').choices(RULES),
    );
}

/** Returns undefined when the flags do not change the suite's rule. @throws InputError `flags.stop` when they contradict each other. */
export function buildStopOverride({ rule, episodes, halfWidth }: StopFlags): StopOverride | undefined {
  if (episodes !== undefined && halfWidth !== undefined)
    throw createInvalidError('--episodes and --half-width exclude each other: give a number of episodes or a precision');
  if (rule === undefined && episodes === undefined && halfWidth === undefined) return undefined;
  switch (rule ?? (episodes === undefined ? 'certified' : 'fixed')) {
    case 'fixed':
      if (episodes === undefined) throw createInvalidError(`--rule fixed needs --episodes${describeConflict('--half-width', halfWidth)}`);
      return { rule: 'fixed', episodes };
    case 'certified':
      return { rule: 'certified', halfWidth: requireHalfWidth('certified', halfWidth, episodes) };
    case 'approximate':
      return { rule: 'approximate', halfWidth: requireHalfWidth('approximate', halfWidth, episodes) };
    case 'asymptotic':
      return { rule: 'asymptotic', halfWidth: requireHalfWidth('asymptotic', halfWidth, episodes) };
  }
}

function requireHalfWidth(rule: StopFlags['rule'], halfWidth: number | undefined, episodes: number | undefined): number {
  if (halfWidth !== undefined) return halfWidth;
  throw createInvalidError(`--rule ${rule} needs --half-width${describeConflict('--episodes', episodes)}`);
}

function describeConflict(flag: string, value: number | undefined): string {
  return value === undefined ? '' : `, and cannot be used with ${flag}`;
}

function createInvalidError(message: string): InputError {
  return new InputError('flags.stop', message);
}
