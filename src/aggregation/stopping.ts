import { InputError } from '../kernel/errors.ts';
import { assertBounds } from './bounds.ts';
import type { Bounds } from './bounds.ts';
import { CertifiedRule } from './certified-rule.ts';
import { FixedRule } from './fixed-rule.ts';
import type { Stop, StoppingRule } from './stopping-rule.ts';

/** As a share of the range. Narrower ones need some 10⁸ episodes, and a grid that no longer fits a processor's cache. */
const NARROWEST = 1e-4;

/**
 * The rule that a suite asks for, with nothing folded yet. A further rule is a member of `Stop`, a class and a case here.
 *
 * @throws InputError when a number is out of its range, or when `certified` lacks bounds or asks for a half-width out of reach.
 */
export function stoppingRule(stop: Stop, bounds: Bounds | undefined): StoppingRule {
  if (bounds !== undefined) assertBounds(bounds);
  if (!(stop.confidence > 0.5 && stop.confidence < 1))
    throw invalid('confidence', `expected a number between 0.5 and 1, got ${stop.confidence}`);
  switch (stop.rule) {
    case 'fixed':
      if (!Number.isSafeInteger(stop.episodes) || stop.episodes < 2)
        throw invalid('episodes', `expected a whole number from 2 on, got ${stop.episodes}`);
      return new FixedRule(stop.episodes, stop.confidence, bounds);
    case 'certified':
      return certifiedRule(stop.halfWidth, stop.confidence, bounds);
  }
}

function certifiedRule(halfWidth: number, confidence: number, bounds: Bounds | undefined): StoppingRule {
  if (bounds === undefined) {
    throw new InputError(
      'stop.bounds-missing',
      'stop.rule: "certified" needs to know the range of the return; declare reward.bounds, or use the rule "fixed"',
    );
  }
  const range = bounds.high - bounds.low;
  if (!(halfWidth > 0 && Number.isFinite(halfWidth))) throw invalid('halfWidth', `expected a positive number, got ${halfWidth}`);
  if (halfWidth >= range / 2) {
    throw invalid('halfWidth', `${halfWidth} is met without an episode, half of the range of reward.bounds is ${range / 2}; ask for less`);
  }
  if (halfWidth < NARROWEST * range) {
    throw invalid(
      'halfWidth',
      `${halfWidth} is out of reach with reward.bounds ${range} apart; ask for ${NARROWEST * range} or more, or declare tighter bounds`,
    );
  }
  return new CertifiedRule(halfWidth, confidence, bounds);
}

function invalid(field: string, message: string): InputError {
  return new InputError('stop.invalid', `stop.${field}: ${message}`);
}
