import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { z } from 'zod';
import { readAnswerText } from '../src/adapters/http/answer-text.ts';
import { ActionExecutor, SHOWN_TO_AGENTS } from '../src/agents/actions/action-executor.ts';
import { describeGradingTemplate } from '../src/agents/grading/grading-template.ts';
import { layWorkdir } from '../src/agents/grading/lay-workdir.ts';
import { loadConfig } from '../src/app/configuration.ts';
import { openTask, TaskGrader } from '../src/app/grading/task-grader.ts';
import { PACKAGE_ROOT } from '../src/kernel/package-root.ts';
import { readSandboxMs } from './processor-parts.ts';

/**
 * The turns of bench/rollout-load.ts by a client that only acts: it asks the model, carries its calls out in a workspace, and appends both to the
 * conversation. It checks, records, stores and grades nothing.
 *
 *     node bench/bare-turns.ts URL STATE_DIRECTORY TASK TRAJECTORIES AT_A_TIME
 */
const [url = '', stateDir = '', name = '', ...numbers] = process.argv.slice(2);
const [trajectories = 0, atATime = 0] = numbers.map(Number);

const answerSchema = z.object({
  choices: z.tuple([
    z.object({ message: z.looseObject({ tool_calls: z.tuple([z.object({ id: z.string(), function: z.object({ name: z.string() }) })]) }) }),
  ]),
});
const signal = new AbortController().signal;
const agent = new Agent({ keepAlive: true });
const flags = [
  { name: 'stateDir', path: ['stateDir'], value: stateDir },
  { name: '--sandboxes', path: ['pool', 'max'], value: atATime },
];
await using grader = new TaskGrader(loadConfig({ environment: { HOME: stateDir }, flags }));
const open = await openTask(join(PACKAGE_ROOT, 'examples/code', name));
const sandboxes = grader.getSandboxes(open);
const [step] = open.task.steps;
if (step === undefined) throw new Error(`task ${name} has no step`);
const template = describeGradingTemplate(open.task, step, []);
const { workdir } = open.task.workspace;

const waiting = Array.from({ length: trajectories }, (_, trajectory) => trajectory).values();
await Promise.all(
  Array.from({ length: atATime }, async () => {
    for (const trajectory of waiting) await play(1000 * trajectory);
  }),
);
process.send?.(readSandboxMs(process.pid));
agent.destroy();

async function play(seed: number): Promise<void> {
  await using sandbox = await sandboxes.open(template, signal);
  await layWorkdir(sandbox.session, open, { sandboxes }, signal);
  const executor = new ActionExecutor(sandbox.session, { workdir, environment: {}, output: SHOWN_TO_AGENTS });
  const messages: object[] = [{ role: 'user', content: step?.instruction }];
  for (let turn = 0; ; turn += 1) {
    const { message } = answerSchema.parse(JSON.parse(await ask(JSON.stringify({ seed: seed + turn, messages })))).choices[0];
    const [{ id, function: called }] = message.tool_calls;
    if (called.name === 'submit') return;
    const { observation } = await executor.perform({ action: 'list_files', path: '.', depth: 1 }, 60, signal);
    messages.push({ ...message, role: 'assistant' }, { role: 'tool', tool_call_id: id, content: observation.text });
  }
}

function ask(body: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
  const asked = request(`${url}/chat/completions`, { method: 'POST', headers, agent }, (answer) => {
    readAnswerText(answer, 2 ** 24).then(resolve, reject);
  });
  asked.on('error', reject).end(body);
  return promise;
}
