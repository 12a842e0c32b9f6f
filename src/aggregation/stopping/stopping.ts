import { InputError } from '../../kernel/errors.ts';
import { ApproximateRule } from './approximate-rule.ts';
import { AsymptoticRule } from './asymptotic-rule.ts';
import { FEWEST_VALUES } from './asymptotic-sequence.ts';
import { assertBounds, type Bounds } from '../intervals/bounds.ts';
import { findConfidenceProblem } from '../intervals/confidence.ts';
import { CertifiedRule } from './certified-rule.ts';
import { FixedRule } from './fixed-rule.ts';
import { findHalfWidthProblem } from './reach.ts';
import type { Stop, StoppingRule } from './stopping-rule.ts';

/**
 * Creates the rule of a suite, with nothing folded yet. A further rule needs a member of `Stop`, a class and a case here.
 *
 * @throws InputError when a number is out of its range, or when a rule lacks the bounds that it needs or has a half-width out of reach.
 */
export function createStoppingRule(stop: Stop, bounds: Bounds | undefined): StoppingRule {
  if (bounds !== undefined) assertBounds(bounds);
  const problem = findConfidenceProblem(stop.confidence);
  if (problem !== undefined) throw createInvalidError('confidence', problem);
  switch (stop.rule) {
    case 'fixed':
      assertWhole('episodes', stop.episodes, 2);
      return new FixedRule(stop.episodes, stop.confidence, bounds);
    case 'certified':
      return new CertifiedRule(stop.halfWidth, stop.confidence, requireBounds(stop, bounds));
    case 'approximate':
      return new ApproximateRule(stop.halfWidth, stop.confidence, requireBounds(stop, bounds));
    case 'asymptotic':
      assertPositive(stop.halfWidth);
      assertWhole('tightestAt', stop.tightestAt, FEWEST_VALUES);
      return new AsymptoticRule(stop, bounds);
  }
}

/** Returns the bounds, if they allow the half-width. */
function requireBounds({ rule, halfWidth }: Extract<Stop, { rule: 'certified' | 'approximate' }>, bounds: Bounds | undefined): Bounds {
  if (bounds === undefined) {
    throw new InputError(
      'stop.bounds-missing',
      `stop.rule: "${rule}" needs to know the range of the return; declare reward.bounds, or use the rule "fixed" or "asymptotic"`,
    );
  }
  assertPositive(halfWidth);
  const problem = findHalfWidthProblem(halfWidth, bounds);
  if (problem !== undefined) throw createInvalidError('halfWidth', problem);
  return bounds;
}

function assertPositive(halfWidth: number): void {
  if (!(halfWidth > 0 && Number.isFinite(halfWidth))) throw createInvalidError('halfWidth', `expected a positive number, got ${halfWidth}`);
}

function assertWhole(field: string, value: number, least: number): void {
  if (!Number.isSafeInteger(value) || value < least)
    throw createInvalidError(field, `expected a whole number from ${least} on, got ${value}`);
}

function createInvalidError(field: string, message: string): InputError {
  return new InputError('stop.invalid', `stop.${field}: ${message}`);
}
