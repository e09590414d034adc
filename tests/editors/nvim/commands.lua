-- The commands beyond the protocol, with what the server of today answers: numbers that can be added up by hand.
local t = require('support')

local function list(command)
  vim.fn.setqflist({}, 'f')
  vim.cmd(command)
  t.wait(command, function()
    return vim.fn.getqflist({ size = 0 }).size > 0
  end)
  local found = vim.fn.getqflist({ title = 0, items = 0 })
  vim.cmd.cclose()
  return found.title, found.items
end

t.test(function()
  -- Four values of 64 bytes: the parameter x.1 0-4, mul.2 1-3, sub.3 2-3, the output add.4 3-4.
  t.open(vim.fn.glob('module_0001.smallest.*'))
  vim.cmd('BuflensPeak')
  local shown = t.wait('the peak', t.float)
  t.check('all four at step 3', shown:find('of smallest: 256 B at step 3, add.4', 1, true) ~= nil, shown)
  t.check('of what is reserved', shown:find('of 256 B reserved', 1, true) ~= nil, shown)
  for _, name in ipairs({ 'x.1', 'mul.2', 'sub.3', 'add.4' }) do
    t.check(name .. ' is in it', shown:find(name, 1, true) ~= nil, shown)
  end
  vim.fn.search('sub\\.3')
  t.keys('x')
  t.wait('without sub.3', function()
    return t.float():find('Without 1 value: 192 B at step 3, add.4 (64 B less)', 1, true)
  end)
  t.keys('<CR>')
  t.check('<CR> goes there', vim.api.nvim_get_current_line():find('sub.3', 1, true) ~= nil)

  vim.cmd('BuflensMap')
  t.wait('the map', function()
    return vim.bo.filetype == 'buflens-map'
  end)
  t.check('what it is of', vim.fn.getline(1):find('smallest: 256 B of', 1, true) ~= nil, vim.fn.getline(1))
  t.check('the legend has it', vim.fn.search('^\\S\\s\\+sub\\.3') > 0)
  t.keys('<CR>')
  t.wait('<CR> goes to the value', function()
    return vim.bo.filetype == 'xla-buffer-assignment' and vim.api.nvim_get_current_line():find('sub.3', 1, true)
  end)
  vim.cmd.only()

  local title, items = list('BuflensPeak!')
  t.equal('as a list', { title:match(' of .*'), #items }, { ' of smallest: 256 B at step 3, add.4', 4 })
  vim.cmd.cfirst()
  t.equal('which leads to the file', vim.bo.filetype, 'xla-buffer-assignment')

  vim.cmd('BuflensWhatIf 3 2')
  t.wait('what if', function()
    return t.told('goes from 256 B at step 3, add.4 to 128 B at step 3, add.4: 128 B less')
  end)

  title, items = list('BuflensOffset 2 64')
  t.equal('a value at an offset', #items, 1)
  t.check('sub.3', items[1].text:find('sub.3', 1, true) ~= nil, items[1].text)

  title, items = list('BuflensDonation')
  t.check('a parameter that fits the output', items[1].text:find('as large as an output', 1, true) ~= nil, items[1].text)
  vim.cmd('BuflensCopies')
  t.wait('no copies', function()
    return t.told('the compiler inserted no copies')
  end)
  vim.cmd('BuflensPadding')
  t.wait('no padding', function()
    return t.told('no value has padding')
  end)

  -- A TPU program that copies to host memory and back, and with a file for each section.
  t.open(vim.fn.glob('module_0017.*-buffer-assignment.txt'))
  title, items = list('BuflensCopies')
  t.check('a copy to host memory', vim.iter(items):any(function(item)
    return item.text:find('offload copy-start', 1, true) ~= nil
  end), items)
  t.check('leads to a line', items[1].lnum > 0 and items[1].bufnr > 0, items[1])

  -- What changed between two programs, and files for others.
  local other = vim.fn.glob('module_0055.*-buffer-assignment.txt')
  vim.cmd('BuflensDiff ' .. vim.fn.fnameescape(other))
  t.wait('what changed', function()
    return vim.bo.filetype == 'buflens-diff'
  end)
  t.check('is told of both', vim.fn.search('jit_attention') > 0, vim.api.nvim_buf_get_lines(0, 0, -1, false))
  t.check('as in a terminal', vim.fn.search('| ') == 0, vim.api.nvim_buf_get_lines(0, 0, -1, false))
  -- A line leads to its value: of the dump after, and of the one before where it is gone.
  -- The dump before is in no window: it must not take that of what changed.
  for _, side in ipairs({ { '-', 'module_0055' }, { '+', 'module_0017' } }) do
    local sign, file = unpack(side)
    t.check('a line with ' .. sign, vim.fn.search('\\v^ *[' .. sign .. ']\\d', 'w') > 0)
    local line = vim.fn.getline('.')
    t.keys('<CR>')
    t.check('leads to its dump', vim.api.nvim_buf_get_name(0):find(file, 1, true) ~= nil, { line, vim.api.nvim_buf_get_name(0) })
    local name = vim.fn.getline('.'):match('<%d+ ([^ {]+)')
    t.check('and its value', name and line:find(name, 1, true) ~= nil, { line, vim.fn.getline('.') })
    vim.cmd.wincmd('b')
    t.check('beside what changed', vim.bo.filetype == 'buflens-diff', vim.api.nvim_buf_get_name(0))
  end
  -- Also where nothing else is shown.
  vim.cmd.only()
  vim.fn.search('\\v^ *-\\d', 'w')
  t.keys('<CR>')
  t.check('above what changed', vim.api.nvim_buf_get_name(0):find('module_0055', 1, true) ~= nil, vim.api.nvim_buf_get_name(0))
  vim.cmd.wincmd('b')
  t.check('which is still there', vim.bo.filetype == 'buflens-diff', vim.api.nvim_buf_get_name(0))
  t.keys('q')
  t.open(vim.fn.glob('module_0017.*-buffer-assignment.txt'))
  for name, start in pairs({
    ['out.html'] = '<!DOCTYPE html>',
    ['out.svg'] = '<svg',
    ['out.json'] = '{"schema":1',
    ['out.csv'] = 'id,',
    ['out.perfetto.json'] = '{',
  }) do
    vim.cmd('BuflensExport ' .. name)
    t.wait(name .. ' is written', function()
      return t.told(name .. ' is written')
    end)
    local text = table.concat(vim.fn.readfile(name), '\n')
    t.check(name .. ' begins as such', text:sub(1, #start) == start, text:sub(1, 80))
  end
  vim.cmd('BuflensExport out.csv')
  t.check('nothing is replaced by itself', t.told('out.csv exists'))
  vim.cmd('BuflensExport out.what')
  t.wait('a format that there is not', function()
    return t.told('there is no format `what`')
  end)

  t.open(vim.fn.glob('module_0055.*-buffer-assignment.txt'))
  title, items = list('BuflensPadding')
  t.check('padding of what has no dimensions', vim.iter(items):any(function(item)
    return item.text:find('scalar: 1 -> 256', 1, true) ~= nil
  end), items)

  -- From a line of source to what it made.
  vim.cmd('silent edit /elsewhere/models/gen.py')
  vim.api.nvim_buf_set_lines(0, 0, -1, false, vim.fn['repeat']({ '' }, 200))
  title, items = list('112BuflensWhere')
  t.check('what is asked', title:find('buffers of gen.py:112', 1, true) ~= nil, title)
  t.check('the largest first', items[1].text:find('fusion.6{1}', 1, true) ~= nil, items[1].text)
  t.check('leads to a dump', items[1].lnum > 0 and items[1].bufnr > 0, items[1])
  vim.cmd('2,3BuflensWhere')
  t.wait('what is near', function()
    return t.told('gen.py:2-3: none; the nearest lines that did are')
  end)
  vim.cmd('bdelete! gen.py')
  t.open(vim.fn.glob('module_0017.*-buffer-assignment.txt'))

  -- Lenses and hints are shown without being asked for.
  t.wait('code lenses', function()
    return #vim.lsp.codelens.get({ bufnr = 0 }) > 0
  end)
  t.wait('inlay hints', function()
    return #vim.lsp.inlay_hint.get({ bufnr = 0 }) > 0
  end)
  for _, lens in ipairs(vim.lsp.codelens.get({ bufnr = 0 })) do
    local command = (lens.lens.command or {}).command
    t.check('somebody shows ' .. tostring(command), not command or command == '' or vim.lsp.commands[command] ~= nil)
  end
end)
