-- The commands beyond the protocol (docs/lsp-extensions.md of Buflens): asked with workspace/executeCommand, shown in
-- a float or the quickfix list.
local text = require('buflens.text')

local M = {}

--- A result with nothing where JSON has `null`, which Neovim reads as a value that is true.
local function without_null(result)
  if type(result) ~= 'table' then
    return result
  end
  for key, value in pairs(result) do
    if value == vim.NIL then
      result[key] = nil
    else
      without_null(value)
    end
  end
  return result
end

--- Runs a command of the server and calls `show(result, source)`; says what is in the way if there is something.
---@param source { client: vim.lsp.Client, bufnr: integer }? where to ask; nil: the current buffer
function M.ask(command, arguments, source, show)
  local bufnr = source and source.bufnr or vim.api.nvim_get_current_buf()
  local client = source and source.client or vim.lsp.get_clients({ bufnr = bufnr, name = 'buflens' })[1]
  if not client or client:is_stopped() then
    return text.say('no server is attached to this buffer; see :checkhealth buflens', vim.log.levels.WARN)
  end
  local offered = vim.tbl_get(client.server_capabilities, 'executeCommandProvider', 'commands') or {}
  if not vim.list_contains(offered, command) then
    local version = vim.tbl_get(client.server_info or {}, 'version') or '?'
    local message = ('this server (version %s) does not know `%s` yet; a newer one does'):format(version, command)
    return text.say(message, vim.log.levels.WARN)
  end
  -- What is asked about a file of source is asked of all dumps.
  if not arguments.file then
    arguments = vim.tbl_extend('keep', arguments, { uri = vim.uri_from_bufnr(bufnr) })
  end
  client:request('workspace/executeCommand', { command = command, arguments = { arguments } }, function(err, result)
    if err then
      text.say(err.message or vim.inspect(err), vim.log.levels.ERROR)
    elseif not result or result == vim.NIL then
      text.say('this file is no part of a dump', vim.log.levels.WARN)
    else
      show(without_null(result), { client = client, bufnr = bufnr })
    end
  end, bufnr)
end

--- Fills the quickfix list with `rows`, each with a `text` and the `location` that it leads to.
function M.list(title, rows, nothing)
  if #rows == 0 then
    return text.say(nothing)
  end
  local items = vim.tbl_map(function(row)
    local start = vim.tbl_get(row.location or {}, 'range', 'start')
    return {
      filename = start and vim.uri_to_fname(row.location.uri),
      lnum = start and start.line + 1,
      col = start and start.character + 1,
      text = text.line(row.text),
    }
  end, rows)
  vim.fn.setqflist({}, ' ', {
    title = text.line(title),
    items = items,
    quickfixtextfunc = "v:lua.require'buflens.commands'.texts",
  })
  vim.cmd('botright copen')
  vim.wo[0][0].wrap = false
end

--- How the quickfix window shows a list: the names of a dump's files are long, and say nothing here.
function M.texts(info)
  local items = vim.fn.getqflist({ id = info.id, items = 0 }).items
  return vim.tbl_map(function(item)
    return item.text
  end, vim.list_slice(items, info.start_idx, info.end_idx))
end

local function left_out(count)
  return (count or 0) > 0 and (' (%d more are not shown)'):format(count) or ''
end

--- A value as a row of the quickfix list.
local function value_row(value)
  return {
    location = value.location,
    text = text.join({
      text.bytes(value.bytes),
      text.during(value.live),
      value.kind,
      text.name(value),
      value.shape,
      text.source(value.source),
      value.op_name,
    }),
  }
end

function M.show_peak(result, source)
  if not result.step then
    return text.say(result.reason or 'this dump does not tell when its values are alive')
  end
  require('buflens.peak').open(result, source)
end

function M.list_peak(result)
  if not result.step then
    return text.say(result.reason or 'this dump does not tell when its values are alive')
  end
  local title = ('%s of %s: %s'):format(text.space(result), result.module, text.moment(result))
  M.list(title .. left_out(result.values_left_out), vim.tbl_map(value_row, result.values), 'nothing is alive there')
end

function M.show_what_if(result)
  if (result.unknown or {})[1] then
    text.say('no value has the id ' .. table.concat(result.unknown, ', '), vim.log.levels.WARN)
  end
  if #(result.unknown or {}) == #result.without then
    return
  end
  if not (result.before and result.after) then
    return text.say(result.reason or 'this dump does not tell when its values are alive')
  end
  text.say(
    ('without value %s the peak goes from %s to %s: %s less, %s'):format(
      table.concat(result.without, ', '),
      text.moment(result.before),
      text.moment(result.after),
      text.bytes(result.saved_bytes),
      result.note or ''
    )
  )
end

function M.list_values_at(result)
  local title = ('allocation %d, offset %d, in the order of time'):format(result.allocation, result.offset)
  M.list(title, vim.tbl_map(value_row, result.values), 'no value holds this offset')
end

function M.list_padding(result)
  local spaces = vim.tbl_map(function(space)
    local at = space.step and (' at step %d'):format(space.step) or ''
    return ('%s %s%s'):format(text.space(space), text.bytes(space.padding_bytes), at)
  end, result.spaces)
  local rows = vim.tbl_map(function(value)
    local row, dimension, order = value_row(value), value.dimension, value.order
    row.text = text.join({
      ('+%s (%.2fx)'):format(text.bytes(value.padding_bytes), value.ratio),
      dimension
        and ('%s: %d -> %d'):format(
          dimension.number and 'dimension ' .. dimension.number or 'scalar',
          dimension.from,
          dimension.to
        ),
      order and ('{%s} takes %s'):format(table.concat(order.minor_to_major, ','), text.bytes(order.bytes)),
      row.text,
    })
    return row
  end, result.values)
  local title = 'padding: ' .. table.concat(spaces, ', ') .. left_out(result.values_left_out)
  M.list(title, rows, 'no value has padding')
end

local VERDICTS = {
  donated = 'donated',
  ['not-usable'] = 'donated, but no output is written over it',
  ['could-match'] = 'not donated, as large as an output',
  dead = 'not donated, not read any more at the peak',
  kept = 'not donated',
}

function M.list_donation(result)
  local rows = vim.tbl_map(function(parameter)
    local read = parameter.last_read
    local index = parameter.index ~= '{}' and parameter.index or ''
    return {
      location = parameter.location,
      text = text.join({
        text.bytes(parameter.bytes),
        ('parameter %d%s %s: %s'):format(
          parameter.parameter,
          index,
          parameter.name or '',
          VERDICTS[parameter.verdict] or parameter.verdict
        ),
        read and ('last read at step %d by %s'):format(read.step, read.instruction or '?'),
        parameter.outputs and parameter.outputs[1] and 'allocation ' .. table.concat(parameter.outputs, ', '),
        parameter.alive_at_peak and 'alive at the peak',
      }, ', '),
    }
  end, result.parameters)
  local in_vain = result.not_usable_bytes or 0
  local title = ('donation: %s donated; %s%s could match an output; %s dead before the peak'):format(
    text.bytes(result.donated_bytes),
    in_vain > 0 and text.bytes(in_vain) .. ' donated in vain; ' or '',
    text.bytes(result.could_match_bytes),
    text.bytes(result.dead_bytes)
  )
  M.list(title, rows, result.reason or 'this program has no parameters')
end

function M.list_copies(result)
  local rows = vim.tbl_map(function(copy)
    local from, to = copy.from or {}, copy.to or {}
    return {
      location = copy.location,
      text = text.join({
        text.bytes(copy.bytes),
        copy.kind .. ' ' .. copy.name .. (copy.operand and ' of ' .. copy.operand or ''),
        from.layout ~= to.layout and ('%s -> %s'):format(from.layout, to.layout),
        from.space ~= to.space and ('@%s -> @%s'):format(from.space, to.space),
        text.during(copy.window),
        copy.alive_at_peak and 'alive at the peak',
        copy.round_trip and 'takes back ' .. copy.round_trip,
        text.source(copy.source),
      }),
    }
  end, result.copies)
  local spaces = vim.tbl_map(function(space)
    return ('%s %s, %s at the peak'):format(
      text.space(space),
      text.bytes(space.copied_bytes),
      text.bytes(space.at_peak_bytes)
    )
  end, result.spaces)
  local title = 'copies: ' .. table.concat(spaces, '; ') .. left_out(result.copies_left_out)
  M.list(title, rows, result.reason or 'the compiler inserted no copies')
end

--- The numbers that a command was given; nil, and a message, if one of them is none.
local function numbers(given)
  local all = {}
  for _, word in ipairs(given.fargs) do
    local number = word:find('^%d+$') and tonumber(word)
    if not number then
      return text.say(('`%s` is no number'):format(word), vim.log.levels.ERROR)
    end
    table.insert(all, number)
  end
  return all
end

function M.peak(given)
  local all = numbers(given)
  if all then
    M.ask('buflens.peak', { space = all[1] }, nil, given.bang and M.list_peak or M.show_peak)
  end
end

function M.map(given)
  local all = numbers(given)
  if all then
    M.ask('buflens.textMap', { space = all[1], width = math.max(vim.o.columns, 40) }, nil, function(result, source)
      require('buflens.map').open(result, source)
    end)
  end
end

function M.what_if(given)
  local ids = numbers(given)
  if ids then
    M.ask('buflens.whatIf', { without = ids }, nil, M.show_what_if)
  end
end

function M.offset(given)
  local all = numbers(given)
  if all and not all[2] then
    text.say(':BuflensOffset takes the number of an allocation and an offset', vim.log.levels.ERROR)
  elseif all then
    M.ask('buflens.valueAtOffset', { allocation = all[1], offset = all[2], step = all[3] }, nil, M.list_values_at)
  end
end

function M.padding(given)
  local all = numbers(given)
  if all then
    M.ask('buflens.padding', { space = all[1] }, nil, M.list_padding)
  end
end

function M.donation()
  M.ask('buflens.donation', {}, nil, M.list_donation)
end

function M.copies()
  M.ask('buflens.copies', {}, nil, M.list_copies)
end

--- Compares with the dump that `file` belongs to, which was before.
function M.diff(given)
  local path = vim.fn.fnamemodify(vim.fn.expand(given.args), ':p')
  local asked = { other = vim.uri_from_fname(path), limit = 100, width = vim.o.columns }
  M.ask('buflens.diff', asked, nil, function(result, source)
    require('buflens.diff').open(result, source)
  end)
end

--- Writes the dump to a file, in the format that its name ends in; the server knows which there are.
function M.export(given)
  local path = vim.fn.fnamemodify(given.args, ':p')
  if vim.uv.fs_stat(path) and not given.bang then
    return text.say(('%s exists (add ! to override)'):format(given.args), vim.log.levels.ERROR)
  end
  local format = path:find('%.perfetto%.json$') and 'perfetto' or vim.fn.fnamemodify(path, ':e')
  M.ask('buflens.export', { format = format }, nil, function(result)
    local file, problem = io.open(path, 'wb')
    local written = file and file:write(result.text)
    if not (file and file:close() and written) then
      return text.say(problem or ('%s cannot be written'):format(path), vim.log.levels.ERROR)
    end
    text.say(('%s is written'):format(given.args))
  end)
end

--- Lists what the lines `given` of the current buffer made, in all dumps that the server knows.
function M.where(given)
  local client = vim.lsp.get_clients({ name = 'buflens' })[1]
  if not client then
    return text.say('no dump is known: open one of the program that this file is part of', vim.log.levels.WARN)
  end
  local file = vim.uri_from_bufnr(0)
  local arguments = { file = file, line = given.line1, last_line = given.line2 }
  M.ask('buflens.where', arguments, { client = client, bufnr = next(client.attached_buffers) }, M.list_made)
end

function M.list_made(result)
  local rows = vim.tbl_map(function(value)
    local row = value_row(value)
    row.text = text.join({ row.text, value.at_peak and 'alive at the peak', value.module })
    return row
  end, result.values)
  local first, last = unpack(result.lines)
  local lines = first == last and first or ('%d-%d'):format(first, last)
  local near = vim.tbl_map(function(line)
    return line.line
  end, result.nearest)
  local nearest = near[1] and ('the nearest lines that did are ' .. table.concat(near, ', '))
    or ('no value of %d dumps is from this file'):format(result.dumps_read)
  local title = ('buffers of %s:%s'):format(vim.fs.basename(result.file), lines)
  M.list(title .. left_out(result.values_left_out), rows, ('%s: none; %s'):format(title, nearest))
end

local SHOWN = {
  ['buflens.peak'] = M.show_peak,
  ['buflens.whatIf'] = M.show_what_if,
  ['buflens.valueAtOffset'] = M.list_values_at,
  ['buflens.padding'] = M.list_padding,
  ['buflens.donation'] = M.list_donation,
  ['buflens.copies'] = M.list_copies,
}

--- Runs a command of the server as a code lens gives it, or whoever binds a key to one.
function M.lens(command, context)
  local client = context.client_id and vim.lsp.get_client_by_id(context.client_id)
  local source = client and { client = client, bufnr = context.bufnr or vim.api.nvim_get_current_buf() }
  M.ask(command.command, (command.arguments or {})[1] or {}, source, SHOWN[command.command])
end

return M
