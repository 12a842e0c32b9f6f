/** The steps from a repository to tasks, in their order. */
export const PREPARATION_STEPS = [
  'discover',
  'filter',
  'split',
  'language',
  'bootstrap',
  'test-command',
  'image',
  'baseline',
  'test-patch',
  'gold',
  'derive',
  'steadiness',
  'scrub',
  'emit',
  'gate',
] as const;

export type PreparationStep = (typeof PREPARATION_STEPS)[number];

/** Why a candidate becomes no task. */
export class Refused extends Error {
  readonly step: PreparationStep;

  constructor(step: PreparationStep, reason: string) {
    super(reason);
    this.name = 'Refused';
    this.step = step;
  }
}
