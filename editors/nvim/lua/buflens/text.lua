-- Numbers and values as text.
local M = {}

local UNITS = { 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB' }

--- `512 B`, `325.0 MiB`, `1.26 GiB`
function M.bytes(bytes)
  if bytes == nil then
    return 'bytes not known'
  end
  if math.abs(bytes) < 1024 then
    return ('%d B'):format(bytes)
  end
  local value, unit = bytes / 1024, 1
  while math.abs(value) >= 1023.95 and unit < #UNITS do
    value, unit = value / 1024, unit + 1
  end
  return (unit < 3 and '%.1f %s' or '%.2f %s'):format(value, UNITS[unit])
end

--- `325.0 MiB (340,787,200 B)`
function M.exact(bytes)
  if bytes < 1024 then
    return M.bytes(bytes)
  end
  local digits = ('%d'):format(bytes):reverse():gsub('(%d%d%d)', '%1,'):reverse():gsub('^,', '')
  return ('%s (%s B)'):format(M.bytes(bytes), digits)
end

--- `965.7 MiB at step 13, copy.3`
function M.moment(moment, bytes)
  local at = ('%s at step %d'):format((bytes or M.bytes)(moment.occupied_bytes), moment.step)
  return moment.instruction and at .. ', ' .. moment.instruction or at
end

--- `13-14`, `13`
function M.steps(range)
  if not range then
    return ''
  end
  return range[1] == range[2] and tostring(range[1]) or ('%d-%d'):format(range[1], range[2])
end

--- `steps 13-14`, `step 13`
function M.during(range)
  return range and (range[1] == range[2] and 'step ' or 'steps ') .. M.steps(range)
end

--- A name with its index, which goes without saying if it is empty.
function M.name(value)
  local index = value.index ~= '{}' and value.index or ''
  return (value.name or '?') .. index
end

--- `gen.py:112`: lists and floats have no room for folders.
function M.source(place)
  return place and vim.fs.basename(place)
end

--- What there is of these, with `between` between them.
function M.join(parts, between)
  return vim
    .iter(parts)
    :filter(function(part)
      return part and part ~= ''
    end)
    :join(between or '  ')
end

--- `name (VMEM)`, or its number where a dump does not name it.
function M.space(space)
  return space.name or ('memory space %d'):format(space.color or space.space)
end

--- One line that a buffer and a terminal take: texts of a dump may hold anything.
function M.line(text)
  return (text:gsub('%c', ' '))
end

function M.say(text, level)
  vim.notify('Buflens: ' .. M.line(text), level or vim.log.levels.INFO)
end

return M
