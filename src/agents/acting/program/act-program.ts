import type { Clock } from '../../../kernel/clock.ts';
import { InfrastructureError, InputError } from '../../../kernel/errors.ts';
import { cleanEnvironment } from '../../grading/clean-environment.ts';
import { formatShownText, joinStreams, SHOWN_OUTPUT } from '../../grading/endings.ts';
import type { StopReason } from '../../rollouts/record/trajectory.ts';
import { OWN_PYTHON, type CommandEnd, type CommandResult } from '../../workspace/command.ts';
import { CommandLine } from '../../workspace/command-line.ts';
import { Tunnel } from '../../workspace/tunnel.ts';
import type { WorkspaceSession } from '../../workspace/workspace-session.ts';
import { AGENT_SECONDS, type Acted } from '../acted/acted.ts';
import type { ProgramAgent } from '../model/model-agent.ts';
import type { ModelEndpoint } from '../model/model-endpoint.ts';
import type { Gateway } from './gateway.ts';
import { RecordedSession, type SessionEnd } from './recorded-session.ts';
import type { OpenStep } from '../../grading/make-submission.ts';

const RELAY = '/muster/runner/gateway.py';
const INSTRUCTION_FILE = '/tmp/muster-instruction.md';
/** Limit of the command itself, for time that the acting time excludes: no model server delays a program for longer. */
const LONGEST_SECONDS = 86_400;
/** A program that has reached a limit of its agent has this time to end by itself. */
const LAST_SECONDS = 10;
const AT_ONCE_SECONDS = 0.001;
/** Characters of its output in the error of a program that is broken. */
const SAID = 1000;

export interface ProgramContext {
  readonly session: WorkspaceSession;
  readonly clock: Clock;
  readonly endpoint: ModelEndpoint;
  readonly gateway: Gateway;
}

/**
 * Lets a command-line program act in a workspace, until it ends or a limit is reached. It reaches its model through a relay inside of the sandbox,
 * which has no network: Muster answers in place of the provider, and records the turns.
 *
 * @param seed of the sampling. @throws InputError `agent.command` when there is no such program; as `ModelEndpoint.complete`; InfrastructureError
 * when the workspace is lost; the signal's reason.
 */
export async function playProgram(
  open: OpenStep,
  agent: ProgramAgent,
  seed: number,
  { session, clock, endpoint, gateway }: ProgramContext,
  signal: AbortSignal,
): Promise<Omit<Acted, 'submission'>> {
  const { step } = open;
  await session.put([{ path: INSTRUCTION_FILE, content: Buffer.from(step.instruction), executable: false }], signal);
  const line = new CommandLine();
  let end: SessionEnd | undefined;
  let last: Disposable | undefined;
  using time = new ActingTime(clock, step.agent.timeoutSeconds ?? AGENT_SECONDS, () => line.hangUp(AT_ONCE_SECONDS));
  const recorded = new RecordedSession(agent, seed, {
    endpoint,
    clock,
    onWaiting: (isWaiting) => (isWaiting ? time.stand() : time.go()),
    onEnd: (reason) => {
      end = reason;
      last = clock.after(reason.kind === 'limit' ? LAST_SECONDS * 1000 : 0, () => line.hangUp(AT_ONCE_SECONDS));
    },
  });
  using entrance = gateway.open(recorded);
  using tunnel = new Tunnel(line, (connection) => entrance.connect(connection));
  const result = await session.run(createCommand(open, agent, entrance.key), signal, line);
  time.stand();
  last?.[Symbol.dispose]();
  if (end?.kind === 'failed') throw end.error;
  assertStarted(agent, result, tunnel.problem);
  const stopReason = end?.reason ?? parseEnd(result.end, recorded);
  const course = { ...recorded.getCourse(), actionSeconds: time.spentSeconds };
  const refusal = recorded.turns === 0 && stopReason === 'program-failed' ? describeBrokenProgram(open, agent, result) : undefined;
  return { actions: recorded.turns, stopReason, refusal, course, printed: joinStreams(result) };
}

/**
 * A program that ends with an error before its model has answered once is broken, and says nothing about the model. In a later step the agent itself
 * may have broken it, which counts. A program that was ended from outside, or printed too much, is not broken.
 */
function describeBrokenProgram(
  { task, step }: OpenStep,
  { command: [name] }: ProgramAgent,
  { end, stdout, stderr }: CommandResult,
): string | undefined {
  if (end.kind !== 'exited' || step !== task.steps[0]) return undefined;
  const said = formatShownText(stderr.total > 0 ? stderr : stdout).trim();
  return `the program ${name} ended with status ${end.code} before its first turn: ${said === '' ? 'it printed nothing' : said.slice(-SAID)}`;
}

function createCommand(
  { task, step }: OpenStep,
  { command, environment, model }: ProgramAgent,
  key: string,
): Parameters<WorkspaceSession['run']>[0] {
  const { workdir } = task.workspace;
  const words: Readonly<Record<string, string>> = { '{instruction}': step.instruction, '{workdir}': workdir, '{model}': model };
  const argv = command.map((word) => word.replaceAll(/\{(?:instruction|workdir|model)\}/g, (name) => words[name] ?? name));
  const own = { OPENAI_API_KEY: key, ANTHROPIC_API_KEY: key, MUSTER_INSTRUCTION_FILE: INSTRUCTION_FILE, MUSTER_MODEL: model };
  return {
    argv: [OWN_PYTHON, RELAY, ...argv],
    directory: workdir,
    environment: { ...cleanEnvironment(task.workspace.environment), ...environment, ...own },
    seconds: LONGEST_SECONDS,
    output: SHOWN_OUTPUT,
  };
}

/** @throws InputError `agent.command`; InfrastructureError `workspace.relay` */
function assertStarted({ command: [name] }: ProgramAgent, { end }: CommandResult, problem: string | undefined): void {
  if (problem !== undefined)
    throw new InputError(
      'agent.command',
      `command: ${name} cannot be started in the workspace: ${problem}; ${problem.includes('Permission denied') ? 'make it executable' : 'put it, or the interpreter that its first line names, into the image, or mount it'}`,
    );
  if (end.kind === 'unstartable')
    throw new InfrastructureError('workspace.relay', `the relay to the model cannot be started: ${end.detail}`);
}

function parseEnd(end: CommandEnd, { isTooLong }: RecordedSession): StopReason {
  switch (end.kind) {
    case 'exited':
      if (end.code === 0) return 'submitted';
      return isTooLong ? 'context' : 'program-failed';
    case 'timeout':
      return 'time';
    case 'out-of-memory':
      return 'out-of-memory';
    case 'signalled':
    case 'output-limit':
    case 'unstartable':
      return 'program-failed';
  }
}

/** Time that runs while a program acts, and is paused while it waits for its model: a busy model server changes no result. */
export class ActingTime implements Disposable {
  readonly #clock: Clock;
  readonly #onOver: () => void;
  #leftMs: number;
  #since: number | undefined;
  #timer: Disposable | undefined;
  #spentMs = 0;

  /** Begins at once. @param onOver called once, when it is over. */
  constructor(clock: Clock, seconds: number, onOver: () => void) {
    this.#clock = clock;
    this.#leftMs = seconds * 1000;
    this.#onOver = onOver;
    this.go();
  }

  get spentSeconds(): number {
    return (this.#spentMs + (this.#since === undefined ? 0 : this.#clock.now() - this.#since)) / 1000;
  }

  go(): void {
    if (this.#since !== undefined) return;
    this.#since = this.#clock.now();
    this.#timer = this.#clock.after(this.#leftMs, this.#onOver);
  }

  stand(): void {
    if (this.#since === undefined) return;
    const ran = this.#clock.now() - this.#since;
    this.#timer?.[Symbol.dispose]();
    this.#since = undefined;
    this.#spentMs += ran;
    this.#leftMs = Math.max(0, this.#leftMs - ran);
  }

  [Symbol.dispose](): void {
    this.stand();
  }
}
