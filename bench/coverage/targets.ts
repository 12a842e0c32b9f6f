import type { Measurement } from './measurement.ts';
import { biasOf, episodesOf, shareOf } from './measurement.ts';
import type { Target, TrialOutcome } from './scenario.ts';

export interface Verdict {
  readonly met: boolean;
  readonly measured: string;
  readonly target: string;
}

/** From so many trials on a figure has to reach its target as it is; below, chance is allowed for. */
const ENOUGH_RUNS = 2000;
/** Of what misses a target by chance alone, in a study with few trials of something that just meets it. */
const FALSE_ALARMS = 0.001;
/** The normal deviate with that probability above it. */
const DEVIATE = 3.09;

export function hold(measurement: Measurement, target: Target): Verdict {
  switch (target.kind) {
    case 'share':
      return holdShare(measurement, target.of, target.atLeast);
    case 'episodes':
      return holdEpisodes(measurement, target.unit, target.atMost);
    case 'known episodes':
      return holdKnownEpisodes(measurement, target.unit, target.about, target.within);
    case 'bias':
      return holdBias(measurement, target.atMost);
  }
}

function holdShare(measurement: Measurement, of: readonly TrialOutcome[], atLeast: number): Verdict {
  const { runs } = measurement;
  const { count, share } = shareOf(measurement, of);
  const least = runs < ENOUGH_RUNS ? leastSuccesses(runs, atLeast) : Math.ceil(runs * atLeast - 1e-9);
  const allowance = runs < ENOUGH_RUNS ? ` (${least} of ${runs})` : '';
  return { met: count >= least, measured: percent(share, 2), target: `at least ${percent(atLeast, 1)}${allowance}` };
}

function holdEpisodes(measurement: Measurement, unit: number, atMost: number): Verdict {
  const { mean, error } = episodesOf(measurement);
  const allowance = measurement.runs < ENOUGH_RUNS ? DEVIATE * error : 0;
  const times = unit === 1 ? '' : ' ×';
  return { met: mean - allowance <= unit * atMost, measured: `${(mean / unit).toFixed(2)}${times}`, target: `at most ${atMost}${times}` };
}

function holdKnownEpisodes(measurement: Measurement, unit: number, about: number, within: number): Verdict {
  const { mean, error } = episodesOf(measurement);
  const allowance = measurement.runs < ENOUGH_RUNS ? (DEVIATE * error) / unit : 0;
  const most = Math.max(within, allowance);
  const times = mean / unit;
  return { met: Math.abs(times - about) <= most, measured: `${times.toFixed(2)} ×`, target: `${about} ± ${most.toFixed(2)} ×` };
}

function holdBias(measurement: Measurement, atMost: number): Verdict {
  const unit = biasOf(measurement, 'mean').deviation;
  const { bias, error } = biasOf(measurement, 'reduced');
  const allowance = measurement.runs < ENOUGH_RUNS ? (DEVIATE * error) / unit : 0;
  const most = atMost + allowance;
  return { met: Math.abs(bias / unit) <= most, measured: (bias / unit).toFixed(3), target: `within ± ${most.toFixed(2)}` };
}

/** The smallest count of successes in `runs` trials, each with probability `p`, that is not too unlikely to stay below. */
export function leastSuccesses(runs: number, p: number): number {
  let logProbability = runs * Math.log(p);
  let failures = 0;
  let below = 1 - Math.exp(logProbability);
  // `below` is the probability of more failures than `failures`.
  while (below > FALSE_ALARMS && failures < runs) {
    logProbability += Math.log(((runs - failures) / (failures + 1)) * ((1 - p) / p));
    failures += 1;
    below -= Math.exp(logProbability);
  }
  return runs - failures;
}

export function percent(share: number, digits: number): string {
  return `${(100 * share).toFixed(digits)} %`;
}
