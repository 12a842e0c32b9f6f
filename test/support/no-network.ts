import nock from 'nock';

// No test, and nothing that a test calls, talks to anything over HTTP unless it has said what it expects to be answered.
nock.disableNetConnect();
