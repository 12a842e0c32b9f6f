import { readFile, stat } from 'node:fs/promises';
import { z } from 'zod';
import type { StepStore } from '../../adapters/preparation/step-store.ts';
import { AGENT_BYTES, parseAgent } from '../../agents/acting/agent.ts';
import type { ModelAgent } from '../../agents/acting/model/model-agent.ts';
import type { ModelEndpoint } from '../../agents/acting/model/model-endpoint.ts';
import type { Candidate } from '../../agents/preparation/candidate.ts';
import { type Instruction, screenWrittenInstruction, writeInstruction } from '../../agents/preparation/instruction.ts';
import { Refused } from '../../agents/preparation/source/steps.ts';
import { parseYamlLayer } from '../../kernel/documents/yaml-layer.ts';
import { getReason } from '../../kernel/errno.ts';
import { InputError } from '../../kernel/errors.ts';
import { formatExactBytes } from '../../kernel/text/figures.ts';
import type { PreparationContext } from './preparation-context.ts';

const SYSTEM = `You write issues for software projects. A programmer who has the code before a change, and neither the change nor its tests, works by what you write, and hidden tests judge the result.

Say what is wrong or missing and how the code has to behave. Say the names, arguments and results that users of the code see. Show no code of the change, and name no test and no file of tests. Answer with the text of the issue alone.`;
/** The largest patch in characters. */
const MOST_PATCH = 60_000;
const MOST_TEXT = 8000;

/** Has a model write the instruction of a fix whose message says nothing. What it wrote is kept. */
export class InstructionWriter {
  readonly #model: ModelAgent;
  readonly #endpoint: ModelEndpoint;
  readonly #steps: StepStore;

  constructor(model: ModelAgent, endpoint: ModelEndpoint, steps: StepStore) {
    this.#model = model;
    this.#endpoint = endpoint;
    this.#steps = steps;
  }

  /** @throws Refused (`scrub`) when the model cannot be asked for it. */
  async write(message: string, patch: string, signal: AbortSignal): Promise<string> {
    const { model, version = null, sampling, extra, system = SYSTEM } = this.#model;
    const asked = `The message of the change:\n\n${message}\n\nThe change:\n\n${patch.slice(0, MOST_PATCH)}`;
    return await this.#steps.remember('instruction', { model, version, sampling, extra, system, asked }, z.string(), async () => {
      const messages = [
        { role: 'system', content: system },
        { role: 'user', content: asked },
      ] as const;
      const answered = await this.#endpoint.complete({ messages, tools: [], seed: 1 }, signal);
      if (answered.kind === 'message') return answered.content.trim().slice(0, MOST_TEXT);
      throw new Refused('scrub', `the model that writes instructions does not take the change: ${answered.detail}`);
    });
  }
}

/**
 * Writes what an agent is asked for. A writer is asked only for a fix whose message and issues say nothing.
 *
 * @param testNames that are left out. @param fixLines that the fix adds. @throws Refused (`scrub`) when nothing is left that an agent could work by.
 */
export async function instruct(
  { writer, history }: Pick<PreparationContext, 'writer' | 'history'>,
  candidate: Candidate,
  testNames: readonly string[],
  fixLines: readonly string[],
  signal: AbortSignal,
): Promise<Instruction> {
  try {
    return writeInstruction(candidate, testNames, fixLines);
  } catch (error) {
    if (!(error instanceof Refused) || writer === undefined || history === undefined || candidate.kind !== 'fix') throw error;
    const { commit } = candidate;
    const text = await writer.write(commit.message, await history.patch(commit, signal), signal);
    return screenWrittenInstruction(text, testNames, fixLines);
  }
}

/** @param path of an agent's file. @throws InputError when it says no model. */
export async function readWriter(path: string): Promise<ModelAgent> {
  const found = await stat(path).catch((error: unknown) => {
    throw new InputError(
      'agent.invalid',
      `--writer: ${path} cannot be read: ${getReason(error, path)}; expected a file that says "agent: model"`,
    );
  });
  if (!found.isFile() || found.size > AGENT_BYTES)
    throw new InputError(
      'agent.invalid',
      `--writer: ${path} is no file of at most ${formatExactBytes(AGENT_BYTES)}; expected one that says "agent: model"`,
    );
  const agent = parseAgent(path, parseYamlLayer(path, await readFile(path, 'utf8'), 'agent.invalid').value);
  if (agent.agent === 'model') return agent;
  throw new InputError('agent.invalid', `--writer: ${path} has "agent: ${agent.agent}"; only a model writes, expected "agent: model"`);
}
