-- The float with what a peak is made of.
local commands = require('buflens.commands')
local text = require('buflens.text')

local M = {}

local SPACE = vim.api.nvim_create_namespace('buflens.peak')
local KEYS = ' <CR> go there  x leave it out  <Tab> next space  Q quickfix  q close '

--- The lines above the values, with the highlight of each.
local function head(peak)
  local result, moved = peak.result, peak.moved
  local kinds = {}
  for kind, bytes in vim.spairs(result.kinds or {}) do
    if bytes > 0 then
      table.insert(kinds, ('%s %s'):format(kind, text.bytes(bytes)))
    end
  end
  local near = vim.tbl_map(text.steps, result.near or {})
  local within = 'within 5 %: step' .. (#near == 1 and tonumber(near[1]) and ' ' or 's ')
  local next = vim.tbl_map(text.moment, result.next or {})
  local xla, printed = result.xla_peak, ''
  if xla and xla.step ~= result.step then
    printed = ('XLA prints step %d as the peak'):format(xla.step)
    if xla.occupied_bytes then
      printed = ('%s, where %s are occupied'):format(printed, text.bytes(xla.occupied_bytes))
    end
  end
  local without = 'x: where would the peak be without this value?'
  if moved then
    local count = vim.tbl_count(peak.without)
    local values = count == 1 and 'value' or 'values'
    without = ('Without %d %s: %s (%s less)'):format(count, values, text.moment(moved.after), text.bytes(moved.saved_bytes))
  end
  local lines = {
    { ('%s of %s: %s'):format(text.space(result), result.module, text.moment(result, text.exact)), 'Title' },
    { text.join({ 'of ' .. text.bytes(result.reserved_bytes) .. ' reserved', table.concat(kinds, ', ') }, ': ') },
    {
      text.join({
        near[1] and within .. table.concat(near, ', ', 1, math.min(#near, 6)),
        next[1] and 'then ' .. next[1],
      }, '; '),
    },
    { 'Static, this module only; a what-if keeps schedule and placement.', 'Comment' },
    { without, moved and 'WarningMsg' or 'Comment' },
    { '' },
    { ('    %9s %6s %7s %9s  %-' .. peak.steps .. 's  %s'):format('bytes', 'share', 'padding', 'if gone', 'steps', 'value'), 'Comment' },
  }
  if printed ~= '' then
    table.insert(lines, 4, { printed, 'WarningMsg' })
  end
  return lines
end

local function row(peak, value)
  local logical = value.logical_bytes
  local moved = value.what_if and peak.result.occupied_bytes - value.what_if.occupied_bytes
  return ('%s %9s %5.1f%% %7s %9s  %-' .. peak.steps .. 's  %s'):format(
    peak.without[value.id] and '[x]' or '[ ]',
    text.bytes(value.bytes),
    100 * value.bytes / math.max(peak.result.occupied_bytes, 1),
    logical and logical > 0 and logical < value.bytes and ('%.2fx'):format(value.bytes / logical) or '',
    moved and (moved > 0 and '-' or '') .. text.bytes(moved) or '',
    text.steps(value.live),
    text.join({ text.name(value), value.kind, text.source(value.source), value.op_name })
  )
end

local function draw(peak)
  local lines, marks = {}, {}
  for _, line in ipairs(head(peak)) do
    table.insert(lines, text.line(line[1]))
    marks[#lines] = line[2]
  end
  peak.first = #lines + 1
  for _, value in ipairs(peak.result.values) do
    table.insert(lines, text.line(row(peak, value)))
    marks[#lines] = peak.without[value.id] and 'Comment' or nil
  end
  if (peak.result.values_left_out or 0) > 0 then
    table.insert(lines, ('    and %d more'):format(peak.result.values_left_out))
  end
  vim.bo[peak.buffer].modifiable = true
  vim.api.nvim_buf_set_lines(peak.buffer, 0, -1, false, lines)
  vim.bo[peak.buffer].modifiable = false
  vim.api.nvim_buf_clear_namespace(peak.buffer, SPACE, 0, -1)
  for line, group in pairs(marks) do
    vim.api.nvim_buf_set_extmark(peak.buffer, SPACE, line - 1, 0, { end_row = line, hl_group = group, strict = false })
  end
  return lines
end

local function value_under_cursor(peak)
  return peak.result.values[vim.api.nvim_win_get_cursor(0)[1] - peak.first + 1]
end

local function close(peak)
  if vim.api.nvim_win_is_valid(peak.window) then
    vim.api.nvim_win_close(peak.window, true)
  end
end

local function go(peak)
  local value = value_under_cursor(peak)
  if value and value.location then
    close(peak)
    vim.lsp.util.show_document(value.location, peak.source.client.offset_encoding, { reuse_win = true, focus = true })
  end
end

local function leave_out(peak)
  local value = value_under_cursor(peak)
  if not value then
    return
  end
  peak.without[value.id] = not peak.without[value.id] or nil
  peak.moved = nil
  draw(peak)
  local ids = vim.tbl_keys(peak.without)
  if #ids == 0 then
    return
  end
  table.sort(ids)
  local asked = { space = peak.result.space, without = ids }
  commands.ask('buflens.whatIf', asked, peak.source, function(result)
    -- Something else may be ticked by now, or the float be gone.
    local ticked = vim.tbl_keys(peak.without)
    table.sort(ticked)
    if vim.deep_equal(ticked, ids) and vim.api.nvim_buf_is_valid(peak.buffer) and result.after then
      peak.moved = result
      draw(peak)
    end
  end)
end

local function next_space(peak)
  local spaces = peak.result.spaces or {}
  for at, space in ipairs(spaces) do
    if space.color == peak.result.space and #spaces > 1 then
      close(peak)
      local color = spaces[at % #spaces + 1].color
      return commands.ask('buflens.peak', { space = color }, peak.source, commands.show_peak)
    end
  end
end

--- Opens the float with a result of `buflens.peak`.
---@param source { client: vim.lsp.Client, bufnr: integer } where it came from
function M.open(result, source)
  local peak = { result = result, source = source, without = {}, buffer = vim.api.nvim_create_buf(false, true) }
  peak.steps = #'steps'
  for _, value in ipairs(result.values) do
    peak.steps = math.max(peak.steps, #text.steps(value.live))
  end
  local lines = draw(peak)
  local width = vim.fn.strdisplaywidth(KEYS) + 2
  for _, line in ipairs(lines) do
    width = math.max(width, vim.fn.strdisplaywidth(line))
  end
  width = math.min(width, 120, vim.o.columns - 4)
  local height = math.max(1, math.min(#lines, vim.o.lines - 6))
  peak.window = vim.api.nvim_open_win(peak.buffer, true, {
    relative = 'editor',
    row = math.floor((vim.o.lines - height) / 2) - 1,
    col = math.floor((vim.o.columns - width) / 2),
    width = width,
    height = height,
    style = 'minimal',
    border = 'rounded',
    title = ' Peak ',
    footer = vim.fn.strdisplaywidth(KEYS) <= width and KEYS or nil,
  })
  vim.bo[peak.buffer].bufhidden = 'wipe'
  vim.bo[peak.buffer].filetype = 'buflens-peak'
  vim.wo[peak.window].wrap = false
  vim.wo[peak.window].cursorline = true
  pcall(vim.api.nvim_win_set_cursor, peak.window, { peak.first, 0 })

  local function map(key, action, description)
    vim.keymap.set('n', key, function()
      action(peak)
    end, { buffer = peak.buffer, nowait = true, desc = description })
  end
  map('<CR>', go, 'Go to the value')
  map('x', leave_out, 'What if this value were not there')
  map('<Tab>', next_space, 'The peak of the next memory space')
  map('Q', function()
    close(peak)
    commands.list_peak(result)
  end, 'The values in the quickfix list')
  map('q', close, 'Close')
  map('<Esc>', close, 'Close')
end

return M
