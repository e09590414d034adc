-- A dump of some hundred thousand lines: what works at the cursor does, and what would block the editor is left out.
local t = require('support')

--- A dump of `count` values, one after the other.
local function write(path, count)
  local assignment, values, steps, ranges = {}, {}, {}, {}
  for i = 0, count - 1 do
    assignment[i + 1] = (' value: <%d add.%d @0> (size=64,offset=%d): f32[16]{0}'):format(i, i, i * 64)
    values[i + 1] = ('<%d add.%d @0>\n positions:\n  add.%d\n uses:\n from instruction: %%add.%d = f32[16]{0} add(%%a, %%b)')
      :format(i, i, i, i)
    steps[i + 1] = ('    %d:add.%d'):format(i, i)
    ranges[i + 1] = ('    add.%d{}:%d-%d'):format(i, i, i)
  end
  vim.fn.writefile(vim.split(table.concat({
    'BufferAssignment:',
    ('allocation 0: size %d, preallocated-temp:'):format(count * 64),
    table.concat(assignment, '\n'),
    '',
    ('Total bytes used: %d (%.2fMiB)'):format(count * 64, count * 64 / 1048576),
    '',
    'Used values:',
    table.concat(values, '\n'),
    '',
    '',
    ('HloLiveRange (max %d):'):format(count),
    '  InstructionSequence:',
    table.concat(steps, '\n'),
    '  BufferLiveRange:',
    table.concat(ranges, '\n'),
    '',
  }, '\n'), '\n'), path)
end

t.test(function()
  write('large.txt', 40000)
  t.open('large.txt')
  t.check('more than 300,000 lines', vim.api.nvim_buf_line_count(0) > 300000)
  t.equal('folds are left out', vim.wo.foldmethod, 'manual')
  t.go('^    add.39999{}', 'add')
  t.keys('K')
  local shown = t.wait('hover', t.float)
  t.check('on that value', shown:find('add.39999', 1, true) ~= nil, shown)
  vim.cmd('fclose!')

  -- Typing in the middle, with a look at it after each letter: no letter waits for the server.
  vim.cmd('normal! 150000G')
  local slowest = 0
  for _ = 1, 50 do
    local start = vim.uv.hrtime()
    t.keys('ix<Esc>')
    vim.cmd.redraw()
    slowest = math.max(slowest, (vim.uv.hrtime() - start) / 1e6)
  end
  t.check('typing is not blocked', slowest < 1000, slowest)
  t.go('^    add.39998{}', 'add')
  t.keys('K')
  t.wait('hover after typing', t.float)
end)
