import { TASK } from '../../../support/grading-fixture.ts';
import type { Attack } from './attack.ts';
import { SOLVED } from './kinds.ts';

/** A task whose artifact is an answer that a script knows. */
const ANSWER = {
  'task.toml': `artifacts = ["answer.txt"]\n${(TASK['task.toml'] ?? '').replace('[verifier]', '[verifier]\nenv = { ANSWER = "forty-two" }')}`,
};
const answerJudge = (check: string): string =>
  `#!/bin/bash\nexport ANSWER=forty-two\ncd /app\nif ${check}; then echo 1; else echo 0; fi >/logs/verifier/reward.txt\n`;
/** Copies the Python files of a submission, by names that it reads line by line. */
const COPYING_BY_LINES =
  '#!/bin/bash\nmkdir -p /tmp/stage\ncd /app\nfind . -name "*.py" | while read -r file; do cp "$file" /tmp/stage/; done\ncd /tmp/stage\nsed "s:/app:/tmp/stage:" /tests/test_sort.py >/tmp/stage/test_sort.py\nif python3 -m unittest discover; then echo 1; else echo 0; fi >/logs/verifier/reward.txt\n';

/** Artifacts that do something to what takes them in. */
export const ARTIFACTS: readonly Attack[] = [
  {
    name: "the artifact is a link to the verifier's environment",
    item: 'linked-artifact',
    against: 'script',
    files: {},
    script: 'ln -s /proc/self/environ answer.txt',
    naive: { 'test.sh': answerJudge('grep -q "$ANSWER" answer.txt') },
    task: ANSWER,
    twin: { files: { 'notes.txt': 'forty-two\n' }, script: 'cp notes.txt answer.txt' },
  },
  {
    name: 'the artifact is a link to a device',
    item: 'linked-artifact',
    against: 'script',
    files: {},
    script: 'ln -s /dev/stdin answer.txt',
    naive: { 'test.sh': answerJudge('echo "$ANSWER" | cmp -s - answer.txt') },
    task: ANSWER,
    twin: { files: { 'answer.txt': 'forty-two\n' }, script: 'cat /dev/null >empty.txt' },
  },
  {
    name: 'an artifact fills the disk, so that no failure can be written down',
    item: 'huge-artifact',
    files: {},
    script: 'i=0; while head -c 1000000 /dev/zero >large$i; do i=$((i+1)); done 2>/dev/null',
    naive: {
      'test.sh':
        '#!/bin/bash\nmkdir /tests/copy\ncp -r /app/. /tests/copy\ncd /app\npython3 -m unittest discover -s /tests 2>/tests/report.txt\nif grep -q FAILED /tests/report.txt; then echo 0; else echo 1; fi >/logs/verifier/reward.txt\n',
    },
    twin: { files: { 'sort.py': SOLVED }, script: 'head -c 2000000 /dev/zero >table.bin' },
  },
  {
    name: 'more files than a command takes leave no test to be run',
    item: 'many-artifacts',
    files: {},
    script: 'x=$(printf "%0160d" 0); seq 15000 | sed "s/^/$x/" | xargs touch',
    naive: {
      'test.sh':
        '#!/bin/bash\nmkdir /tests/copy\ncp /app/* /tests/test_sort.py /tests/copy/\nrm /tests/test_sort.py\nif python3 -m unittest discover -s /tests/copy; then echo 1; else echo 0; fi >/logs/verifier/reward.txt\n',
    },
    twin: { files: { 'sort.py': SOLVED }, script: 'seq 500 | xargs touch' },
  },
  {
    name: 'an archive leaves its directory and replaces the tests',
    item: 'leaving-archive',
    against: 'compiled',
    files: { 'fake.py': '' },
    script: 'tar -P --transform "s:fake.py:../tests/test_sort.py:" -cf source.tar fake.py; cp sort.py source.py',
    naive: {
      'test.sh':
        '#!/bin/bash\ncd /app\ntar -P -xf source.tar\nif python3 -m unittest discover -s /tests; then echo 1; else echo 0; fi >/logs/verifier/reward.txt\n',
    },
    task: { 'environment/build.sh': 'tar -P -xf source.tar\n' },
    twin: { files: { 'own.py': SOLVED }, script: 'tar -P --transform "s:own.py:../app/sort.py:" -cf source.tar own.py' },
  },
  {
    name: 'a name with a line feed is taken for the path of the answer',
    item: 'artifact-names',
    against: 'script',
    files: {},
    script: 'rm sort.py; mkdir -p "a\n/tests"; touch "a\n/tests/sort.py"',
    naive: { 'test.sh': COPYING_BY_LINES, 'sort.py': SOLVED },
    twin: { files: { 'sort.py': SOLVED, 'with spaces, ümlauts/and 日本.txt': '' } },
  },
];
