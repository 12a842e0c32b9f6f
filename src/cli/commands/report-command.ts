import { Command } from 'commander';
import type { ResultDocument } from '../../orchestrator/results/result-document.ts';
import { formatComparison } from '../lines/comparison-lines.ts';
import { formatNotice } from '../terminal/error-report.ts';
import { print } from '../terminal/output.ts';
import { formatRanking } from '../lines/ranking-lines.ts';
import { reportFile } from './report-file.ts';
import { formatSummary } from '../lines/summary-lines.ts';

/** `muster report` gets this from the composition root. @throws InputError when there is no summary at a path. */
export type ReadDocument = (paths: readonly string[]) => Promise<ResultDocument>;

interface ReportFlags {
  /** Path of the page. */
  readonly html?: string;
}

export function createReportCommand(readDocument: ReadDocument): Command {
  return new Command('report')
    .summary('show a result that was kept')
    .description('Prints the summary of results that --out or --json kept, or draws them as a page. Nothing is played.')
    .argument('<path...>', 'directories of --out, or files with what --json printed')
    .option('--html <file>', 'write a page to look at (HTML, in one file) instead')
    .addHelpText('after', HELP)
    .action(async (paths: readonly string[], flags: ReportFlags) => {
      const page = flags.html === undefined ? undefined : await reportFile(flags.html, '--html');
      const document = await readDocument(paths);
      if (page === undefined || flags.html === undefined) return print(process.stdout, `${readLines(document).join('\n')}\n`);
      await page.write(document);
      await print(process.stderr, formatNotice(`wrote ${flags.html}`));
    });
}

const HELP = `
Several evaluations are ranked. A comparison is reported alone.

Exit codes:
  0    done
  1    a defect of Muster
  2    bad input: no result at a path, or one of another version of Muster
  3    the page could not be written

Example:
  muster eval examples/game/cartpole.yaml --checkpoint examples/game/checkpoints/late.safetensors --out first
  muster report first --html first.html`;

function readLines(document: ResultDocument): readonly string[] {
  switch (document.kind) {
    case 'evaluation':
      return formatEvaluationLines(document.summary);
    case 'evaluations':
      return [...document.summaries.flatMap(formatEvaluationLines), ...formatRanking(document.summaries)];
    case 'comparison':
      return formatComparison(document.comparison, document.comparison.official.suite.name, false);
  }
}

function formatEvaluationLines(summary: Parameters<typeof formatSummary>[0]): readonly string[] {
  return formatSummary(summary, `${summary.official.suite.name} · ${summary.checkpoint.uri}`, false);
}
