// The memory map in a browser, against what the program says on the command line.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { close } from './lib/browser.mjs';
import { documentOf, openMap } from './lib/map.mjs';
import { buflens, fixture, json } from './lib/server.mjs';
import { synthetic } from './lib/synthetic.mjs';

after(close);

const TPU = fixture('tpu-run-on', 'mlp_sgd');
const LOOP = fixture('loops', 'module_0043');
const FULL = fixture('out-of-memory-peak-not-listed', 'jit_oom_attention_grad');

/** How many values of the memory space are drawn, merged into what covers them, and there at all. */
async function counts(page) {
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  const { drawn, merged, total } = await page.locator('.buflens-map').evaluate(({ dataset }) => ({ ...dataset }));
  return { drawn: Number(drawn), merged: Number(merged), total: Number(total) };
}

/** Values by memory space. */
const inSpace = (map, color) => map.values.allocation.filter((place) => map.allocations[place].space === color).length;

/** Points at the middle of a value; it must be seen. */
async function placeOf(page, id) {
  const canvas = await page.locator('canvas').boundingBox();
  await page.evaluate((id) => window.map.select(id), id);
  await page.locator('canvas').focus();
  await page.keyboard.press('f');
  return { x: canvas.x + canvas.width / 2 + 60, y: canvas.y + 300 };
}

test('what is drawn is what the program says', async () => {
  for (const file of [TPU, LOOP, FULL, fixture('gpu-split'), fixture('smallest'), fixture('zero-sizes', 'zero_size'), fixture('tuple-heavy')]) {
    const map = json('map', file);
    const page = await openMap(map);
    for (const { color, name, curve } of map.spaces) {
      if (curve.length === 0) continue;
      await page.click(`.map-spaces button[data-color="${color}"]`);
      const { drawn, merged, total } = await counts(page);
      assert.equal(total, inSpace(map, color), `${file} ${name}`);
      assert.equal(drawn + merged, total, `${file} ${name}`);
      const peak = json('peak', file, '--space', color);
      const label = await page.locator('canvas').getAttribute('aria-label');
      assert(label.includes(`step ${peak.step}${peak.instruction ? `, ${peak.instruction}` : ''}`), label);
      // The same words as on the terminal.
      const [, occupied] = /true peak (\S+ \S+) at/.exec(label);
      if (peak.occupied_bytes > 0) assert(buflens('peak', file, '--space', color).includes(occupied), `${occupied} in ${file}`);
      assert((await page.locator('.map-details dd').allInnerTexts()).join('\n').includes(occupied), occupied);
    }
    page.check();
    await page.context().close();
  }
});

test('pointing, clicking, opening a line', async () => {
  const map = json('map', FULL);
  const page = await openMap(map);
  const { values, texts } = map;
  const largest = values.id.reduce((best, _, value) => (map.allocations[values.allocation[value]].space === 0 && values.bytes[value] > values.bytes[best] ? value : best), 0);
  const place = await placeOf(page, values.id[largest]);
  await page.mouse.move(place.x, place.y);
  const card = page.locator('.map-card');
  await card.waitFor();
  assert.match(await card.innerText(), new RegExp(`^${texts[values.name[largest]].replaceAll('.', '\\.')}`));
  assert((await card.innerText()).includes(texts[values.shape[largest]]));
  await page.keyboard.press('Escape');
  await page.mouse.click(place.x, place.y);
  assert.equal(await page.locator('.map-details h3').innerText(), texts[values.name[largest]]);
  assert((await page.locator('.map-spoken').innerText()).startsWith(texts[values.name[largest]]));
  await page.click('text=Open line');
  await page.mouse.dblclick(place.x, place.y);
  const expected = {
    id: values.id[largest], name: texts[values.name[largest]], index: texts[values.index[largest]],
    allocation: map.allocations[values.allocation[largest]].allocation, offset: values.offset[largest], start: values.start[largest],
  };
  assert.deepEqual(await page.evaluate(() => window.opened), [expected, expected]);
  page.check();
});

test('what lies over the same bytes', async () => {
  const map = json('map', LOOP);
  const page = await openMap(map);
  const { id, allocation, offset, bytes, start, last } = map.values;
  for (const value of id.keys()) {
    const others = [...id.keys()].filter(
      (other) => other !== value && allocation[other] === allocation[value] && offset[other] < offset[value] + bytes[value] && offset[other] + bytes[other] > offset[value],
    );
    const groups = { besides: 0, before: 0, after: 0 };
    for (const other of others) groups[last[other] < start[value] ? 'before' : start[other] > last[value] ? 'after' : 'besides'] += 1;
    await page.evaluate((id) => window.map.select(id), id[value]);
    const shown = await page.locator('.map-details').evaluate((panel) =>
      Object.fromEntries([...panel.querySelectorAll('h4')].map((title) => [title.textContent.split(' ').at(-1), title.nextSibling.querySelectorAll('input').length])));
    assert.deepEqual({ with: 0, before: 0, after: 0, ...shown }, { with: Math.min(12, groups.besides), before: Math.min(12, groups.before), after: Math.min(12, groups.after) });
  }
  page.check();
});

test('searching', async () => {
  const map = json('map', TPU);
  const page = await openMap(map);
  const { values, texts } = map;
  const found = [...values.id.keys()].filter((value) => map.allocations[values.allocation[value]].space === 0 && /^fusion/.test(texts[values.name[value]]));
  await page.locator('canvas').focus();
  await page.keyboard.press('/');
  await page.keyboard.type('/^fusion/');
  const hits = await page.locator('.map-hits').innerText();
  assert(hits.startsWith(`${found.length} found, `), hits);
  await page.keyboard.press('Enter');
  const seen = new Set();
  for (let at = 0; at < found.length; at += 1) {
    seen.add(await page.locator('.map-details h3').innerText());
    await page.keyboard.press('n');
  }
  const names = found.map((value) => texts[values.name[value]] + texts[values.index[value]].replace('{}', ''));
  assert.deepEqual([...seen].sort(), [...new Set(names)].sort());
  await page.evaluate(() => window.map.search('/(/'));
  assert.match(await page.locator('.map-hits').innerText(), /[Ii]nvalid|Unterminated/);
  await page.evaluate(() => window.map.search(''));
  assert.equal(await page.locator('.map-hits').innerText(), '');
  page.check();
});

test('leaving values out gives the peak that the program gives', async () => {
  for (const file of [TPU, LOOP, FULL]) {
    const map = json('map', file);
    const page = await openMap(map);
    for (const { color, peak } of map.spaces) {
      if (peak === null || peak.occupied_bytes === 0) continue;
      const { values } = json('peak', file, '--space', color);
      const ids = values.map(({ id }) => id);
      for (const without of [ids.slice(0, 1), ids.slice(1, 3), ids.filter((_, at) => at % 2 === 0), ids]) {
        if (without.length === 0) continue;
        const expected = json('peak', file, '--space', color, '--without', without.join());
        await page.evaluate(([color, without]) => {
          window.map.setSpace(color);
          window.map.setWithout(without);
        }, [color, without]);
        const text = await page.locator('.map-what-if').innerText();
        const change = expected.occupied_bytes - peak.occupied_bytes;
        const step = expected.instruction ? `step ${expected.step}, ${expected.instruction} (` : `step ${expected.step} (`;
        assert(text.includes(` at ${step}`), `${text} | ${step}`);
        assert(text.includes('with the schedule and the placement as they are'), text);
        const own = await page.evaluate(([data, color, without]) => {
          const model = buflensMapModel(data);
          return model.occupancy(color, new Set(without.map((id) => model.byId.get(id)))).peak;
        }, [map, color, without]);
        assert.deepEqual(own, { step: expected.step, instruction: expected.instruction ?? '', occupied_bytes: expected.occupied_bytes }, file);
        assert.equal(text.includes('(no change)'), change === 0, text);
      }
    }
    await page.click('text=Put back');
    assert.equal(await page.locator('.map-what-if').isVisible(), false);
    page.check();
    await page.context().close();
  }
});

test('the keyboard alone', async () => {
  const page = await openMap(json('map', TPU));
  for (let tabs = 0; tabs < 20 && (await page.evaluate(() => document.activeElement.tagName)) !== 'CANVAS'; tabs += 1) await page.keyboard.press('Tab');
  assert.equal(await page.evaluate(() => document.activeElement.tagName), 'CANVAS');
  await page.keyboard.press('?');
  assert(await page.locator('.map-help').isVisible());
  await page.keyboard.press('Escape');
  assert(!(await page.locator('.map-help').isVisible()));
  const all = await counts(page);
  await page.keyboard.press(']');
  const [first] = await page.locator('.map-details h3').allInnerTexts();
  await page.keyboard.press(']');
  await page.keyboard.press('[');
  assert.equal(await page.locator('.map-details h3').innerText(), first);
  await page.keyboard.press('Enter');
  assert.equal((await page.evaluate(() => window.opened)).length, 1);
  await page.keyboard.press(' ');
  assert(await page.locator('.map-what-if').isVisible());
  await page.keyboard.press('f');
  const near = await counts(page);
  assert(near.drawn + near.merged < all.total, 'zoomed in, some values are outside');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('-');
  await page.keyboard.press('0');
  assert.deepEqual(await counts(page), all);
  await page.keyboard.press('e');
  assert((await counts(page)).total === all.total);
  await page.keyboard.press('p');
  await page.keyboard.press('Escape');
  assert.match(await page.locator('.map-details h3').innerText(), /at its peak$/);
  await page.keyboard.press('Escape');
  assert(!(await page.locator('.map-what-if').isVisible()));
  await page.keyboard.press('Tab');
  assert.notEqual(await page.evaluate(() => document.activeElement.tagName), 'CANVAS', 'the map is no trap');
  page.check();
});

test('10,000 values: all are drawn or counted, zooming shows the small ones', async () => {
  const page = await openMap(synthetic(10_000));
  const all = await counts(page);
  assert.equal(all.total, 10_000);
  assert.equal(all.drawn + all.merged, 10_000);
  assert(all.merged > 1000, 'some are smaller than a pixel');
  assert((await page.locator('.map-status').innerText()).includes(`${all.merged.toLocaleString('en-US')} values are smaller than a pixel here`));
  const box = await page.locator('canvas').boundingBox();
  await page.mouse.move(box.x + 500, box.y + 520);
  await page.keyboard.down('Control');
  for (let turns = 0; turns < 4; turns += 1) await page.mouse.wheel(0, -300);
  await page.keyboard.up('Control');
  const near = await counts(page);
  assert.equal(near.merged, 0);
  assert(near.drawn > 0 && near.drawn < 10_000);
  await page.mouse.down();
  await page.mouse.move(box.x + 300, box.y + 300, { steps: 3 });
  await page.mouse.up();
  assert((await counts(page)).drawn > 0);
  page.check();
});

test('both themes, and what is looked at comes back', async () => {
  for (const colorScheme of ['light', 'dark']) {
    const page = await openMap(json('map', TPU), { colorScheme, deviceScaleFactor: 2 });
    const background = () => page.evaluate(() => [...document.querySelector('canvas').getContext('2d').getImageData(1, 1, 1, 1).data].slice(0, 3));
    const [before] = await background();
    assert(colorScheme === 'dark' ? before < 60 : before > 200, `${before}`);
    for (const colouring of ['op_name', 'opcode', 'source', 'kind']) {
      await page.selectOption('select', colouring);
      assert((await page.locator('.map-legend li').count()) > 2);
    }
    await page.selectOption('select', 'opcode');
    await page.evaluate(() => window.map.search('fusion'));
    await page.locator('canvas').focus();
    await page.keyboard.press(']');
    await page.keyboard.press('+');
    await page.waitForFunction(() => window.saved !== null && window.saved.x1 - window.saved.x0 < 90);
    const [saved, shown] = [await page.evaluate(() => window.saved), await counts(page)];
    // What is done just before new data comes is kept as well.
    assert.notEqual(saved.selected, null);
    const selected = await page.evaluate((data) => {
      window.map.select(null);
      window.map.destroy();
      window.map = buflensMap(document.getElementById('map'), data, { restore: () => window.saved });
      return window.saved.selected;
    }, json('map', TPU));
    assert.equal(selected, null);
    assert.deepEqual(await counts(page), shown);
    assert.equal(await page.locator('select').inputValue(), 'opcode');
    assert.equal(await page.locator('.map-search').inputValue(), saved.query);
    // Redrawn when the page's colours change under it.
    await page.emulateMedia({ colorScheme: colorScheme === 'dark' ? 'light' : 'dark' });
    await counts(page);
    const [after] = await background();
    assert(colorScheme === 'dark' ? after > 200 : after < 60, `${after}`);
    page.check();
    await page.context().close();
  }
});

test('hostile names do no harm', async () => {
  const map = json('map', TPU);
  const evil = '</script><img src=x onerror=alert(1)><b>"\'`\u202e\u0000';
  map.module = evil;
  map.texts = map.texts.map((text) => evil + text);
  for (const space of map.spaces) space.name += evil;
  for (const allocation of map.allocations) if (allocation.kind === 'temp') allocation.kind = evil;
  const page = await openMap(map);
  await page.selectOption('select', 'op_name');
  const place = await placeOf(page, map.values.id[0]);
  await page.mouse.move(place.x, place.y);
  await page.evaluate(() => window.map.search('img'));
  await page.evaluate((id) => window.map.setWithout([id]), map.values.id[0]);
  assert.equal(await page.locator('#map img').count(), 0);
  assert.equal(await page.locator('#map b:not(.map-spaces b)').count(), 0);
  page.check();
});

test('hostile numbers, and dumps without a map', async () => {
  const hostile = json('map', TPU);
  const huge = 1e18;
  hostile.steps = huge;
  hostile.values.last[0] = huge;
  hostile.values.bytes[1] = huge;
  hostile.values.offset[2] = 1.8e19;
  hostile.values.bytes[3] = 0;
  hostile.allocations[0].bytes = huge;
  hostile.allocations[1].bytes = 0;
  hostile.spaces[0].curve.push([huge - 1, huge]);
  hostile.xla_peak = { step: huge, listed_bytes: 0, occupied_bytes: 0 };
  const page = await openMap(hostile);
  const box = await page.locator('canvas').boundingBox();
  await page.mouse.move(box.x + 400, box.y + 300);
  for (const id of hostile.values.id.slice(0, 5)) {
    await page.evaluate((id) => {
      window.map.select(id);
      window.map.setWithout([id]);
    }, id);
    for (const key of ['f', '+', '-', 'e', '0', 'p', '[']) await page.locator('canvas').press(key);
  }
  page.check();
  const one = json('map', fixture('new-report', 'jit_no_outputs'));
  for (const empty of [json('map', fixture('no-live-range')), one]) {
    const page = await openMap(empty);
    assert.match(await page.locator('.map-nothing').innerText(), /^There is no memory map: .*\.$/);
    page.check();
  }
});

test('a page holds nothing that runs but its own scripts', () => {
  assert(!/innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(/.test(documentOf(json('map', fixture('smallest')))));
});
