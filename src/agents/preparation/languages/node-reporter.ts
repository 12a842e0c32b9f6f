/** A reporter for node:test, whose own ones omit the files of tests: writes the JSON of jest. Tests with the same name are numbered. */
export const NODE_REPORTER = `import path from 'node:path';

export default async function* report(source) {
  const files = new Map();
  const open = new Map();
  for await (const { type, data } of source) {
    const file = path.relative(process.cwd(), data?.file ?? '');
    if (type === 'test:start') open.set(file, [...(open.get(file) ?? []).slice(0, data.nesting), data.name]);
    if (type !== 'test:pass' && type !== 'test:fail') continue;
    if (data.details?.type === 'suite') continue;
    const titles = (open.get(file) ?? []).slice(0, data.nesting);
    const isSkipped = data.skip !== undefined || data.todo !== undefined;
    const status = isSkipped ? 'pending' : type === 'test:pass' ? 'passed' : 'failed';
    const results = files.get(file) ?? [];
    const same = results.filter((each) => each.name === data.name && each.ancestorTitles.join() === titles.join()).length;
    const title = same === 0 ? data.name : \`\${data.name} (\${same + 1})\`;
    results.push({ ancestorTitles: titles, name: data.name, title, status });
    files.set(file, results);
  }
  const testResults = [...files].map(([name, assertionResults]) => ({ name, status: 'passed', assertionResults }));
  yield JSON.stringify({ testResults });
}
`;
