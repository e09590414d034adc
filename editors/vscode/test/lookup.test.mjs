import assert from 'node:assert/strict';
import path from 'node:path';
import test from 'node:test';

import lookup from '../dist/test/lookup.js';

const { findServer, isCompatible, versionIn } = lookup;

/** Looks for the server where only the files `programs` are programs. */
function find(programs, surroundings = {}) {
  return findServer({
    setting: '',
    extension: '/ext',
    folder: '/folder',
    environment: { PATH: ['/usr/bin', '', '/opt/bin'].join(path.delimiter), HOME: '/home/me' },
    platform: 'linux',
    isProgram: (path) => programs.includes(path),
    ...surroundings,
  });
}

test('the setting goes before all, and nothing replaces it', () => {
  const everywhere = ['/ext/bin/buflens', '/usr/bin/buflens', '/mine'];
  assert.equal(find(everywhere, { setting: '/mine' }).program, '/mine');
  const wrong = find(everywhere, { setting: '/wrong' });
  assert.equal(wrong.program, undefined);
  assert.deepEqual(wrong.tried, ['/wrong (the setting buflens.server.path)']);
});

test('paths in the setting may begin at home or in the folder', () => {
  assert.equal(find(['/home/me/b'], { setting: '~/b' }).program, '/home/me/b');
  assert.equal(find(['/folder/target/b'], { setting: '${workspaceFolder}/target/b' }).program, '/folder/target/b');
  assert.equal(find(['/folder/target/b'], { setting: 'target/b' }).program, '/folder/target/b');
  assert.equal(find(['/b'], { setting: ' /b ', folder: undefined }).program, '/b');
});

test('the bundled program goes before the PATH', () => {
  assert.equal(find(['/ext/bin/buflens', '/usr/bin/buflens']).program, '/ext/bin/buflens');
  assert.equal(find(['/opt/bin/buflens']).program, '/opt/bin/buflens');
  assert.equal(find(['/tools/buflens.exe'], { platform: 'win32', environment: { Path: '/tools' } }).program, '/tools/buflens.exe');
});

test('what was tried is told', () => {
  assert.deepEqual(find([]), { program: undefined, tried: ['/ext/bin/buflens', 'buflens on the PATH'] });
  assert.equal(find([], { environment: {} }).program, undefined);
});

test('versions', () => {
  assert.equal(versionIn('buflens 0.1.0\n'), '0.1.0');
  assert.equal(versionIn('buflens 0.2.0-rc.1'), '0.2.0-rc.1');
  assert.equal(versionIn('GNU bash, version 5.2.15'), undefined);
  assert.equal(versionIn('spawn ENOENT'), undefined);
  assert.ok(isCompatible('0.1.3', '0.1.0'));
  assert.ok(!isCompatible('0.2.0', '0.1.0'));
});
