import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { formatTuning, tuningView } from '../../src/cli/lines/tuning-lines.ts';
import type { Tuning, TuningTrialResult } from '../../src/orchestrator/tuning/tuning.ts';

const SINGLE: TuningTrialResult = {
  play: { mode: 'single' },
  sandboxes: 2,
  episodesPerSecond: 304.2,
  isEstimate: false,
  timesSingle: 1,
  episodes: 1500,
  failed: 0,
  forwardShare: 0.47,
  refusal: null,
};
const LOCKSTEP: TuningTrialResult = {
  ...SINGLE,
  play: { mode: 'lockstep', width: 64, block: 256 },
  episodesPerSecond: 480,
  isEstimate: true,
  timesSingle: 1.578,
  forwardShare: 0.1,
};
const VECTOR: TuningTrialResult = {
  ...SINGLE,
  play: { mode: 'vector', width: 1024 },
  episodesPerSecond: null,
  timesSingle: null,
  forwardShare: null,
  refusal: 'it has no vector form\u001b[2J',
};

const TUNING: Tuning = {
  schema: 'muster.tuning/1',
  suite: { name: 'cartpole' },
  checkpoint: { uri: 'late.safetensors', digest: `sha256:${'a'.repeat(64)}` },
  processors: 2,
  sandboxesMax: 8,
  seconds: 60,
  trials: [SINGLE, LOCKSTEP, VECTOR, { ...VECTOR, sandboxes: 4 }],
  fastest: { play: LOCKSTEP.play, sandboxes: 2, episodesPerSecond: 480 },
  warnings: ['1 of 3 trials were too short to be timed: give more --seconds'],
};

const shown = (lines: readonly string[]): string => lines.map(stripVTControlCharacters).join('\n');

describe('what tuning found', () => {
  it('is a table, the refused ways with reasons, and the fastest as YAML', () => {
    expect(shown(formatTuning(TUNING))).toMatchInlineSnapshot(`
      "cartpole · 2 processors
        play          sandboxes  episodes/s  × single  in the policy
        single                2         304       1.0           47 %
        lockstep 64           2       ~ 480       1.6           10 %
        vector 1,024          2     refused         –              –
        vector 1,024          4     refused         –              –
        vector: it has no vector form\\u001b[2J
        fastest: 480 episodes/s
          in the suite            play: { mode: lockstep, width: 64 }
          on the command line     --sandboxes 2
        ! 1 of 3 trials were too short to be timed: give more --seconds"
    `);
  });

  it('can be empty', () => {
    expect(shown(formatTuning(TUNING))).not.toContain('unknown');
    const untimed = formatTuning({ ...TUNING, trials: [SINGLE, { ...VECTOR, refusal: null, episodes: 0 }] });
    expect(shown(untimed)).toMatch(/vector 1,024 +2 +unknown [^]*unknown: too few episodes ended .*give more --seconds/);
    expect(shown(formatTuning({ ...TUNING, trials: [VECTOR], fastest: null }))).toContain('nothing could be measured');
  });

  it('is shown while tuning runs', () => {
    const progress = { seconds: 5, way: { play: LOCKSTEP.play, sandboxes: 1 }, trial: 2, trials: 8, results: [SINGLE] };
    expect(shown(tuningView.lines(progress))).toMatch(/single +2 +304 [^]*trial 2 of 8: lockstep 64 on 1 sandbox$/);
    expect(tuningView.line(progress)).toBe('trial 2 of 8: lockstep 64 on 1 sandbox');
  });
});
