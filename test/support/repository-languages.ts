import type { FileContents } from './grading-fixture.ts';

/** A small library with tests, before and after its fix, in the language that its files say. */
export interface LanguageSample {
  readonly title: string;
  readonly language: string;
  /** A program, or the path of a file, that the sandbox needs. */
  readonly program: string;
  readonly before: FileContents;
  readonly fix: FileContents;
  readonly failToPass: readonly string[];
  readonly passToPass: number;
}

const C_TEST = (body: string): string => `#include <assert.h>\n#include "sums.h"\n\nint main(void) {\n${body}    return 0;\n}\n`;

const CPP_CODE = (guard: string): string =>
  `#include "sums.hpp"\n\n/* The sum of two numbers. */\nint add(int a, int b) {\n    return a + b;\n}\n\nint mean(const std::vector<int>& numbers) {\n    int sum = 0;\n${guard}    for (int each : numbers) sum = add(sum, each);\n    return sum / static_cast<int>(numbers.size());\n}\n`;

const CPP_TESTS = `#include <gtest/gtest.h>
#include "sums.hpp"

TEST(Sums, Adds) {
    EXPECT_EQ(add(2, 3), 5);
}

TEST(Sums, GivesAMean) {
    EXPECT_EQ(mean({1, 2, 3}), 2);
}
`;

export const SAMPLES: readonly LanguageSample[] = [
  {
    title: 'JavaScript with node:test',
    language: 'javascript',
    program: '/usr/bin/node',
    before: {
      'package.json': '{ "name": "sums", "version": "0.1.0" }\n',
      'sums.js':
        'exports.add = function add(a, b) {\n  return a + b;\n};\n\nexports.mean = function mean(numbers) {\n  return numbers.reduce((sum, each) => sum + each) / numbers.length;\n};\n',
      'test/sums.test.js':
        "const assert = require('node:assert');\nconst { describe, it } = require('node:test');\nconst { add, mean } = require('../sums.js');\n\ndescribe('sums', () => {\n  it('adds', () => {\n    assert.strictEqual(add(2, 3), 5);\n  });\n\n  it('gives a mean', () => {\n    assert.strictEqual(mean([1, 2, 3]), 2);\n  });\n});\n",
    },
    fix: {
      'sums.js':
        'exports.add = function add(a, b) {\n  return a + b;\n};\n\nexports.mean = function mean(numbers) {\n  if (numbers.length === 0) return 0;\n  return numbers.reduce((sum, each) => sum + each) / numbers.length;\n};\n',
      'test/sums.test.js':
        "const assert = require('node:assert');\nconst { describe, it } = require('node:test');\nconst { add, mean } = require('../sums.js');\n\ndescribe('sums', () => {\n  it('adds', () => {\n    assert.strictEqual(add(2, 3), 5);\n  });\n\n  it('gives a mean', () => {\n    assert.strictEqual(mean([1, 2, 3]), 2);\n  });\n\n  it('gives a mean of none', () => {\n    assert.strictEqual(mean([]), 0);\n  });\n});\n",
    },
    failToPass: ['test/sums.test.js > sums > gives a mean of none'],
    passToPass: 2,
  },
  {
    title: 'Go',
    language: 'go',
    program: 'go',
    before: {
      'go.mod': 'module example.com/sums\n\ngo 1.19\n',
      'sums.go':
        'package sums\n\n// Add gives the sum of two numbers.\nfunc Add(a, b int) int {\n\treturn a + b\n}\n\n// Mean gives the mean of numbers.\nfunc Mean(numbers []int) int {\n\tsum := 0\n\tfor _, each := range numbers {\n\t\tsum = Add(sum, each)\n\t}\n\treturn sum / len(numbers)\n}\n',
      'sums_test.go':
        'package sums\n\nimport "testing"\n\nfunc TestAdd(t *testing.T) {\n\tif got := Add(2, 3); got != 5 {\n\t\tt.Errorf("got %d", got)\n\t}\n}\n\nfunc TestMean(t *testing.T) {\n\tif got := Mean([]int{1, 2, 3}); got != 2 {\n\t\tt.Errorf("got %d", got)\n\t}\n}\n',
    },
    fix: {
      'sums.go':
        'package sums\n\n// Add gives the sum of two numbers.\nfunc Add(a, b int) int {\n\treturn a + b\n}\n\n// Mean gives the mean of numbers.\nfunc Mean(numbers []int) int {\n\tif len(numbers) == 0 {\n\t\treturn 0\n\t}\n\tsum := 0\n\tfor _, each := range numbers {\n\t\tsum = Add(sum, each)\n\t}\n\treturn sum / len(numbers)\n}\n',
      'none_test.go':
        'package sums\n\nimport "testing"\n\nfunc TestMeanOfNone(t *testing.T) {\n\tif got := Mean(nil); got != 0 {\n\t\tt.Errorf("got %d", got)\n\t}\n}\n',
    },
    failToPass: ['example.com/sums::TestMeanOfNone'],
    passToPass: 2,
  },
  {
    title: 'Rust',
    language: 'rust',
    program: '/usr/bin/cargo',
    before: {
      'Cargo.toml': '[package]\nname = "sums"\nversion = "0.1.0"\nedition = "2021"\n',
      'src/lib.rs':
        '/// The sum of two numbers.\npub fn add(a: i32, b: i32) -> i32 {\n    a + b\n}\n\n/// The mean of numbers.\npub fn mean(numbers: &[i32]) -> i32 {\n    numbers.iter().fold(0, |sum, each| add(sum, *each)) / numbers.len() as i32\n}\n',
      'tests/sums.rs':
        'use sums::{add, mean};\n\n#[test]\nfn adds() {\n    assert_eq!(add(2, 3), 5);\n}\n\n#[test]\nfn gives_a_mean() {\n    assert_eq!(mean(&[1, 2, 3]), 2);\n}\n',
    },
    fix: {
      'src/lib.rs':
        '/// The sum of two numbers.\npub fn add(a: i32, b: i32) -> i32 {\n    a + b\n}\n\n/// The mean of numbers.\npub fn mean(numbers: &[i32]) -> i32 {\n    if numbers.is_empty() {\n        return 0;\n    }\n    numbers.iter().fold(0, |sum, each| add(sum, *each)) / numbers.len() as i32\n}\n',
      'tests/none.rs': 'use sums::mean;\n\n#[test]\nfn gives_a_mean_of_none() {\n    assert_eq!(mean(&[]), 0);\n}\n',
    },
    failToPass: ['gives_a_mean_of_none'],
    passToPass: 2,
  },
  {
    title: 'C',
    language: 'c',
    program: 'cmake',
    before: {
      'CMakeLists.txt':
        'cmake_minimum_required(VERSION 3.20)\nproject(sums C)\noption(SUMS_BUILD_TESTS "Build the tests" OFF)\nadd_library(sums STATIC sums.c)\ntarget_include_directories(sums PUBLIC .)\nif(SUMS_BUILD_TESTS)\n  enable_testing()\n  add_subdirectory(tests)\nendif()\n',
      'sums.h': 'int add(int a, int b);\nint mean(const int *numbers, int count);\n',
      'sums.c':
        '#include "sums.h"\n\n/* The sum of two numbers. */\nint add(int a, int b) {\n    return a + b;\n}\n\nint mean(const int *numbers, int count) {\n    int sum = 0;\n    for (int at = 0; at < count; at++) sum = add(sum, numbers[at]);\n    return sum / count;\n}\n',
      'tests/CMakeLists.txt':
        'add_executable(test_add test_add.c)\ntarget_link_libraries(test_add sums)\nadd_test(NAME add COMMAND test_add)\n',
      'tests/test_add.c': C_TEST('    const int numbers[] = {1, 2, 3};\n    assert(add(2, 3) == 5);\n    assert(mean(numbers, 3) == 2);\n'),
    },
    fix: {
      'sums.c':
        '#include "sums.h"\n\n/* The sum of two numbers. */\nint add(int a, int b) {\n    return a + b;\n}\n\nint mean(const int *numbers, int count) {\n    int sum = 0;\n    if (count == 0) return 0;\n    for (int at = 0; at < count; at++) sum = add(sum, numbers[at]);\n    return sum / count;\n}\n',
      'tests/CMakeLists.txt':
        'foreach(each add none)\n  add_executable(test_${each} test_${each}.c)\n  target_link_libraries(test_${each} sums)\n  add_test(NAME ${each} COMMAND test_${each})\nendforeach()\n',
      'tests/test_none.c': C_TEST('    assert(mean(0, 0) == 0);\n'),
    },
    failToPass: ['none'],
    passToPass: 1,
  },
  {
    title: 'C++ with GoogleTest',
    language: 'c',
    program: '/usr/include/gtest/gtest.h',
    before: {
      'CMakeLists.txt':
        'cmake_minimum_required(VERSION 3.20)\nproject(sums CXX)\nenable_testing()\nadd_library(sums STATIC sums.cpp)\ntarget_include_directories(sums PUBLIC .)\nadd_subdirectory(tests)\n',
      'sums.hpp': '#include <vector>\n\nint add(int a, int b);\nint mean(const std::vector<int>& numbers);\n',
      'sums.cpp': CPP_CODE(''),
      'tests/CMakeLists.txt':
        'find_package(GTest REQUIRED)\ninclude(GoogleTest)\nadd_executable(sums_test sums_test.cpp)\ntarget_link_libraries(sums_test sums GTest::gtest_main)\ngtest_discover_tests(sums_test)\n',
      'tests/sums_test.cpp': CPP_TESTS,
    },
    fix: {
      'sums.cpp': CPP_CODE('    if (numbers.empty()) return 0;\n'),
      'tests/sums_test.cpp': `${CPP_TESTS}\nTEST(Sums, GivesAMeanOfNone) {\n    EXPECT_EQ(mean({}), 0);\n}\n`,
    },
    failToPass: ['Sums.GivesAMeanOfNone'],
    passToPass: 2,
  },
];
