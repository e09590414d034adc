-- How the answers to the commands look, with the answers of stand_in.lua.
local t = require('support')
local server = require('stand_in')

--- Runs a command and gives the title and the texts of the quickfix list that comes of it.
local function list(command)
  vim.fn.setqflist({}, 'f')
  vim.cmd(command)
  t.wait(command, function()
    return vim.fn.getqflist({ size = 0 }).size > 0
  end)
  t.equal('it is shown', vim.bo.buftype, 'quickfix')
  local found = vim.fn.getqflist({ title = 0, items = 0 })
  t.equal('without the name of the file', vim.fn.getline(1), found.items[1].text)
  vim.cmd.cclose()
  local texts = { found.title }
  for _, item in ipairs(found.items) do
    table.insert(texts, ('%d:%d %s'):format(item.lnum, item.col, item.text))
  end
  return texts
end

local function asked()
  local last = server.asked[#server.asked]
  local arguments = vim.deepcopy(last.arguments[1])
  t.equal('about this file', vim.uri_to_bufnr(arguments.uri), server.buffer)
  arguments.uri = nil
  return { last.command, arguments }
end

t.test(function()
  local client = t.open(vim.fn.glob('module_0001.smallest.*'))
  local request = client.request
  server.put(client)

  vim.cmd('BuflensPeak')
  local shown, window = t.wait('the peak', t.float)
  t.equal('of the first space', asked(), { 'buflens.peak', {} })
  shown, window = t.float()
  t.equal('as it looks', vim.split(shown, '\n'), {
    'HBM of jit_f: 965.7 MiB (1,012,613,120 B) at step 13, copy.3',
    'of 1.26 GiB reserved: parameter 320.1 MiB, temp 645.6 MiB',
    'within 5 %: steps 13-14, 16; then 960.9 MiB at step 16, copy.4',
    'XLA prints step 14 as the peak, where 965.7 MiB are occupied',
    'Static, this module only; a what-if keeps schedule and placement.',
    'x: where would the peak be without this value?',
    '',
    '        bytes  share padding   if gone  steps  value',
    '[ ] 325.0 MiB  33.7%   1.01x  -4.8 MiB  13-14  copy.3  temp  model.py:12  jit(conv_general_dilated)/conv_general_dilated',
    '[ ]     512 B   0.0%                           copy-start.1{0}  parameter  two lines [31m',
    '    and 3 more',
  })
  t.equal('the cursor is on the first value', vim.api.nvim_win_get_cursor(window)[1], 9)

  t.keys('x')
  t.wait('x asks what if', function()
    return t.float():find('Without 1 value: 960.9 MiB at step 16, copy.4 (4.8 MiB less)', 1, true)
  end)
  t.equal('without that value', asked(), { 'buflens.whatIf', { space = 0, without = { 41 } } })
  t.check('which is ticked', t.float():find('[x] 325.0 MiB', 1, true) ~= nil)
  t.keys('jx')
  t.wait('and a second', function()
    return t.float():find('Without 2 values', 1, true)
  end)
  t.equal('without both', asked(), { 'buflens.whatIf', { space = 0, without = { 7, 41 } } })
  t.keys('xkx')
  t.wait('and without none', function()
    return t.float():find('x: where would', 1, true)
  end)

  t.keys('<Tab>')
  t.wait('the next space', function()
    return (t.float() or ''):find('^VMEM')
  end)
  t.keys('<CR>')
  t.equal('<CR> goes to the value', vim.fn.line('.'), 3)
  t.check('and the float is gone', t.float() == nil)
  vim.cmd('BuflensPeak 1')
  t.wait('the float', t.float)
  t.equal('of space 1', asked(), { 'buflens.peak', { space = 1 } })
  t.keys('q')
  t.check('q closes', t.float() == nil)

  local rows = {
    '3:2 325.0 MiB  steps 13-14  temp  copy.3  f32[32,513,5120]{2,1,0:T(8,128)}  model.py:12  jit(conv_general_dilated)/conv_general_dilated',
    '5:2 512 B  parameter  copy-start.1{0}  f32[128]  two lines [31m',
  }
  local title = 'HBM of jit_f: 965.7 MiB at step 13, copy.3 (3 more are not shown)'
  t.equal('as a list', list('BuflensPeak!'), { title, rows[1], rows[2] })
  vim.cmd('BuflensPeak')
  t.wait('the float', t.float)
  t.equal('Q makes one of the float', list('normal Q'), { title, rows[1], rows[2] })

  vim.cmd('BuflensWhatIf 41 7')
  t.wait('what if', function()
    return t.told('without value 41, 7 the peak goes from 965.7 MiB at step 13, copy.3 to 960.9 MiB at step 16, copy.4: 4.8 MiB less')
  end)
  vim.cmd('BuflensWhatIf 99')
  t.wait('an id that there is not', function()
    return t.told('no value has the id 99')
  end)
  t.check('and nothing of a peak without it', not t.told('without value 99 the peak'))
  vim.cmd('BuflensWhatIf copy.3')
  t.check('a name is no id', t.told('`copy.3` is no number'))

  t.equal('values at an offset', list('BuflensOffset 6 65536'), { 'allocation 6, offset 65536, in the order of time', rows[1], rows[2] })
  t.equal('asked for', asked(), { 'buflens.valueAtOffset', { allocation = 6, offset = 65536 } })
  vim.cmd('BuflensOffset 6')
  t.check('half of it', t.told(':BuflensOffset takes'))

  t.equal('padding', list('BuflensPadding'), {
    'padding: HBM 4.4 MiB at step 13, memory space 5 0 B',
    '3:2 +4.4 MiB (1.01x)  dimension 1: 513 -> 520  {1,0} takes 20.0 KiB  ' .. rows[1]:sub(5),
    '5:2 +448 B (8.00x)  scalar: 1 -> 256  ' .. rows[2]:sub(5),
  })
  t.equal('donation', list('BuflensDonation'), {
    'donation: 0 B donated; 64 B donated in vain; 512 B could match an output; 320.0 MiB dead before the peak',
    '3:2 320.0 MiB, parameter 0 Arg_0.1: not donated, not read any more at the peak, last read at step 5 by pad, alive at the peak',
    '4:2 512 B, parameter 1{1} Arg_1.2: not donated, as large as an output, allocation 4',
    '5:2 64 B, parameter 2 Arg_2.3: donated, but no output is written over it',
  })
  t.equal('copies', list('BuflensCopies'), {
    'copies: HBM 325.0 MiB, 0 B at the peak',
    '3:2 325.0 MiB  layout copy.3 of fusion.5  {2,0,1:T(8,128)} -> {2,1,0:T(8,128)}  step 13  alive at the peak  takes back copy.1',
    '4:2 512 B  prefetch copy-start  @0 -> @1  steps 1-4  model.py:3',
  })

  vim.cmd('BuflensPeak 9')
  t.wait('a reason is told', function()
    return t.told('no allocation is in memory space 9')
  end)
  for command, name in pairs({ ['buflens.copies'] = 'copies', ['buflens.donation'] = 'parameters' }) do
    server.answers[command] = function()
      return { schema = 1, module = 'jit_f', copies = {}, parameters = {}, spaces = {} }
    end
    vim.cmd(name == 'copies' and 'BuflensCopies' or 'BuflensDonation')
    t.wait('no ' .. name, function()
      return t.told('no ' .. name)
    end)
  end

  -- A code lens, as Neovim runs one.
  local lens = { title = 'HBM', command = 'buflens.peak', arguments = { { uri = vim.uri_from_bufnr(0), space = 1, step = 3 } } }
  client:exec_cmd(lens, { bufnr = 0 })
  t.wait('a lens', t.float)
  t.equal('asks what it says', asked(), { 'buflens.peak', { space = 1, step = 3 } })
  t.keys('<Esc>')

  -- A server that is too old, and one that fails.
  client.server_capabilities.executeCommandProvider = nil
  vim.cmd('BuflensPeak')
  t.check('an old server', t.told('does not know `buflens.peak` yet'))
  server.put(client)
  server.answers['buflens.padding'] = function()
    return nil
  end
  vim.cmd('BuflensPadding')
  t.wait('no dump', function()
    return t.told('this file is no part of a dump')
  end)
  client.request = request
end)
