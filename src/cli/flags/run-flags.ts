import type { Command } from 'commander';
import { parseWholeNumber } from './flag-values.ts';

/** Flags of every command about a suite. */
export interface SuiteFlags {
  readonly sandboxes?: number;
  readonly json?: true;
  /** Path of a configuration file. */
  readonly config?: string;
}

/** Flags of the commands that play episodes. */
export interface RunFlags extends SuiteFlags {
  /** Directory for summary, episodes and configuration. */
  readonly out?: string;
  /** Path of an HTML file. */
  readonly report?: string;
}

export function addSuiteFlags(command: Command): Command {
  return command
    .option('-n, --sandboxes <count>', 'most sandboxes at a time', parseWholeNumber)
    .option('--config <file>', 'configuration file (default: config/default.yaml alone)')
    .option('--json', 'print exactly one JSON document on stdout');
}

export function addRunFlags(command: Command): Command {
  return addSuiteFlags(command)
    .option(
      '-o, --out <directory>',
      'keep summary, episodes and configuration in a directory: a new one, or that of the same run, which goes on if it was interrupted',
    )
    .option('--report <file>', 'write a page to look at (HTML, in one file)');
}
