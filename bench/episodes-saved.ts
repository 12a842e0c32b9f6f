import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { computeNormalQuantile } from '../src/aggregation/intervals/distribution-quantiles.ts';
import { readConfiguration, Muster } from '../src/app/main.ts';
import { PACKAGE_ROOT } from '../src/kernel/package-root.ts';
import type { Benchmark, Cell } from './benchmark.ts';
import { showSpread, spreadOf } from './spread.ts';

const SUITE = join(PACKAGE_ROOT, 'examples/game/cartpole.yaml');
const HALF_WIDTH = 10;
const CONFIDENCE = 0.95;
const RANGE = 500;

/** Enough episodes for an interval of the asked width when nothing is known but the range: by the normal approximation at the greatest variance that there can be. */
const BY_VARIANCE = Math.ceil(((computeNormalQuantile((1 + CONFIDENCE) / 2) * RANGE) / 2 / HALF_WIDTH) ** 2);
/** And so that the confidence holds for certain (Hoeffding 1963). */
const BY_HOEFFDING = Math.ceil((Math.log(2 / (1 - CONFIDENCE)) * RANGE ** 2) / (2 * HALF_WIDTH ** 2));

const MOMENTS = ['early', 'middle', 'late'];
const RULES = [
  { rule: 'certified', fixed: BY_HOEFFDING },
  { rule: 'approximate', fixed: BY_VARIANCE },
] as const;

function nameOf(moment: string, rule: string): string {
  return `${moment}, ${rule}`;
}

export const episodesSaved: Benchmark = {
  name: 'episodes-saved',
  summary: 'episodes that stopping rules take on CartPole, beside a number fixed in advance for the same half-width',
  measurements: () => MOMENTS.flatMap((moment) => RULES.map(({ rule }) => nameOf(moment, rule))),
  async run({ quick, measured }) {
    await using muster = await Muster.open(readConfiguration());
    const seeds = Array.from({ length: quick ? 1 : 5 }, (_, i) => i + 1);
    const rows: Cell[][] = [];
    for (const moment of MOMENTS) {
      for (const { rule, fixed } of RULES) {
        const spread = await measured(nameOf(moment, rule), async () => {
          const episodes: number[] = [];
          for (const seed of seeds) episodes.push(await episodesOf(muster, moment, rule, seed));
          return spreadOf(episodes);
        });
        rows.push([moment, rule, showSpread(spread, 0), fixed, `${(100 * (1 - spread.median / fixed)).toFixed(0)} %`]);
      }
    }
    return {
      tables: [
        {
          title: `CartPole to ±${HALF_WIDTH} with ${CONFIDENCE * 100} %`,
          columns: ['checkpoint', 'rule', 'episodes', 'fixed in advance', 'saved'],
          rows,
        },
      ],
      checks: [],
      notes: [
        `Episodes: median and range over ${seeds.length} base seeds of the suite; they do not depend on the machine.`,
        `Fixed in advance, when only the range of the return is known: ${BY_VARIANCE} by the normal approximation at the greatest variance possible (beside "approximate"), ${BY_HOEFFDING} by Hoeffding's inequality, which like "certified" promises its confidence for certain.`,
      ],
    };
  },
};

async function episodesOf(muster: Muster, moment: string, rule: 'certified' | 'approximate', seed: number): Promise<number> {
  const written: unknown = parse(await readFile(SUITE, 'utf8'));
  const suite = { ...Object(written), seed, stop: { rule, halfWidth: HALF_WIDTH, confidence: CONFIDENCE } };
  const checkpoint = join(PACKAGE_ROOT, `examples/game/checkpoints/${moment}.safetensors`);
  return (await muster.evaluate({ suite, checkpoint })).official.episodes;
}
