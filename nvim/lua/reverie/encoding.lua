--- Texts that are not UTF-8, or will not be when they are written.
local M = {}

--- There and back again, or nil if Neovim does not know the encoding. What it has no letter for comes back as another.
---@param text string
---@param encoding string
---@return string?
local function through(text, encoding)
  local there = vim.iconv(text, 'utf-8', encoding)
  return there and vim.iconv(there, encoding, 'utf-8')
end

--- How long the letter is with which these bytes begin; nil if they do not begin with one.
---@param bytes string
---@return integer?
local function letter(bytes)
  local first, second = bytes:byte(1, 2)
  second = second or 0
  local length, least, most = nil, 0x80, 0xBF
  if first >= 0xC2 and first <= 0xDF then
    length = 2
  elseif first >= 0xE0 and first <= 0xEF then
    length = 3
    least, most = first == 0xE0 and 0xA0 or least, first == 0xED and 0x9F or most
  elseif first >= 0xF0 and first <= 0xF4 then
    length = 4
    least, most = first == 0xF0 and 0x90 or least, first == 0xF4 and 0x8F or most
  end
  return length and #bytes >= length and second >= least and second <= most and length or nil
end

--- With a question mark for each byte that belongs to no letter: whoever counts in the text counts the same.
---@param text string
---@return string
function M.utf8(text)
  if not text:find('[\128-\255]') or through(text, 'utf-16le') == text then
    return text
  end
  local valid = text:gsub('[\128-\255][\128-\191]*', function(bytes)
    local length = letter(bytes) or 0
    return bytes:sub(1, length) .. ('?'):rep(#bytes - length)
  end)
  return valid
end

--- All texts in what is sent to the server: a message with one that is not UTF-8 would never arrive.
---@generic T
---@param message T
---@return T
function M.sendable(message)
  if type(message) == 'string' then
    return M.utf8(message)
  elseif type(message) == 'table' then
    for key, value in pairs(message) do
      message[key] = M.sendable(value)
    end
  end
  return message
end

--- How many units of an encoding stand before a byte of a text.
---@param text string
---@param byte integer From 0.
---@param units string As LSP calls it: `utf-8`, `utf-16` or `utf-32`.
---@return integer
function M.column(text, byte, units)
  byte = math.max(0, math.min(byte, #text))
  if units == 'utf-8' then
    return byte
  end
  local letters = M.utf8(text:sub(1, byte))
  local bytes = assert(vim.iconv(letters, 'utf-8', units == 'utf-16' and 'utf-16le' or 'ucs-4le'))
  return math.floor(#bytes / (units == 'utf-16' and 2 or 4))
end

--- The first letter of a buffer that the encoding of its file does not have, and its line.
---@param buffer integer
---@return string? letter
---@return integer? line
function M.unwritable(buffer)
  local encoding = vim.bo[buffer].fileencoding
  if encoding == '' or encoding == 'utf-8' or vim.bo[buffer].binary then
    return
  end
  local function fits(text)
    local back = through(text, encoding)
    return not back or back == text
  end
  local lines = vim.api.nvim_buf_get_lines(buffer, 0, -1, false)
  if fits(table.concat(lines, '\n')) then
    return
  end
  for number, line in ipairs(lines) do
    if not fits(line) then
      for _, one in ipairs(vim.fn.split(line, '\\zs')) do
        if not fits(one) then
          return one, number
        end
      end
    end
  end
end

return M
