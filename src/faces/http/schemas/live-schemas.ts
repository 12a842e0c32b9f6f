import type { Readable } from 'node:stream';
import { z } from 'zod';
import type { RunningFigures } from '../../../service/orders/running-figures.ts';
import type { EvaluationItem } from './evaluation-schemas.ts';
import type { Pool } from './pool-schemas.ts';

/** The data of one event of the live stream. What is left out has not changed. */
export interface LiveMessage {
  /** New ones, and ones that began or ended. */
  readonly evaluations?: readonly EvaluationItem[];
  /** Of open evaluations of which nothing else has changed. */
  readonly running?: readonly { readonly id: string; readonly running: RunningFigures }[];
  /** All of them. */
  readonly pools?: readonly Pool[];
  /** Changes were left out: read the list again. */
  readonly isIncomplete?: true;
}

/** It is not checked while it flows. */
export const liveStreamSchema = z.custom<Readable>().meta({
  type: 'object',
  description: 'one event of the stream',
  properties: {
    event: { const: 'changes' },
    data: {
      type: 'string',
      contentMediaType: 'application/json',
      description: '{ evaluations?, running?, pools?, isIncomplete? }: what is left out has not changed; isIncomplete: read the list again',
    },
  },
});
