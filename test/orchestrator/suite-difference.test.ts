import { describe, expect, it } from 'vitest';
import { listFirst, listSuiteDifferences, type RecordedSuite } from '../../src/orchestrator/results/earlier-evaluation.ts';

const SHOP: RecordedSuite = {
  suite: { name: 'shop', digest: 'a', seed: 1, episodeSeconds: 60, filesDigest: 'f', stop: { rule: 'fixed', episodes: 9 } },
  modules: [
    { path: 'data/prices.csv', digest: '1' },
    { path: 'shop.py', digest: '2' },
  ],
};

describe('what differs between two suites', () => {
  it('is empty between a suite and itself', () => {
    expect(listSuiteDifferences(SHOP, SHOP)).toEqual([]);
  });

  it('is named by the keys of the file', () => {
    const asked = { ...SHOP, suite: { ...SHOP.suite, digest: 'b', episodeSeconds: 5, stop: { rule: 'fixed', episodes: 10 } } };
    expect(listSuiteDifferences(SHOP, asked)).toEqual(['episode.seconds', 'stop']);
  });

  it('is named by the paths of modules that changed, came and went', () => {
    const asked = {
      suite: { ...SHOP.suite, digest: 'b', filesDigest: 'g' },
      modules: [
        { path: 'out/summary.json', digest: '4' },
        { path: 'shop.py', digest: '3' },
      ],
    };
    expect(listSuiteDifferences(SHOP, asked)).toEqual([
      'files: data/prices.csv is gone',
      'files: out/summary.json is new',
      'files: shop.py has changed',
    ]);
  });

  it('is the modules as a whole where those of the earlier one are not known', () => {
    expect(listSuiteDifferences({ suite: SHOP.suite }, { ...SHOP, suite: { ...SHOP.suite, filesDigest: 'g' } })).toEqual(['files']);
  });

  it('is shortened for a message', () => {
    expect(listFirst(['a', 'b', 'c', 'd', 'e', 'f'])).toBe('a, b, c, d and 2 more');
    expect(listFirst(['a'])).toBe('a');
  });
});
