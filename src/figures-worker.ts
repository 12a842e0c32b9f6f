import { parentPort } from 'node:worker_threads';
import { distributionFigures, type DistributionFigures, type DistributionQuestion } from './aggregation/distribution-figures.ts';
import { messageOf } from './kernel/errors.ts';

/** The thread of `FiguresThread`: answers one question after the other. */

export interface FiguresOrder {
  readonly id: number;
  readonly question: DistributionQuestion;
}

export interface FiguresAnswer {
  readonly id: number;
  readonly result: { readonly figures: DistributionFigures } | { readonly problem: string };
}

parentPort?.on('message', ({ id, question }: FiguresOrder) => {
  const answer: FiguresAnswer = { id, result: resultOf(question) };
  parentPort?.postMessage(answer);
});

function resultOf(question: DistributionQuestion): FiguresAnswer['result'] {
  try {
    return { figures: distributionFigures(question) };
  } catch (error) {
    return { problem: messageOf(error) };
  }
}
