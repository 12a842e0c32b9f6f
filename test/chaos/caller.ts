import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import { z } from 'zod';
import type { MusterClient } from '../../src/faces/client/muster-client.ts';
import { InfrastructureError } from '../../src/kernel/errors.ts';
import { comparisonSummarySchema } from '../../src/orchestrator/results/comparison-summary.ts';
import { summarySchema } from '../../src/orchestrator/results/summary.ts';
import type { EvaluationResource } from '../../src/faces/http/schemas/evaluation-schemas.ts';
import { CARTPOLE } from '../end-to-end/stage.ts';
import type { ChaosOrder } from './chaos-plan.ts';

/** What a caller got in the end. */
export interface Answered {
  readonly id: string;
  /** Its bytes. */
  readonly official: string;
  readonly episodes: number;
  /** That were there already when the Muster that gave the answer began with it. */
  readonly recalled: number;
  /** Of the events, in the order in which they came. */
  readonly sequences: readonly number[];
}

const summariesSchema = z.discriminatedUnion('schema', [summarySchema, comparisonSummarySchema]);
/** No evaluation of a plan takes a tenth of it. */
const ANSWER_MILLISECONDS = 900_000;

/** A caller who wants one answer, and repeats the request until a server answers: with the same key, so that it is one request. */
export async function ask(client: MusterClient, order: ChaosOrder, onSubmit: () => void = () => undefined): Promise<Answered> {
  const signal = AbortSignal.timeout(ANSWER_MILLISECONDS);
  const { id } = await persistently(signal, async () => {
    onSubmit();
    return submit(client, order, signal);
  });
  const sequences: number[] = [];
  await persistently(signal, async () => {
    // The client goes on where a connection broke; when it has given up, this is another reader, from the beginning.
    sequences.length = 0;
    for await (const { sequence } of client.events(id, { signal })) sequences.push(sequence);
  });
  const evaluation = await persistently(signal, () => client.get(id, signal));
  return { ...answerOf(evaluation), sequences };
}

async function submit(client: MusterClient, { key, seed, question }: ChaosOrder, signal: AbortSignal): Promise<EvaluationResource> {
  const suite = { ...Object(parse(await readFile(CARTPOLE, 'utf8'))), seed };
  const options = { idempotencyKey: key, signal };
  switch (question.kind) {
    case 'evaluation':
      return client.submit({ uri: question.checkpoint }, suite, { stop: question.stop, ...options });
    case 'comparison': {
      const { baseline, candidate, budgetEpisodes } = question;
      return client.submitComparison({ uri: baseline }, { uri: candidate }, suite, { budgetEpisodes, ...options });
    }
  }
}

/** @throws Error when it has not been answered. */
function answerOf({ id, state, summary, failure }: EvaluationResource): Omit<Answered, 'sequences'> {
  const parsed = summariesSchema.safeParse(summary).data;
  if (state !== 'finished' || parsed === undefined || parsed.partial)
    throw new Error(`${id} is ${state}: ${failure?.code ?? 'its summary is missing or partial'} ${failure?.message ?? ''}`);
  const { recalled = 0, outcomes } = parsed.run;
  return { id, official: JSON.stringify(Object(summary).official), episodes: recalled + outcomes, recalled };
}

/** As long as it is the server that is away. */
async function persistently<Value>(signal: AbortSignal, attempt: () => Promise<Value>): Promise<Value> {
  while (true) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof InfrastructureError) || signal.aborted) throw error;
    }
  }
}
