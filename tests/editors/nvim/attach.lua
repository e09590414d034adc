-- File types, and everything that comes without being asked for.
local t = require('support')

local function filetype(name, lines)
  vim.fn.writefile(lines, name)
  vim.cmd.edit(name)
  return vim.bo.filetype
end

t.test(function()
  local dump = vim.fn.glob('module_0001.smallest.*-buffer-assignment.txt')
  local text = vim.fn.readfile(dump)
  local stem = 'module_0001.smallest.cpu_after_optimizations'

  -- By name.
  t.equal('an assignment', filetype(stem .. '-buffer-assignment.txt', text), 'xla-buffer-assignment')
  for suffix, expected in pairs({
    ['-buffer-assignment-values'] = 'xla-buffer-assignment',
    ['-live-range'] = 'xla-buffer-assignment',
    ['-memory-usage-report'] = 'xla-memory-report',
    [''] = 'hlo',
    ['_before_buffer_assignment'] = 'hlo',
  }) do
    t.equal(suffix .. ' by its name, although empty', filetype('module_0002.f.after_optimizations' .. suffix .. '.txt', {}), expected)
  end

  -- By the first lines.
  t.equal('notes.txt', filetype('notes.txt', text), 'xla-buffer-assignment')
  t.equal('000_c2e2.txt', filetype('000_c2e2.txt', text), 'xla-buffer-assignment')
  t.equal('dump.log', filetype('dump.log', text), 'xla-buffer-assignment')
  t.equal('no extension', filetype('dump', text), 'xla-buffer-assignment')
  t.equal('an unknown extension', filetype('dump.txt.1', text), 'xla-buffer-assignment')
  for first, expected in pairs({
    ['HloLiveRange (max 4):'] = 'xla-buffer-assignment',
    ['Memory Space: HBM (color=0)'] = 'xla-memory-report',
    ['HloModule jit_f, is_scheduled=true'] = 'hlo',
  }) do
    t.equal(first, filetype('a.txt', { first }), expected)
  end
  t.equal('values', filetype('b.txt', { '', 'Total bytes used: 256 (256B)', '', 'Used values:' }), 'xla-buffer-assignment')
  t.equal('an old report', filetype('c.txt', { 'Total bytes used: 256 (256B)', '', 'Allocations sorted by size:' }), 'xla-memory-report')

  -- A failure for want of memory in a log.
  local log = { 'step 1', 'Traceback (most recent call last):' }
  local failures = vim.fn.readfile(vim.env.BUFLENS_ROOT .. '/tests/fixtures/failures.txt')
  t.check('there are failures', #failures > 10)
  for i, line in ipairs(failures) do
    t.equal(line, filetype(('failed%d.log'):format(i), vim.list_extend({ line }, log)), 'xla-memory-report')
    t.equal(line, filetype(('failed%d.txt'):format(i), vim.list_extend(vim.list_slice(log), { line })), 'xla-memory-report')
  end

  -- Nothing else.
  t.equal('a text about memory', filetype('h.txt', { 'It ran out of memory on Monday.' }), 'text')
  local warning = 'Allocator (GPU_0_bfc) ran out of memory trying to allocate 3GiB. The caller indicates that this is not a failure'
  t.equal('a warning', filetype('i.txt', { warning, 'Attempting to allocate 4 workers' }), 'text')
  t.equal('a text', filetype('d.txt', { 'milk', 'eggs' }), 'text')
  t.equal('a text about dumps', filetype('e.txt', { 'They begin so:', '', 'BufferAssignment:' }), 'text')
  t.equal('an empty text', filetype('f.txt', {}), 'text')
  t.equal('a program', filetype('g.lua', { '-- BufferAssignment:' }), 'lua')
  t.check('a text has no commands', vim.fn.exists(':BuflensPeak') == 0)

  -- The server, for a file with any name.
  local client = t.open('notes.txt')
  t.equal('the encoding that costs nothing', client.offset_encoding, 'utf-8')
  t.open(dump)
  t.equal('one server for all', #vim.lsp.get_clients({ name = 'buflens' }), 1)

  -- Options, commands, and their undoing.
  t.check('lines are not wrapped', not vim.wo.wrap)
  t.go('^<2 mul', 'mul.2')
  t.equal('a name is a word', vim.fn.expand('<cword>'), 'mul.2')
  t.go('%add\\.4', '%add')
  t.keys('*')
  t.equal('* finds a name without %', vim.fn.getreg('/'), '\\<add\\.4\\>')
  t.check('the commands are there', vim.fn.exists(':BuflensPeak') == 2)
  t.wait('folds', function()
    return vim.fn.foldlevel(3) > 0 and vim.fn.foldlevel(20) > 0
  end)
  t.check('they are open', vim.fn.foldclosed(3) == -1)
  local tokens
  t.wait('semantic tokens', function()
    tokens = vim.lsp.semantic_tokens.get_at_pos(0, 2, 12)
    return tokens and #tokens > 0
  end)
  t.check('syntax without a server', vim.fn.synIDattr(vim.fn.synID(1, 1, 1), 'name') == 'buflensHeading')
  vim.bo.filetype = 'text'
  t.check('another file type: lines are wrapped', vim.wo.wrap)
  t.check('and the commands are gone', vim.fn.exists(':BuflensPeak') == 0)
  t.equal('and names are split', vim.bo.iskeyword, vim.go.iskeyword)

  -- Health.
  t.open('notes.txt')
  vim.cmd('checkhealth buflens')
  local health = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n')
  t.check('health: the server', health:find('OK buflens %d+%.%d+') ~= nil, health)
  t.check('health: the buffer', health:find('notes.txt (xla-buffer-assignment)', 1, true) ~= nil, health)
  t.check('health: no error', health:find('ERROR') == nil, health)
  t.equal('nothing was told', t.messages, {})
end)
