import { TokenRecord } from '../../rollouts/record/sampled-tokens.ts';
import type { Turn } from '../../rollouts/record/trajectory.ts';
import type { ModelCourse } from '../acted/acted.ts';
import type { Completion } from './model-endpoint.ts';

/** A model's answers so far, with their exact tokens, and the messages that it received. */
export class TurnRecord {
  readonly #turns: Turn[] = [];
  readonly #tokens = new TokenRecord();
  #model: string | null = null;

  get count(): number {
    return this.#turns.length;
  }

  add(completion: Completion, { startedAt, endedAt }: { readonly startedAt: Date; readonly endedAt: Date }): void {
    const { content, reasoning, toolCalls, finishReason, usage, tokens, model } = completion;
    this.#model = model;
    this.#turns.push({
      message: { content, reasoning },
      toolCalls: [...toolCalls],
      observations: [],
      finishReason,
      tokens: tokens ? this.#tokens.add(tokens) : null,
      policyVersion: tokens?.version ?? null,
      usage,
      startedAt: startedAt.toISOString(),
      endedAt: endedAt.toISOString(),
    });
  }

  /** Adds a message to the model after its last turn. @param toolCall id of the call that it answers. */
  observe(toolCall: string | null, text: string): void {
    this.#turns.at(-1)?.observations.push({ toolCall, text });
  }

  getCourse(): Pick<ModelCourse, 'model' | 'turns' | 'segments'> {
    return { model: this.#model, turns: this.#turns, segments: this.#tokens.listSegments() };
  }
}
