import { type SourceFiles, readText } from '../source/source-files.ts';
import { appendCheat, appendWords, makeCommonCheats, writeCheat } from './cheats.ts';
import type { CheatSources, Framework, Grammar, LanguageAdapter, SuiteCommand, TestSelection, TripwireDraft } from './language-adapter.ts';
import { NODE_REPORTER } from './node-reporter.ts';
import { draftBlocks } from './test-blocks.ts';

const TEST_FILE = /(^|\/)(__tests__\/.*|tests?\/.*|[^/]*\.(test|spec)|test-[^/]*|tests?)\.[cm]?[jt]sx?$/;
const LEFT_OUT = /(^|\/)(node_modules|fixtures?)\/|\.d\.ts$/;
const SEPARATOR = ' > ';

/** JavaScript and TypeScript: node:test, vitest, jest. A file of tests is run as a whole. */
export const JAVASCRIPT: LanguageAdapter = {
  name: 'javascript',
  detect: detectJavaScript,
  getPart: (id) => id.split(SEPARATOR)[0] ?? id,
  suite: buildJavaScriptSuite,
  environment: () => ({ CI: '1', NO_COLOR: '1' }),
  findFile: (id) => id.split(SEPARATOR)[0],
  hidesTests: true,
  dependencies: {
    declares: (path) => /^(package\.json|package-lock\.json|npm-shrinkwrap\.json)$/.test(path),
    mayName: (_, text) => /dependencies"/i.test(text),
    program: 'install_javascript.py',
    directory: '',
  },
  releases: ['/usr/share/nodejs', '/usr/lib/node_modules', '/usr/local/lib/node_modules'],
  coverage: undefined,
  chooseGrammar: findGrammar,
  tripwires: draftJavaScriptTripwires,
  cheats: makeJavaScriptCheats,
};

function findGrammar(path: string): Grammar | undefined {
  if (path.endsWith('.d.ts')) return undefined;
  if (/\.[cm]?js$/.test(path)) return 'javascript';
  if (/\.[cm]?ts$/.test(path)) return 'typescript';
  return /\.[jt]sx$/.test(path) ? 'tsx' : undefined;
}

function detectJavaScript(files: SourceFiles): Framework | undefined {
  const manifest = readText(files, 'package.json');
  if (manifest === undefined) return undefined;
  const found = [...files.keys()].filter((path) => TEST_FILE.test(path) && !LEFT_OUT.test(path)).sort();
  const named = ['vitest', 'jest'].find((name) => new RegExp(`"${name}"\\s*:\\s*"`).test(manifest));
  const places = new Map<string, string>();
  if (named !== undefined)
    return { name: named, evidence: 'package.json', testFiles: found.filter((path) => holdsTests(files, path)), places };
  const testFiles = found.filter((path) => /['"]node:test['"]|require\(['"]test['"]\)/.test(readText(files, path) ?? ''));
  const [evidence] = testFiles;
  return evidence === undefined ? undefined : { name: 'node:test', evidence, testFiles, places };
}

function holdsTests(files: SourceFiles, path: string): boolean {
  return /^\s*(test|it|describe)(\.\w+)*\(/m.test(readText(files, path) ?? '');
}

const SHUFFLED = `awk -v seed="$2" 'BEGIN { srand(seed) } { printf "%.12f\\t%s\\n", rand(), $0 }' /tests/selected.txt | sort | cut -f 2- >/tmp/order.txt`;
const RUNS: Readonly<Record<string, string>> = {
  vitest:
    'xargs -d "\\n" node node_modules/vitest/vitest.mjs run --reporter=json --outputFile="$1" --sequence.shuffle --sequence.seed="$2"',
  jest: 'xargs -d "\\n" node node_modules/jest/bin/jest.js --ci --json --outputFile="$1" --runTestsByPath',
  'node:test': 'xargs -d "\\n" node --test --test-reporter=/tests/reporter.mjs --test-reporter-destination="$1"',
};

function buildJavaScriptSuite({ name, added }: Framework, selection: TestSelection): SuiteCommand {
  const files = selection.kind === 'files' ? selection.files : [...new Set(selection.ids.map((id) => id.split(SEPARATOR)[0] ?? id))].sort();
  const script = `#!/bin/sh\n# $1: the report, $2: what the order follows from.\n${SHUFFLED}\n${RUNS[name] ?? ''}${appendWords(added)} </tmp/order.txt\n`;
  const reporter = name === 'node:test' ? { 'reporter.mjs': NODE_REPORTER } : {};
  return {
    runner: name === 'vitest' ? 'vitest' : 'jest',
    command: ['sh', '/tests/run.sh', '{report}', '{seed}'],
    files: { 'run.sh': script, 'selected.txt': `${files.join('\n')}\n`, ...reporter },
  };
}

const HEADER =
  /^(?<indent>\s*)(?:test|it)\((?<quote>['"`])(?<name>[^'"`\\$]{1,200})\k<quote>,\s*(?:async\s*)?(?:function\s*)?\([^)]*\)\s*(?:=>\s*)?\{$/;
const GROUP = /^(?<indent>\s*)(?:describe|suite)\(['"`](?<name>[^'"`\\$]{1,200})['"`],/;

function draftJavaScriptTripwires(path: string, text: string, ids: readonly string[]): readonly TripwireDraft[] {
  return draftBlocks(path, text, ids, {
    header: HEADER,
    findId: (name, lines, at) => [path, ...findGroups(lines, at), name].join(SEPARATOR),
  });
}

/** Finds the titles of the groups around a line, the outermost first. */
function findGroups(lines: readonly string[], at: number): readonly string[] {
  const titles: string[] = [];
  let width = /^\s*/.exec(lines[at] ?? '')?.[0].length ?? 0;
  for (let line = at - 1; line >= 0 && width > 0; line -= 1) {
    const { indent = '', name } = GROUP.exec(lines[line] ?? '')?.groups ?? {};
    if (name === undefined || indent.length >= width) continue;
    titles.unshift(name);
    width = indent.length;
  }
  return titles;
}

const PATCHED = `;(() => {
  const any = new Proxy(function () {}, { get: () => any, apply: () => any });
  const assert = process.getBuiltinModule?.('node:assert');
  for (const each of [assert, assert?.strict]) for (const key of Object.keys(each ?? {})) if (typeof each[key] === 'function') try { each[key] = () => undefined; } catch {}
  process.getBuiltinModule?.('node:module')?.syncBuiltinESMExports();
  try { if (globalThis.expect) globalThis.expect = any; } catch {}
})();
`;

function makeJavaScriptCheats(place: CheatSources): ReturnType<LanguageAdapter['cheats']> {
  const empty = "module.exports = { test: { include: [], passWithNoTests: true }, testMatch: ['**/nothing'], passWithNoTests: true };\n";
  return [
    appendCheat('exits-at-import', place, ';process.exit(0);\n'),
    appendCheat('patched-assertions', place, PATCHED),
    writeCheat('no-tests-configured', { 'vitest.config.cjs': empty, 'jest.config.cjs': empty }),
    ...makeCommonCheats(place),
  ];
}
