import { parentPort } from 'node:worker_threads';
import {
  computeDistributionFigures,
  type DistributionFigures,
  type DistributionQuestion,
} from '../../aggregation/results/distribution-figures.ts';
import {
  computeProbabilityOfImprovement,
  type ImprovementQuestion,
  type ProbabilityOfImprovement,
} from '../../aggregation/resampling/probability-of-improvement.ts';
import { getMessage } from '../../kernel/errors.ts';

/** The thread of `FiguresThread`: answers one question after the other. */

export type FiguresQuestion =
  | { readonly kind: 'distribution'; readonly question: DistributionQuestion }
  | { readonly kind: 'improvement'; readonly question: ImprovementQuestion };

export type FiguresResult =
  | { readonly kind: 'distribution'; readonly figures: DistributionFigures }
  | { readonly kind: 'improvement'; readonly figures: ProbabilityOfImprovement | undefined }
  | { readonly kind: 'failed'; readonly problem: string };

export type FiguresOrder = FiguresQuestion & { readonly id: number };
export interface FiguresAnswer {
  readonly id: number;
  readonly result: FiguresResult;
}

parentPort?.on('message', (order: FiguresOrder) => {
  const answer: FiguresAnswer = { id: order.id, result: computeResult(order) };
  parentPort?.postMessage(answer);
});

function computeResult(asked: FiguresQuestion): FiguresResult {
  try {
    switch (asked.kind) {
      case 'distribution':
        return { kind: 'distribution', figures: computeDistributionFigures(asked.question) };
      case 'improvement': {
        const { tasks, confidence, seed } = asked.question;
        return { kind: 'improvement', figures: computeProbabilityOfImprovement(tasks, confidence, seed) };
      }
    }
  } catch (error) {
    return { kind: 'failed', problem: getMessage(error) };
  }
}
