import type { FilesByPath } from '../../support/grading-fixture.ts';

/** The runner of a test suite, with a task for it. */
interface Runner {
  readonly name: string;
  readonly muster: string;
  readonly files: FilesByPath;
  readonly right: FilesByPath;
  readonly wrong: FilesByPath;
}

const c = (sum: string): FilesByPath => ({ 'sum.c': `int sum(int a, int b) { return ${sum}; }\n` });
export const python = (sum: string): FilesByPath => ({ 'sums.py': `def add(a, b):\n    return ${sum}\n` });
const javascript = (sum: string): FilesByPath => ({ 'sum.js': `export const add = (a, b) => ${sum};\n` });
const commonJs = (sum: string): FilesByPath => ({ 'sum.js': `exports.add = (a, b) => ${sum};\n` });
const rust = (sum: string): FilesByPath => ({ 'src/lib.rs': `pub fn add(a: i64, b: i64) -> i64 { ${sum} }\n` });
const go = (sum: string): FilesByPath => ({ 'sum.go': `package sum\n\nfunc Add(a, b int) int { return ${sum} }\n` });

/** The same tests for each runner: one that fails at first, one that passes all along, and a tripwire. */
export const RUNNERS: readonly Runner[] = [
  {
    name: 'pytest',
    muster: `runner = "pytest"
command = ["python3", "-m", "pytest", "-q", "-o", "junit_family=xunit1", "--junitxml={report}"]
overlay = "package"
failToPass = ["tests/test_sums.py::test_add[1-2-3]"]
passToPass = ["tests/test_sums.py::TestZero::test_zero"]
tripwires = [{ id = "tests/test_sums.py::test_add[2-2-5]", file = "package/tests/test_sums.py", changed = "(2, 2, 5)", literal = "(2, 2, 4)" }]`,
    files: {
      'tests/package/tests/test_sums.py':
        'import pytest\nfrom sums import add\n\n@pytest.mark.parametrize("a,b,c", [(1, 2, 3), (2, 2, 5)])\ndef test_add(a, b, c):\n    assert add(a, b) == c\n\nclass TestZero:\n    def test_zero(self):\n        assert add(0, 0) == 0\n',
    },
    right: python('a + b'),
    wrong: python('a - b'),
  },
  {
    name: 'unittest',
    muster: `runner = "unittest"
command = ["python3", "-m", "unittest", "-v", "{tests}"]
failToPass = ["test_sums.Sums.test_add"]
passToPass = ["test_sums.Sums.test_zero"]
tripwires = [{ id = "test_sums.Sums.test_more", file = "test_sums.py", changed = "5)", literal = "4)" }]`,
    files: {
      'tests/test_sums.py':
        'import unittest\nfrom sums import add\n\nclass Sums(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(add(1, 2), 3)\n    def test_zero(self):\n        self.assertEqual(add(0, 0), 0)\n    def test_more(self):\n        self.assertEqual(add(2, 2), 5)\n',
    },
    right: python('a + b'),
    wrong: python('a - b'),
  },
  {
    name: 'go',
    muster: `runner = "go"
command = ["sh", "-c", "GOCACHE=/tmp/cache GOPATH=/tmp/go GOTOOLCHAIN=local GOFLAGS=-mod=mod CGO_ENABLED=0 go test -vet=off -p 1 -json -shuffle={seed} ./..."]
overlay = "package"
failToPass = ["example.com/sum::TestAdd"]
passToPass = ["example.com/sum::TestZero"]
tripwires = [{ id = "example.com/sum::TestMore", file = "package/sum_test.go", changed = "!= 5", literal = "!= 4" }]`,
    files: {
      'environment/go.mod': 'module example.com/sum\n\ngo 1.20\n',
      'tests/package/sum_test.go':
        'package sum\n\nimport "testing"\n\nfunc TestAdd(t *testing.T) {\n\tif Add(1, 2) != 3 {\n\t\tt.Fatal("add")\n\t}\n}\n\nfunc TestZero(t *testing.T) {\n\tif Add(0, 0) != 0 {\n\t\tt.Fatal("zero")\n\t}\n}\n\nfunc TestMore(t *testing.T) {\n\tif Add(2, 2) != 5 {\n\t\tt.Fatal("more")\n\t}\n}\n',
    },
    right: go('a + b'),
    wrong: go('a - b'),
  },
  {
    name: 'cargo',
    muster: `runner = "cargo"
command = ["sh", "-c", "RUSTC_BOOTSTRAP=1 CARGO_HOME=/tmp/cargo CARGO_TARGET_DIR=/tmp/target PATH=/opt/rust/bin:/usr/bin:/bin cargo test --offline --tests -- -Z unstable-options --shuffle-seed {seed}"]
overlay = "package"
failToPass = ["adds"]
passToPass = ["keeps_zero"]
tripwires = [{ id = "adds_more", file = "package/tests/sums.rs", changed = "2, 2), 5", literal = "2, 2), 4" }]`,
    files: {
      'environment/Cargo.toml': '[package]\nname = "sums"\nversion = "0.1.0"\nedition = "2021"\n',
      'tests/package/tests/sums.rs':
        'use sums::add;\n\n#[test]\nfn adds() {\n    assert_eq!(add(1, 2), 3);\n}\n\n#[test]\nfn keeps_zero() {\n    assert_eq!(add(0, 0), 0);\n}\n\n#[test]\nfn adds_more() {\n    assert_eq!(add(2, 2), 5);\n}\n',
    },
    right: rust('a + b'),
    wrong: rust('a - b'),
  },
  {
    name: 'vitest',
    muster: `runner = "vitest"
command = ["/node_modules/.bin/node", "/node_modules/vitest/vitest.mjs", "run", "--configLoader=runner", "--reporter=json", "--outputFile={report}", "--sequence.shuffle.tests", "--sequence.seed={seed}"]
overlay = "package"
failToPass = ["sum.test.js > add > adds"]
passToPass = ["sum.test.js > add > keeps zero"]
tripwires = [{ id = "sum.test.js > add > adds more", file = "package/sum.test.js", changed = "2, 2)).toBe(5", literal = "2, 2)).toBe(4" }]`,
    files: {
      'environment/package.json': '{ "name": "sums", "type": "module" }\n',
      'tests/package/vitest.config.js': "export default { cacheDir: '/tmp/vite' };\n",
      'tests/package/sum.test.js':
        "import { describe, expect, test } from 'vitest';\nimport { add } from './sum.js';\n\ndescribe('add', () => {\n  test('adds', () => expect(add(1, 2)).toBe(3));\n  test('keeps zero', () => expect(add(0, 0)).toBe(0));\n  test('adds more', () => expect(add(2, 2)).toBe(5));\n});\n",
    },
    right: javascript('a + b'),
    wrong: javascript('a - b'),
  },
  {
    name: 'jest',
    muster: `runner = "jest"
command = ["/node_modules/.bin/node", "/opt/jest/node_modules/jest/bin/jest.js", "--ci", "--json", "--outputFile={report}", "--randomize", "--seed={seed}"]
overlay = "package"
failToPass = ["sum.test.js > add > adds"]
passToPass = ["sum.test.js > add > keeps zero"]
tripwires = [{ id = "sum.test.js > add > adds more", file = "package/sum.test.js", changed = "2, 2)).toBe(5", literal = "2, 2)).toBe(4" }]`,
    files: {
      'environment/package.json': '{ "name": "sums", "jest": { "cacheDirectory": "/tmp/jest", "watchman": false } }\n',
      'tests/package/sum.test.js':
        "const { add } = require('./sum.js');\n\ndescribe('add', () => {\n  test('adds', () => expect(add(1, 2)).toBe(3));\n  test('keeps zero', () => expect(add(0, 0)).toBe(0));\n  test('adds more', () => expect(add(2, 2)).toBe(5));\n});\n",
    },
    right: commonJs('a + b'),
    wrong: commonJs('a - b'),
  },
  {
    name: 'ctest',
    muster: `runner = "ctest"
command = ["sh", "-c", "cmake -S . -B build >/dev/null && cmake --build build >/dev/null && ctest --test-dir build --output-junit {report} --schedule-random", "--schedule-random"]
overlay = "package"
failToPass = ["add"]
passToPass = ["zero"]
tripwires = [{ id = "more", file = "package/CMakeLists.txt", changed = "2 2 5", literal = "2 2 4" }]`,
    files: {
      'tests/package/main.c':
        '#include <stdlib.h>\nint sum(int, int);\nint main(int n, char **v) { return n == 4 && sum(atoi(v[1]), atoi(v[2])) == atoi(v[3]) ? 0 : 1; }\n',
      'tests/package/CMakeLists.txt':
        'cmake_minimum_required(VERSION 3.13)\nproject(sum C)\nenable_testing()\nadd_executable(check main.c sum.c)\nadd_test(NAME add COMMAND check 1 2 3)\nadd_test(NAME zero COMMAND check 0 0 0)\nadd_test(NAME more COMMAND check 2 2 5)\n',
    },
    right: c('a + b'),
    wrong: c('a - b'),
  },
  {
    name: 'junit',
    muster: `runner = "junit"
command = ["python3", "-I", "/tests/check.py", "{report}", "{tests}"]
failToPass = ["sums::add"]
passToPass = ["sums::zero"]
tripwires = [{ id = "sums::more", file = "check.py", changed = "2, 2, 5", literal = "2, 2, 4" }]`,
    files: {
      'tests/check.py':
        'import sys\nsys.path.insert(0, "/app")\nfrom sums import add\ncases = {"sums::add": (1, 2, 3), "sums::zero": (0, 0, 0), "sums::more": (2, 2, 5)}\nlines = []\nfor name in sys.argv[2:]:\n    a, b, c = cases[name]\n    lines.append(f\'<testcase classname="sums" name="{name[6:]}">{"" if add(a, b) == c else "<failure/>"}</testcase>\')\nopen(sys.argv[1], "w").write(f"<testsuite>{\'\'.join(lines)}</testsuite>")\n',
    },
    right: python('a + b'),
    wrong: python('a - b'),
  },
];
