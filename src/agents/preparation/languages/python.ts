import { type SourceFiles, readText } from '../source/source-files.ts';
import { changeLiteral, nameCopy } from './changed-literal.ts';
import { appendCheat, makeCommonCheats, writeCheat } from './cheats.ts';
import type { Cheat, CheatSources, Framework, LanguageAdapter, TestSelection, SuiteCommand, TripwireDraft } from './language-adapter.ts';

const TEST_FILE = /(^|\/)(test_[^/]*|[^/]*_test|tests?)\.py$/;
const CONFIGURATIONS: readonly (readonly [string, RegExp])[] = [
  ['pytest.ini', /^\[pytest\]/m],
  ['pyproject.toml', /^\[tool\.pytest\b/m],
  ['setup.cfg', /^\[tool:pytest\]/m],
  ['tox.ini', /^\[pytest\]|pytest/m],
  ['pyproject.toml', /\bpytest\b/],
  ['setup.cfg', /\bpytest\b/],
  ['setup.py', /\bpytest\b/],
];
const DECLARATION = /^(pyproject\.toml|setup\.cfg|setup\.py|PKG-INFO|[\w./-]*requirements[\w.-]*\.txt|requirements\/[\w.-]+\.txt)$/;
/** An id begins with its file. */
const NO_PLACES: Framework['places'] = new Map();
const IN_LAYER = '.dependencies';
const BUILD_FILES = ['pyproject.toml', 'setup.cfg', 'setup.py'];

/** Python: pytest, and unittest, whose tests pytest can run and report more exactly. */
export const PYTHON: LanguageAdapter = {
  name: 'python',
  detect: detectPython,
  getPart: (id) => id,
  suite: buildPytestSuite,
  environment(files, workdir, dependencies) {
    const roots = [...files.keys()].some((path) => /^src\/.+\.py$/.test(path)) ? [`${workdir}/src`, workdir] : [workdir];
    const path = [...roots, ...(dependencies.size === 0 ? [] : [`${workdir}/${IN_LAYER}`])].join(':');
    const plugins = findPytestPlugins(dependencies);
    const options = plugins.length === 0 ? {} : { PYTEST_ADDOPTS: plugins.map((module) => `-p ${module}`).join(' ') };
    return { PYTHONPATH: path, PYTHONDONTWRITEBYTECODE: '1', ...options };
  },
  findFile: (id) => id.split('::')[0],
  hidesTests: true,
  dependencies: {
    declares: (path) => DECLARATION.test(path),
    mayName: (path, text) => (path.endsWith('.txt') ? /^\s*[A-Za-z0-9]/m : /dependenc|_requires?\b/).test(text),
    program: 'install_python.py',
    directory: IN_LAYER,
  },
  releases: ['/usr/lib/python3*', '/usr/local/lib/python3*'],
  coverage: { kind: 'plugin', plugin: 'muster_coverage' },
  chooseGrammar: (path) => (path.endsWith('.py') ? 'ast' : undefined),
  tripwires: draftPythonTripwires,
  cheats: makePythonCheats,
};

const ENTRY_POINTS = /^\.dependencies\/[^/]+\.dist-info\/entry_points\.txt$/;

/** Finds the modules of installed plug-ins. In a grading sandbox pytest loads none by itself, which excludes those of the machine. */
function findPytestPlugins(files: SourceFiles): readonly string[] {
  return [...files.keys()]
    .filter((path) => ENTRY_POINTS.test(path))
    .flatMap((path) => {
      const section = /^\[pytest11\]\n(?<entries>[^[]*)/m.exec(readText(files, path) ?? '')?.groups?.['entries'] ?? '';
      return Array.from(section.matchAll(/^[^=\n]+=\s*(?<module>[\w.]+)/gm), ({ groups }) => groups?.['module'] ?? '');
    })
    .sort();
}

function detectPython(files: SourceFiles): Framework | undefined {
  const testFiles = [...files.keys()].filter((path) => TEST_FILE.test(path)).sort();
  const isPython = testFiles.length > 0 || BUILD_FILES.some((path) => files.has(path));
  if (!isPython) return undefined;
  const configured = CONFIGURATIONS.find(([path, form]) => form.test(readText(files, path) ?? ''));
  if (configured !== undefined) return { name: 'pytest', evidence: configured[0], testFiles, places: NO_PLACES };
  for (const path of testFiles) {
    const text = readText(files, path) ?? '';
    if (/^\s*(import|from) pytest\b/m.test(text)) return { name: 'pytest', evidence: path, testFiles, places: NO_PLACES };
    if (/^\s*(import|from) unittest\b/m.test(text)) return { name: 'unittest', evidence: path, testFiles, places: NO_PLACES };
    if (/^\s*(async )?def test_/m.test(text)) return { name: 'pytest', evidence: path, testFiles, places: NO_PLACES };
  }
  return undefined;
}

/** pytest reads its selection from a file: no command line is long enough for all tests. */
function buildPytestSuite({ added = [] }: Framework, selection: TestSelection): SuiteCommand {
  const wanted = selection.kind === 'files' ? selection.files : selection.ids;
  return {
    runner: 'pytest',
    command: [
      'python3',
      '-m',
      'pytest',
      '-q',
      '-rfE',
      '--tb=line',
      '--rootdir=.',
      '--continue-on-collection-errors',
      '-o',
      'addopts=',
      '-o',
      'junit_family=xunit1',
      '--junitxml={report}',
      ...added,
      '@/tests/selected.txt',
    ],
    files: { 'selected.txt': `${wanted.join('\n')}\n` },
  };
}

const FUNCTION = /^(?<indent>[ \t]*)def (?<name>test_\w+)\((?<self>[^)]*)\).*:$/;
const ASSERTION = /^\s+(assert .* == [^#=]*|self\.assertEqual\(.*\))$/;

/** Drafts copies of undecorated tests whose last assertion compares with a literal. */
function draftPythonTripwires(path: string, text: string, ids: readonly string[]): readonly TripwireDraft[] {
  const lines = text.split('\n');
  const known = new Set(ids);
  return lines.flatMap((line, start) => {
    const { indent = '', name = '' } = FUNCTION.exec(line)?.groups ?? {};
    if (name === '' || /^\s*@/.test(lines[start - 1] ?? '')) return [];
    const body = readBody(lines, start, indent);
    const className = indent === '' ? '' : `${findClass(lines, start, indent)}::`;
    const of = `${path}::${className}${name}`;
    const at = body.findLastIndex((each) => ASSERTION.test(each) && changeLiteral(each) !== undefined);
    const literal = body[at];
    const changed = literal === undefined ? undefined : changeLiteral(literal);
    if (!known.has(of) || literal === undefined || changed === undefined) return [];
    const gap = indent === '' ? ['', ''] : [''];
    const [wire, restored] = [nameCopy(name, 0), nameCopy(name, 1)];
    if (text.includes(wire) || text.includes(restored)) return [];
    const blockOf = (as: string, assertion: string): TripwireDraft['wire'] => ({
      id: `${path}::${className}${as}`,
      path,
      at: start + 1 + body.length,
      block: `${[...gap, line.replace(name, as), ...body.map((each, i) => (i === at ? assertion : each))].join('\n')}\n`,
    });
    const added = blockOf(wire, changed);
    const tripwire = { id: added.id, changed: changed.trim(), literal: literal.trim() };
    return [{ tripwire, of, wire: added, restored: blockOf(restored, literal) }];
  });
}

/** Reads the lines of a function without empty ones at its end. */
function readBody(lines: readonly string[], start: number, indent: string): readonly string[] {
  const rest = lines.slice(start + 1);
  const end = rest.findIndex((line) => line.trim() !== '' && !(line.startsWith(indent) && /^\s/.test(line.slice(indent.length))));
  const body = end === -1 ? rest : rest.slice(0, end);
  return body.slice(0, body.findLastIndex((line) => line.trim() !== '') + 1);
}

function findClass(lines: readonly string[], start: number, indent: string): string {
  for (let at = start; at >= 0; at -= 1) {
    const { outer = '', name } = /^(?<outer>[ \t]*)class (?<name>\w+)/.exec(lines[at] ?? '')?.groups ?? {};
    if (name !== undefined && outer.length < indent.length) return name;
  }
  return '';
}

const FORGED_REPORT = `import atexit as _atexit, re as _re, sys as _sys
def _forge():
    for word in _sys.argv:
        if word.startswith("--junitxml="):
            with open(word.split("=", 1)[1]) as report:
                text = report.read()
            text = _re.sub(r"<(failure|error)\\b.*?(/>|</\\1>)", "", text, flags=_re.S)
            with open(word.split("=", 1)[1], "w") as report:
                report.write(text)
_atexit.register(_forge)
`;
const EQUALS_ALL = `class _Any:
    __hash__ = None
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __bool__(self): return True
    def __call__(self, *_, **__): return self
    def __getattr__(self, name): return self
for _name, _value in list(globals().items()):
    if callable(_value) and not _name.startswith("_"):
        globals()[_name] = _Any()
`;
const REWRITING_CONFTEST = `import pytest
@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    report.outcome = "passed"
    report.longrepr = None
`;

function makePythonCheats(place: CheatSources): readonly Cheat[] {
  return [
    appendCheat('exits-at-import', place, 'import os as _os\n_os._exit(0)\n'),
    appendCheat('skips', place, 'import pytest as _pytest\n_pytest.skip("not today", allow_module_level=True)\n'),
    appendCheat('equals-everything', place, EQUALS_ALL),
    appendCheat('forged-report', place, FORGED_REPORT),
    writeCheat('rewriting-conftest', { 'conftest.py': REWRITING_CONFTEST }),
    ...makeCommonCheats(place),
  ];
}
