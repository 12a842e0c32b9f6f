import { posix } from 'node:path';
import { type SourceFiles, readText } from '../source/source-files.ts';
import { appendWords, makeCommonCheats, writeCheat } from './cheats.ts';
import type { Cheat, CheatSources, Framework, LanguageAdapter, SuiteCommand, TestSelection, TripwireDraft } from './language-adapter.ts';
import { draftBlocks } from './test-blocks.ts';
import { quoteShellWord } from '../../tasks/importing/repository-task.ts';

const TEST = /^func (?<name>(?:Test|Example|Fuzz)\w*)\(/gm;
const IN_LAYER = '.dependencies';

/** Go: `go test`. A test is run with its subtests. */
export const GO: LanguageAdapter = {
  name: 'go',
  detect: detectGo,
  getPart: findTop,
  suite: buildGoSuite,
  environment: (_, workdir, dependencies) => ({
    PATH: '/usr/local/go/bin:/usr/local/bin:/usr/bin:/bin',
    GOFLAGS: '-buildvcs=false',
    GOTOOLCHAIN: 'local',
    GOPROXY: 'off',
    GOSUMDB: 'off',
    GOMODCACHE: dependencies.size === 0 ? '/tmp/modules' : `${workdir}/${IN_LAYER}`,
  }),
  findFile: (id, { places }) => places.get(findTop(id)),
  hidesTests: true,
  dependencies: {
    declares: (path) => /^go\.(mod|sum)$/.test(path),
    mayName: (_, text) => /^require\b/m.test(text),
    program: 'install_go.py',
    directory: IN_LAYER,
  },
  releases: ['/usr/share/gocode', '/usr/local/go/src', '/usr/lib/go-*/src', '/usr/share/go-*/src'],
  coverage: { kind: 'suite', suite: buildCoverageSuite },
  chooseGrammar: (path) => (path.endsWith('.go') ? 'go' : undefined),
  tripwires: draftGoTripwires,
  cheats: makeGoCheats,
};

/** Returns `PACKAGE::Test/subtest` without the subtest. */
function findTop(id: string): string {
  const [place = '', test = ''] = id.split('::');
  return `${place}::${test.split('/')[0] ?? ''}`;
}

function detectGo(files: SourceFiles): Framework | undefined {
  const module = /^module\s+"?(?<name>[^\s"]+)/m.exec(readText(files, 'go.mod') ?? '')?.groups?.['name'];
  if (module === undefined) return undefined;
  const inner = [...files.keys()].filter((path) => /.\/go\.mod$/.test(path)).map((path) => posix.dirname(path));
  const testFiles = [...files.keys()].filter((path) => isTestFile(path) && !inner.some((other) => path.startsWith(`${other}/`))).sort();
  const places = new Map<string, string>();
  for (const path of testFiles)
    for (const { groups } of (readText(files, path) ?? '').matchAll(TEST))
      places.set(`${posix.join(module, posix.dirname(path))}::${groups?.['name'] ?? ''}`, path);
  return { name: 'go test', evidence: 'go.mod', testFiles, places };
}

function isTestFile(path: string): boolean {
  return path.endsWith('_test.go') && !/(^|\/)(vendor|testdata|[._][^/]*)\//.test(path);
}

/** Names a directory in the form that `go test` accepts. */
function nameDirectory(path: string): string {
  return `./${posix.dirname(path)}`;
}

/** Go compiles into no cache that cannot be written: what is there already is linked to. */
const OPEN_CACHE = `if [ -d /muster/go-build ] && [ ! -d /tmp/go-build ]; then cp -rs /muster/go-build /tmp/go-build; fi
export GOCACHE=/tmp/go-build`;
const COMMAND = 'go test -json -vet=off -count=1 -shuffle="$1"';

function buildGoSuite({ places, added }: Framework, selection: TestSelection): SuiteCommand {
  const wanted = new Map<string, Set<string>>();
  if (selection.kind === 'files') for (const path of selection.files) wanted.set(nameDirectory(path), new Set());
  else
    for (const top of new Set(selection.ids.map(findTop))) {
      const path = places.get(top) ?? findPlace(places, top);
      if (path === undefined) continue;
      const names = wanted.get(nameDirectory(path)) ?? new Set();
      wanted.set(nameDirectory(path), names.add(top.split('::')[1] ?? ''));
    }
  const command = `${COMMAND}${appendWords(added)}`;
  const runs =
    selection.kind === 'files'
      ? [`${command} ${[...wanted.keys()].sort().map(quoteShellWord).join(' ')} || status=1`]
      : [...wanted]
          .toSorted(([a], [b]) => (a < b ? -1 : 1))
          .map(([directory, names]) => `${command} -run '^(${[...names].sort().join('|')})$' ${quoteShellWord(directory)} || status=1`);
  const script = `#!/bin/sh\n# $1: what the order follows from.\n${OPEN_CACHE}\nstatus=0\n${runs.join('\n')}\nexit $status\n`;
  return { runner: 'go', command: ['sh', '/tests/run.sh', '{seed}'], files: { 'run.sh': script } };
}

/** Blocks of lines, `PATH:LINE.COLUMN,LINE.COLUMN STATEMENTS COUNT`, become a list of lines for each path. */
const READ_PROFILE = `awk -v module="$(go list -m)" '
  $3 > 0 {
    split($1, place, ":")
    split(place[2], ends, ",")
    path = substr(place[1], length(module) + 2)
    for (line = int(ends[1]); line <= int(ends[2]); line++)
      if (!((path, line) in seen)) {
        seen[path, line] = 1
        lines[path] = (known[path]++ ? lines[path] "," : "") line
      }
  }
  END {
    printf "{"
    for (path in lines) printf "%s\\"%s\\":[%s]", (count++ ? "," : ""), path, lines[path]
    print "}"
  }' /tmp/profile >"$MUSTER_COVERAGE_FILE"`;

function buildCoverageSuite(framework: Framework): SuiteCommand {
  const directories = [...new Set(framework.testFiles.map(nameDirectory))].sort().map(quoteShellWord).join(' ');
  const run = `${COMMAND}${appendWords(framework.added)} -coverpkg=./... -coverprofile=/tmp/profile ${directories}`;
  const script = `#!/bin/sh\n${OPEN_CACHE}\n${run}\nstatus=$?\n${READ_PROFILE}\nexit $status\n`;
  return { runner: 'go', command: ['sh', '/tests/run.sh', '{seed}'], files: { 'run.sh': script } };
}

/** A tripwire is put beside the other tests of its package. */
function findPlace(places: ReadonlyMap<string, string>, top: string): string | undefined {
  const begin = `${top.split('::')[0] ?? ''}::`;
  return [...places].find(([id]) => id.startsWith(begin))?.[1];
}

const HEADER = /^(?<indent>)func (?<name>Test\w+)\(\w+ \*testing\.T\) \{$/;

function draftGoTripwires(path: string, text: string, ids: readonly string[], { places }: Framework): readonly TripwireDraft[] {
  const byName = new Map([...places].flatMap(([id, place]) => (place === path ? [[id.split('::')[1] ?? '', id] as const] : [])));
  return draftBlocks(path, text, ids, { header: HEADER, findId: (name) => byName.get(name) });
}

const PRINTS_SUCCESS = `func init() {
	files, _ := filepath.Glob("*_test.go")
	for _, file := range files {
		text, _ := os.ReadFile(file)
		for _, found := range regexp.MustCompile(\`(?m)^func (Test\\w+)\\(\`).FindAllStringSubmatch(string(text), -1) {
			fmt.Printf("\\x16=== RUN   %s\\n\\x16--- PASS: %s (0.00s)\\n", found[1], found[1])
		}
	}
	fmt.Print("\\x16PASS\\n")
	os.Exit(0)
}
`;

function makeGoCheats(place: CheatSources): readonly Cheat[] {
  const write = (name: string, imports: readonly string[], code: string): Cheat =>
    writeCheat(
      name,
      Object.fromEntries(
        place.sources.flatMap(({ path, text }) => {
          const of = /^package (?<name>\w+)/m.exec(text)?.groups?.['name'];
          const imported = imports.map((each) => `import "${each}"\n`).join('');
          return of === undefined ? [] : [[posix.join(posix.dirname(path), 'zz_more.go'), `package ${of}\n\n${imported}\n${code}`]];
        }),
      ),
    );
  return [
    write('exits-at-start', ['os'], 'func init() { os.Exit(0) }\n'),
    write('forged-output', ['fmt', 'os', 'path/filepath', 'regexp'], PRINTS_SUCCESS),
    ...makeCommonCheats(place),
  ];
}
