import { dirname, resolve } from 'node:path';
import { readSuiteFile } from '../../adapters/files/suite-file.ts';
import {
  inlineSuite,
  parseSuite,
  withChanges,
  withStop,
  type StopOverride,
  type SuiteChanges,
} from '../../orchestrator/suite/suite-definition.ts';
import type { ParsedSuite } from '../../orchestrator/suite/suite.ts';

export interface SuiteInput {
  /** Path of a suite file, or a suite as its file would have it. */
  readonly suite: string | object;
  /** In place of the suite's own. */
  readonly stop?: StopOverride;
  readonly changes?: SuiteChanges;
}

export interface ReadSuite {
  readonly parsed: ParsedSuite;
  /** Absolute path of the modules that it ships, if it does. */
  readonly directory: string | undefined;
}

/** Reads and checks a suite, but for its modules. Part of the composition root. @throws InputError when it is wrong. */
export async function readSuite({ suite, stop, changes = {} }: SuiteInput): Promise<ReadSuite> {
  const written = typeof suite === 'string' ? await readSuiteFile(suite) : inlineSuite(suite);
  const parsed = parseSuite(withChanges(stop ? withStop(written, stop) : written, changes));
  const base = typeof suite === 'string' ? dirname(resolve(suite)) : process.cwd();
  return { parsed, directory: parsed.files === undefined ? undefined : resolve(base, parsed.files) };
}
