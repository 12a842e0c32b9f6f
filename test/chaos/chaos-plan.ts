import path from 'node:path';
import type { NewEvaluation } from '../../src/faces/client/request-bodies.ts';
import { seededRandom } from '../aggregation/seeded-random.ts';

/**
 * What is asked for, and what is done to it meanwhile. Pure: the seed decides all of it. When exactly a signal arrives, and which episode it
 * hits, the operating system decides.
 */
export interface ChaosPlan {
  readonly seed: number;
  readonly orders: readonly ChaosOrder[];
  /** In the order of their coming. */
  readonly kills: readonly Kill[];
  /** Of the sandboxes that come to be, this share is killed. */
  readonly sandboxShare: number;
}

/** A request, without the suite that all share. */
export interface ChaosOrder {
  readonly key: string;
  /** Of the suite, so that no two orders have episodes in common. */
  readonly seed: number;
  readonly question:
    | { readonly kind: 'evaluation'; readonly checkpoint: string; readonly stop: NonNullable<NewEvaluation['stop']> }
    | { readonly kind: 'comparison'; readonly baseline: string; readonly candidate: string; readonly budgetEpisodes: number };
}

/**
 * `playing`: once so much has been played. `accepting`: the same, and a request has been sent in that moment. `starting`: the next start after
 * it, before it is over.
 */
export interface Kill {
  readonly during: 'playing' | 'accepting' | 'starting';
  /** Of all episodes of the undisturbed run, from 0 to 1. */
  readonly progress: number;
  /** From the moment that it waits for to the signal. */
  readonly milliseconds: number;
  /** In [0, 1): picks one of the Musters. */
  readonly victim: number;
}

export interface ChaosSize {
  readonly seed: number;
  readonly evaluations: number;
  readonly kills: number;
  readonly sandboxShare: number;
  /** Of an evaluation with a fixed number, at least and at most. */
  readonly episodes: readonly [number, number];
  /** Of an evaluation that ends when it is certain enough, one of these: in steps of the environment. */
  readonly halfWidths: readonly [number, ...number[]];
}

/** A start takes about a second; a kill within it hits anything from the opening of the store to the first sandboxes. */
const STARTING_MILLISECONDS = 900;
const ACCEPTING_MILLISECONDS = 20;
const PLAYING_MILLISECONDS = 250;
/** The last kill comes while there is still much to do: one that comes too late proves nothing. */
const LAST_PROGRESS = 0.85;
/** By then there are still requests to come. */
const LAST_ACCEPTING_PROGRESS = 0.5;

export function planChaos(size: ChaosSize, checkpoints: string): ChaosPlan {
  const random = seededRandom(size.seed);
  const pick = <Item>(items: readonly [Item, ...Item[]]): Item => items[Math.floor(random() * items.length)] ?? items[0];
  const file = (name: string): string => path.join(checkpoints, `${name}.safetensors`);
  const [least, most] = size.episodes;
  const orders = Array.from({ length: size.evaluations }, (_, at): ChaosOrder => {
    const episodes = least + Math.floor(random() * (most - least + 1));
    const key = `chaos-${size.seed}-${at}`;
    // One in eight: two arms, whose journals have to stay in step.
    if (at % 8 === 5) {
      const question = {
        kind: 'comparison',
        baseline: file('middle'),
        candidate: file(pick(['early', 'late'])),
        budgetEpisodes: episodes,
      } as const;
      return { key, seed: 1000 * size.seed + at, question };
    }
    const stop =
      random() < 0.5 ? ({ rule: 'fixed', episodes } as const) : ({ rule: 'certified', halfWidth: pick(size.halfWidths) } as const);
    return {
      key,
      seed: 1000 * size.seed + at,
      question: { kind: 'evaluation', checkpoint: file(pick(['early', 'middle', 'late'])), stop },
    };
  });
  const kills = Array.from({ length: size.kills }, (_, at): Kill => {
    // Spread out, so that work is done between them; within its part of the run each may come anywhere.
    const progress = (LAST_PROGRESS * (at + random())) / size.kills;
    const drawn = pick<Kill['during']>(['playing', 'playing', 'accepting', 'starting']);
    const during = drawn === 'accepting' && progress > LAST_ACCEPTING_PROGRESS ? 'playing' : drawn;
    const most = { playing: PLAYING_MILLISECONDS, accepting: ACCEPTING_MILLISECONDS, starting: STARTING_MILLISECONDS }[during];
    return { during, progress, milliseconds: Math.floor(random() * most), victim: random() };
  });
  return { seed: size.seed, orders, kills, sandboxShare: size.sandboxShare };
}
