import { describe, expect, it } from 'vitest';
import { digestBytes } from '../../src/kernel/canonical-json.ts';
import { parseEpisodeIndex } from '../../src/kernel/ids.ts';
import { Evaluation } from '../../src/orchestrator/evaluation.ts';
import { EVALUATION_CONFIG, PAPER_CHECKPOINT, suiteWith } from '../support/evaluation-fixture.ts';

describe('an episode that was played with another checkpoint', () => {
  it('does not count, and its checkpoint is named', () => {
    const suite = suiteWith();
    const [arm] = new Evaluation({ suite, suiteFiles: undefined, checkpoint: PAPER_CHECKPOINT, config: EVALUATION_CONFIG, sink: undefined })
      .arms;
    const [episode] = arm.take(0, 1, { ranges: 0, episodes: 0 }, 1);
    const another = digestBytes('another');
    const outcome = { kind: 'completed', return: 1, length: 1, metrics: {} } as const;
    const played = { index: parseEpisodeIndex(episode?.index ?? 0), checkpoint: another, outcome, seconds: 1, killed: false as const };
    const refused = expect.objectContaining({ code: 'checkpoint.mismatch', message: expect.stringContaining(`played with ${another}`) });
    expect(() => arm.record([played])).toThrow(refused);
    expect(arm.dispatcher.inFlight).toBe(1);
    void arm.record([{ ...played, checkpoint: PAPER_CHECKPOINT.digest }]);
    expect(arm.dispatcher.inFlight).toBe(0);
  });
});
