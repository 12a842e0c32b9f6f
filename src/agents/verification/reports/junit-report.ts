import type { TestResult } from '../evidence.ts';
import { ReportProblem } from './report-problem.ts';
import { readXmlTags, type XmlTag } from './xml-tags.ts';

const STATUS: ReadonlyMap<string, TestResult['status']> = new Map([
  ['failure', 'failed'],
  ['error', 'error'],
  ['skipped', 'skipped'],
]);
/** CTest and GoogleTest report in these ways a test that was not run. */
const NOT_RUN = new Set(['notrun', 'disabled', 'skipped', 'suppressed']);

/**
 * Reads JUnit XML. When the runner names the file, as pytest does with `junit_family=xunit1`, the id is `FILE::CLASS::NAME`, like pytest's own ids.
 * Otherwise it is `CLASSNAME::NAME`, or the name alone where there is no class or CTest repeats the name in it.
 *
 * @throws ReportProblem
 */
export function* readJunitResults(text: string): Generator<TestResult> {
  let current: { readonly tag: XmlTag; status: TestResult['status'] } | undefined;
  let hasSuite = false;
  for (const tag of readXmlTags(text)) {
    if (tag.name === 'testsuite' || tag.name === 'testsuites') hasSuite = true;
    if (tag.name === 'testcase') {
      if (tag.kind !== 'close' && current !== undefined) throw new ReportProblem('a <testcase> is inside another');
      if (tag.kind === 'open') current = { tag, status: parseStatus(tag) };
      else if (tag.kind === 'empty') yield { id: getId(tag), status: parseStatus(tag) };
      else if (current !== undefined) {
        yield { id: getId(current.tag), status: current.status };
        current = undefined;
      }
    } else if (current !== undefined && tag.kind !== 'close') current.status = worsen(current.status, tag);
  }
  if (!hasSuite) throw new ReportProblem('it has no <testsuite>; expected JUnit XML');
}

function parseStatus({ attributes }: XmlTag): TestResult['status'] {
  const status = attributes.get('status');
  if (status === 'fail') return 'failed';
  return status !== undefined && NOT_RUN.has(status) ? 'skipped' : 'passed';
}

function worsen(status: TestResult['status'], { name, attributes }: XmlTag): TestResult['status'] {
  const found = STATUS.get(name);
  if (found === undefined || (status !== 'passed' && found === 'skipped')) return status;
  return found === 'skipped' && attributes.get('type') === 'pytest.xfail' ? 'xfailed' : found;
}

function getId({ attributes }: XmlTag): string {
  const name = attributes.get('name');
  if (name === undefined || name === '') throw new ReportProblem('a <testcase> has no name');
  const file = attributes.get('file');
  const classname = attributes.get('classname') ?? '';
  if (file === undefined) return classname === '' || classname === name ? name : `${classname}::${name}`;
  const module = file.replace(/\.\w+$/, '').replaceAll('/', '.');
  const inside = classname.startsWith(`${module}.`) ? classname.slice(module.length + 1) : classname === module ? '' : classname;
  return [file, ...(inside === '' ? [] : inside.split('.')), name].join('::');
}
