import type { Ending, Summary } from '../../../orchestrator/results/summary.ts';
import { formatCount } from '../../../kernel/text/figures.ts';

/** The meaning of a document's words, in plain English. */
type Official = Summary['official'];
type Cause = keyof Official['failures'];
type Method = NonNullable<Official['interval']>['method'];

export function formatEnding(ended: Ending): string {
  switch (ended) {
    case 'rule':
      return 'as many as the stopping rule asked for';
    case 'episodes':
      return 'all that the budget of episodes allows';
    case 'verdicts':
      return 'as many as the verdicts asked for';
    case 'seconds':
      return 'ended by the budget of seconds';
    case 'cost':
      return 'ended by the budget of cost';
    case 'failures':
      return 'all of them failed';
    case 'interrupted':
      return 'interrupted';
    case 'failed':
      return 'ended by a failure of the infrastructure';
  }
}

export function formatRule(stop: Official['stop']): string {
  switch (stop.rule) {
    case 'fixed':
      return `fixed: ${formatCount(stop.episodes)} episodes, decided in advance`;
    case 'certified':
      return `certified: play until the interval reaches at most ${stop.halfWidth} to either side`;
    case 'approximate':
      return `approximate: play until the interval, looked at now and then, reaches at most ${stop.halfWidth} to either side`;
    case 'asymptotic':
      return `asymptotic: play until the interval reaches at most ${stop.halfWidth} to either side; tightest at ${formatCount(stop.tightestAt)} episodes`;
  }
}

export function formatMethod(method: Method): string {
  switch (method) {
    case 'student-t':
      return 'Student’s t';
    case 'adjusted':
      return 'adjusted for bounds';
    case 'clopper-pearson':
      return 'Clopper–Pearson';
    case 'certified':
      return 'certified';
    case 'approximate':
      return 'approximate';
    case 'asymptotic-sequence':
      return 'asymptotic sequence';
    case 'stratified-bootstrap':
      return 'stratified bootstrap';
    case 'bca':
      return 'BCa bootstrap';
    case 'clustered-t':
      return 'clustered t';
  }
}

export function formatCause(cause: Cause): string {
  switch (cause) {
    case 'timeout':
      return 'ran out of time';
    case 'policy-crash':
      return 'the policy crashed';
    case 'environment-crash':
      return 'the environment crashed';
    case 'out-of-memory':
      return 'ran out of memory';
    case 'protocol-violation':
      return 'the runner sent what it must not';
    case 'invalid-return':
      return 'the return was no finite number';
    case 'out-of-bounds':
      return 'the return lay outside of the bounds';
  }
}
