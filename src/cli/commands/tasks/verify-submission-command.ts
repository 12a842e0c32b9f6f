import { Command, Option } from 'commander';
import type { Evidence } from '../../../agents/verification/evidence.ts';
import { listLastLines } from '../../../agents/verification/last-lines.ts';
import type { TakenVerdict } from '../../../app/grading/task-grader.ts';
import { escapeUnprintable } from '../../../kernel/text/printable.ts';
import { addNeededOption } from '../../flags/needed-option.ts';
import { alignColumns } from '../../lines/columns.ts';
import { EXIT_CODES } from '../../terminal/exit-code.ts';
import { runInterruptibly } from '../../terminal/interruption.ts';
import { announce, print, formatJson } from '../../terminal/output.ts';
import { type ReportFile, reportFile } from '../report-file.ts';

export interface VerifyRequest {
  readonly task: string;
  /** Directory with the artifacts. */
  readonly submission: string;
  readonly step?: string;
  readonly seed?: string;
  readonly config?: string;
}

/** `muster verify` gets this from the composition root. */
export type VerifySubmission = (request: VerifyRequest, onStage: (stage: string) => void, signal: AbortSignal) => Promise<TakenVerdict>;

interface VerifyFlags extends Omit<VerifyRequest, 'task'> {
  readonly json?: true;
  readonly report?: string;
}

export function createVerifySubmissionCommand(verify: VerifySubmission): Command {
  const command = new Command('verify')
    .summary('grade a submission to a task')
    .description('Grades what an agent has left behind: the artifacts that the task declares, in a fresh sandbox that no agent has seen.')
    .argument('<task>', 'directory of the task (task.toml, and muster.toml where it has one)')
    .option('--step <name>', 'of a task with several steps')
    .option('--seed <seed>', 'of an earlier verdict, to take it again on the same hidden cases (default: a fresh one)')
    .option('--config <file>', 'configuration file (default: config/default.yaml alone)')
    .option('--report <file>', 'write a page to look at (HTML, in one file)')
    .option('--json', 'print exactly one JSON document on stdout')
    .addHelpText('after', HELP)
    .action(async (task: string, { json, report, ...flags }: VerifyFlags) => {
      const page = report === undefined ? undefined : await reportFile(report);
      process.exitCode = await verifyAndReport(verify, { ...flags, task }, json === true, page);
    });
  const submission = new Option('-s, --submission <directory>', 'what the agent has left behind; it looks like the workdir of the task');
  return addNeededOption(command, submission);
}

const HELP = `
Exit codes:
  0    there is a verdict, whatever the reward
  1    a defect of Muster
  2    bad input: a task, submission, configuration or flag; or the verifier is broken
  3    the infrastructure failed: there is no reward, and the same command may succeed later
  130  interrupted

Example:
  muster verify tasks/sort --submission out/sort --json | jq .verdict.reward`;

async function verifyAndReport(
  verify: VerifySubmission,
  request: VerifyRequest,
  isJson: boolean,
  page: ReportFile | undefined,
): Promise<number> {
  return await runInterruptibly('interrupted before there was a verdict', async (signal) => {
    const taken = await verify(request, (stage) => announce(`${stage} …`), signal);
    await page?.write({ kind: 'verdict', submission: taken });
    await print(process.stdout, isJson ? formatJson(taken) : escapeUnprintable(`${formatTakenVerdict(taken).join('\n')}\n`));
    return getExitCode(taken);
  });
}

function getExitCode({ verdict: { problem } }: TakenVerdict): number {
  switch (problem?.kind) {
    case undefined:
      return EXIT_CODES.done;
    case 'infrastructure':
      return EXIT_CODES.infrastructure;
    case 'verifier':
      return EXIT_CODES.badInput;
  }
}

/** Lines of a failed stage's output that are shown. */
const SHOWN_LINES = 12;

/** Formats a verdict for people: the reward, each stage, and details of failed stages. */
function formatTakenVerdict({ task, seed, verdict }: TakenVerdict): readonly string[] {
  const { reward, problem, stages, components, evidence } = verdict;
  const failed = stages.find(({ outcome }) => outcome === 'failed' || outcome === 'infrastructure');
  return [
    reward === null ? `no reward: ${problem?.detail ?? 'unknown'}` : `reward ${Number(reward.toFixed(4))}`,
    '',
    ...alignColumns(stages.map(({ stage, outcome, detail }) => [stage, outcome, detail])),
    ...(components.length > 1
      ? ['', ...alignColumns(components.map(({ name, weight, score }) => [name, `weight ${weight}`, scoreText(score)]))]
      : []),
    ...(failed ? formatPrinted(evidence.filter(({ stage }) => stage === failed.stage)) : []),
    '',
    `task ${task.id}, step ${task.step}, ${task.digest}`,
    `seed ${seed}`,
  ];
}

function scoreText(score: number | null): string {
  return score === null ? 'not measured' : score.toFixed(4);
}

function formatPrinted(evidence: readonly Evidence[]): readonly string[] {
  const lines = listLastLines(evidence, SHOWN_LINES);
  return lines.length === 0 ? [] : ['', 'what it printed last (see --json for all):', ...lines.map((line) => `  ${line}`)];
}
