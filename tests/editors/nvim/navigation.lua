-- Hovers, jumps, symbols and findings.
local t = require('support')

local function hover(what, line, text, expected)
  t.go(line, text)
  t.keys('K')
  local shown, window
  t.wait('hover on ' .. what, function()
    shown, window = t.float()
    return shown
  end)
  for _, part in ipairs(expected) do
    t.check('which says ' .. part, shown:find(part, 1, true) ~= nil, shown)
  end
  vim.api.nvim_win_close(window, true)
end

local function jump(what, go, expected)
  go()
  t.wait(what, function()
    return vim.startswith(vim.api.nvim_get_current_line(), expected)
  end, vim.api.nvim_get_current_line)
end

t.test(function()
  t.open(vim.fn.glob('module_0001.smallest.*-buffer-assignment.txt'))
  hover('a value', '^ value: <2', 'mul.2', { 'mul.2', 'f32[16]{0}', 'steps 1-3' })
  hover('an allocation', '^allocation 2', 'allocation', { 'allocation 2', '128 B' })

  t.go('^ value: <2', 'mul.2')
  jump('definition', vim.lsp.buf.definition, '<2 mul.2 @0>')
  t.go('^    mul.2{}:', 'mul.2')
  jump('CTRL-]', function()
    t.keys('<C-]>')
  end, '<2 mul.2 @0>')
  jump('and back', function()
    t.keys('<C-t>')
  end, '    mul.2{}:1-3')
  t.go('^<3 sub', 'sub.3')
  jump('type definition', vim.lsp.buf.type_definition, 'allocation 2: size 128')

  t.go('^ value: <2', 'mul.2')
  vim.lsp.buf.references()
  t.wait('references', function()
    return #vim.fn.getqflist() >= 3
  end)
  vim.cmd.cclose()

  vim.lsp.buf.document_symbol()
  local symbols = t.wait('symbols', function()
    local list = vim.fn.getloclist(0)
    return #list > 10 and vim.tbl_map(function(item)
      return item.text
    end, list)
  end)
  t.check('an allocation among them', table.concat(symbols, '\n'):find('allocation 2') ~= nil, symbols)
  vim.cmd.lclose()

  -- Into a sibling: the values are in a file of their own.
  t.open(vim.fn.glob('module_0017.*-buffer-assignment.txt'))
  t.go('copy-start.2{0}', 'copy-start.2')
  jump('definition in a sibling', vim.lsp.buf.definition, '<20 copy-start.2{0} @1>')
  t.check('which is another file', vim.api.nvim_buf_get_name(0):find('-values.txt', 1, true) ~= nil)
  t.equal('with its file type', vim.bo.filetype, 'xla-buffer-assignment')
  jump('implementation in the HLO text', vim.lsp.buf.implementation, '  %copy-start.2 = ')
  t.equal('which is hlo', vim.bo.filetype, 'hlo')

  -- A report.
  t.open(vim.fn.glob('module_0017.*-memory-usage-report.txt'))
  t.equal('a report', vim.bo.filetype, 'xla-memory-report')
  hover('a memory space', '^Memory Space: .*color=0', 'Memory', { 'HBM' })

  -- A broken dump.
  t.open(vim.fn.glob('module_0001.total.*'))
  local found = t.wait('diagnostics', function()
    local all = vim.diagnostic.get(0)
    return all[1] and all
  end)
  t.equal('one finding', { #found, found[1].code }, { 1, 'total-bytes' })
  t.open('planted-error.txt')
  found = t.wait('diagnostics of a renamed dump', function()
    return vim.diagnostic.get(0)[1]
  end)
  t.equal('with the line', { found.code, found.lnum, found.severity }, { 'bytes-overlap', 21, vim.diagnostic.severity.ERROR })
  vim.cmd('22s/1617920/1622016/')
  t.wait('which goes when it is mended', function()
    return #vim.diagnostic.get(0, { severity = vim.diagnostic.severity.ERROR }) == 0
  end)

  -- Settings reach the server.
  vim.cmd('silent undo')
  vim.lsp.config('buflens', { settings = { buflens = { severity = { ['bytes-overlap'] = 'hint' } } } })
  vim.lsp.enable('buflens', false)
  t.wait('stopped', function()
    return #vim.lsp.get_clients({ name = 'buflens' }) == 0
  end)
  vim.lsp.enable('buflens')
  t.open('planted-error.txt')
  t.wait('severities are the user\'s', function()
    local finding = vim.diagnostic.get(0)[1]
    return finding and finding.severity == vim.diagnostic.severity.HINT
  end)

  -- A file that vanishes while it is open.
  vim.uv.fs_unlink(vim.api.nvim_buf_get_name(0))
  hover('a value of a file that is gone', '^ value: <48', 'copy-start.1', { 'copy-start.1' })
  t.equal('nothing was told', t.messages, {})
end)
