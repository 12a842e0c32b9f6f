/** The purpose of a repository's file, by its path. */
export type PathKind = 'test' | 'source' | 'generated' | 'other';

const TEST_DIRECTORY = /(^|\/)(tests?|__tests__|testing|specs?|testdata|fixtures)\//i;
const TEST_NAME =
  /(^|\/)(test_[^/]*\.py|[^/]*_test\.(py|go|c|cc|cpp|cxx)|conftest\.py|[^/]*\.(test|spec)\.[cm]?[jt]sx?|test_[^/]*\.(c|cc|cpp|cxx)|tests?\.(py|rs|[cm]?[jt]s))$/;
const SOURCE = /\.(py|pyi|go|rs|[cm]?[jt]sx?|c|cc|cpp|cxx|h|hh|hpp|hxx|toml|cfg|in|json|txt|cmake)$/;
const GENERATED =
  /(^|\/)(package-lock\.json|yarn\.lock|pnpm-lock\.yaml|Cargo\.lock|poetry\.lock|uv\.lock|go\.sum|node_modules\/|vendor\/|dist\/|build\/|[^/]*\.min\.js|[^/]*_pb2\.py|[^/]*\.pb\.go|[^/]*\.egg-info\/|PKG-INFO$)/;
const CODE = /\.(py|go|rs|[cm]?[jt]sx?|c|cc|cpp|cxx|h|hh|hpp|hxx)$/;
/** Files that no test covers. */
const OTHER =
  /(^|\/)(docs?|examples?|bench(es|marks?)?|fuzz(ing)?|\.github)\/|(^|\/)(change(s|log)|news|history|readme|authors|contribut\w*|copying|licen[cs]e)[^/]*$/i;

/** Recognises tests beside their package's code by their names. */
export function classifyPath(path: string): PathKind {
  if (GENERATED.test(path)) return 'generated';
  if (TEST_DIRECTORY.test(path) || TEST_NAME.test(path)) return 'test';
  if (OTHER.test(path)) return 'other';
  return SOURCE.test(path) ? 'source' : 'other';
}

/** Whether the file holds code that can be wrong. */
export function isCode(path: string): boolean {
  return CODE.test(path) && classifyPath(path) === 'source';
}
