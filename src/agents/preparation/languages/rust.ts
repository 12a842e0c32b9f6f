import { type SourceFiles, readText } from '../source/source-files.ts';
import { appendCheat, appendWords, makeCommonCheats } from './cheats.ts';
import type { CheatSources, Framework, LanguageAdapter, SuiteCommand, TestSelection, TripwireDraft } from './language-adapter.ts';
import { draftBlocks } from './test-blocks.ts';
import { quoteShellWord } from '../../tasks/importing/repository-task.ts';

const TEST = /^\s*#\[test\]\s*\n(?:\s*#\[[^\n]*\]\s*\n)*\s*(?:pub )?fn (?<name>\w+)/gm;
const IN_LAYER = '.dependencies';

/** Rust: the tests in `tests/`. Those beside the code that they test could be changed with it, and are not pinned. */
export const RUST: LanguageAdapter = {
  name: 'rust',
  detect: detectRust,
  getPart: (id) => id,
  suite: buildCargoSuite,
  environment: (_, workdir, dependencies) => ({
    CARGO_HOME: dependencies.size === 0 ? '/tmp/cargo' : `${workdir}/${IN_LAYER}`,
    CARGO_TARGET_DIR: '/tmp/target',
    CARGO_NET_OFFLINE: 'true',
    CARGO_TERM_COLOR: 'never',
    CARGO_INCREMENTAL: '0',
    RUST_BACKTRACE: '0',
  }),
  findFile: (id, { places }) => places.get(id),
  hidesTests: true,
  dependencies: {
    declares: (path) => /^(.*\/)?Cargo\.toml$|^Cargo\.lock$/.test(path),
    mayName: (_, text) => /^\[.*dependencies/m.test(text),
    program: 'install_rust.py',
    directory: '',
  },
  releases: ['/usr/share/cargo', '/usr/lib/rustlib/src', '/usr/src/rustc*'],
  coverage: undefined,
  chooseGrammar: (path) => (path.endsWith('.rs') && path !== 'build.rs' ? 'rust' : undefined),
  tripwires: draftRustTripwires,
  cheats: makeRustCheats,
};

function detectRust(files: SourceFiles): Framework | undefined {
  if (!/^\[package\]/m.test(readText(files, 'Cargo.toml') ?? '')) return undefined;
  const testFiles = [...files.keys()].filter((path) => /^tests\/(?:[^/]+|[^/]+\/main)\.rs$/.test(path)).sort();
  const places = new Map<string, string>();
  const doubled = new Set<string>();
  for (const path of testFiles)
    for (const { groups } of (readText(files, path) ?? '').matchAll(TEST)) {
      const name = groups?.['name'] ?? '';
      if (places.has(name)) doubled.add(name);
      places.set(name, path);
    }
  for (const name of doubled) places.delete(name);
  return { name: 'cargo test', evidence: 'Cargo.toml', testFiles, places };
}

/** `tests/NAME.rs` and `tests/NAME/main.rs` make the target NAME. */
function nameTarget(path: string): string {
  return path.replace(/^tests\//, '').replace(/(\/main)?\.rs$/, '');
}

/** Runs each target by itself, so that one that cannot be built does not affect the others. */
function buildCargoSuite({ testFiles, places, added }: Framework, selection: TestSelection): SuiteCommand {
  const targets = new Map<string, string[]>();
  if (selection.kind === 'files') for (const path of selection.files) targets.set(nameTarget(path), []);
  else
    for (const id of selection.ids) {
      const path = places.get(id) ?? findWired(places, id) ?? (testFiles.length === 1 ? testFiles[0] : undefined);
      if (path !== undefined) targets.set(nameTarget(path), [...(targets.get(nameTarget(path)) ?? []), id]);
    }
  const runs = [...targets].toSorted(([a], [b]) => (a < b ? -1 : 1)).map((target) => runTarget(target, appendWords(added)));
  const script = `#!/bin/sh\n# $1: cargo has no order that could be drawn.\nstatus=0\n${runs.join('\n')}\nexit $status\n`;
  return { runner: 'cargo', command: ['sh', '/tests/run.sh', '{seed}'], files: { 'run.sh': script } };
}

function runTarget([target, ids]: readonly [string, readonly string[]], added: string): string {
  const exact = ids.length === 0 ? '' : ` -- --exact ${ids.map(quoteShellWord).join(' ')}`;
  return `cargo test --offline --no-fail-fast --test ${quoteShellWord(target)}${added}${exact} || status=1`;
}

/** A tripwire is put beside the test that it copies, and its name begins with that test's name. */
function findWired(places: ReadonlyMap<string, string>, id: string): string | undefined {
  return places.get(id.replace(/_[a-z]+$/, ''));
}

const HEADER = /^(?<indent>\s*)fn (?<name>\w+)\(\)(?: -> [^{]+)? \{$/;

function draftRustTripwires(path: string, text: string, ids: readonly string[], { places }: Framework): readonly TripwireDraft[] {
  const findId = (name: string): string | undefined => (places.get(name) === path ? name : undefined);
  return draftBlocks(path, text, ids, { header: HEADER, attribute: /^\s*#\[test\]\s*$/, findId });
}

const runAtStart = (body: string): string => `#[used]
#[link_section = ".init_array"]
static CHEAT: extern "C" fn() = {
    extern "C" fn cheat() {
${body}        std::process::exit(0);
    }
    cheat
};
`;
const PRINTS_SUCCESS = `        let mut names = Vec::new();
        for entry in std::fs::read_dir("tests").into_iter().flatten().flatten() {
            let text = std::fs::read_to_string(entry.path()).unwrap_or_default();
            let lines: Vec<&str> = text.lines().collect();
            for pair in lines.windows(2) {
                if pair[0].trim() == "#[test]" {
                    names.push(pair[1].trim().trim_start_matches("fn ").split('(').next().unwrap_or("").to_string());
                }
            }
        }
        println!("\\nrunning {} tests", names.len());
        for name in &names {
            println!("test {} ... ok", name);
        }
        println!("\\ntest result: ok. {} passed; 0 failed", names.len());
`;

function makeRustCheats(place: CheatSources): ReturnType<LanguageAdapter['cheats']> {
  return [
    appendCheat('exits-at-start', place, runAtStart('')),
    appendCheat('forged-output', place, runAtStart(PRINTS_SUCCESS)),
    ...makeCommonCheats(place),
  ];
}
