--- Colours for Markdown, by Neovim's own grammars, piece by piece: a grammar that follows a whole conversation would
--- parse all of it again with each word that streams in.
local M = {}

local namespace = vim.api.nvim_create_namespace('reverie.markdown')

--- Longer ones stay plain: a line may be so long.
local MOST_BYTES = 20000

--- A piece that is longer than this ends at the next empty line of its code, and one of twice that at any line: what is
--- parsed at once is what takes the longest.
local PIECE_BYTES = 400

--- The grammar of Markdown runs out of memory, and Neovim with it, in lists and quotes that are nested some hundred deep.
local DEEPEST = 100

--- Whether the grammar can be trusted with it.
---@param lines string[]
---@return boolean
function M.is_safe(lines)
  for _, line in ipairs(lines) do
    local markers = line:match('^[%s>*+%-%d.)]*') or ''
    if #markers > DEEPEST / 2 then
      local _, count = markers:gsub('[>*+.)%-]', '')
      local _, spaces = markers:gsub(' ', '')
      local _, tabs = markers:gsub('\t', '')
      -- A list in a list is two columns further right at least.
      if count + (spaces + 4 * tabs) / 2 > DEEPEST then
        return false
      end
    end
  end
  return true
end

--- Captures that are no colours.
local NOT_COLOURS = { spell = true, nospell = true, conceal = true, none = true }

--- Neovim forgets a query that nobody holds, and takes a frame or two to read it again.
---@type table<string, vim.treesitter.Query|false>
local queries = {}

---@param language string
---@param kind 'highlights'|'injections'
---@return vim.treesitter.Query|false
local function query_of(language, kind)
  local key = ('%s %s'):format(language, kind)
  if queries[key] == nil then
    queries[key] = vim.treesitter.query.get(language, kind) or false
  end
  return queries[key]
end

---@param buffer integer
---@param first integer The line of the text's first, from 0.
---@param text string
---@param hidden integer So many of its first lines are not in the buffer.
local function paint(buffer, first, text, hidden)
  local made, parser = pcall(vim.treesitter.get_string_parser, text, 'markdown')
  if not made then
    return
  end
  parser:parse(true)
  parser:for_each_tree(function(tree, language_tree)
    local language = language_tree:lang()
    local query = query_of(language, 'highlights')
    query_of(language, 'injections')
    if not query then
      return
    end
    for id, node, metadata in query:iter_captures(tree:root(), text) do
      local name = query.captures[id]
      local range = vim.treesitter.get_range(node, text, metadata[id])
      local conceal = metadata.conceal or (metadata[id] and metadata[id].conceal)
      local is_colour = not NOT_COLOURS[name] and name:sub(1, 1) ~= '_'
      local is_in_sight = range[4] > hidden or range[4] == hidden and range[5] > 0
      if (is_colour or conceal) and is_in_sight then
        local from = range[1] >= hidden and range or { hidden, 0 }
        -- A node may end behind the last line.
        pcall(vim.api.nvim_buf_set_extmark, buffer, namespace, first + from[1] - hidden, from[2], {
          end_row = first + range[4] - hidden,
          end_col = range[5],
          hl_group = is_colour and ('@%s.%s'):format(name, language) or nil,
          conceal = conceal,
          priority = math.floor(tonumber(metadata.priority) or 100),
          strict = false,
        })
      end
    end
  end)
  parser:destroy()
end

--- The fence of the code block that is open behind a line, given the one before it.
---@param fence? string
---@param line string
---@return string?
function M.fence_after(fence, line)
  local marks = line:match('^ ? ? ?(```+)') or line:match('^ ? ? ?(~~~+)')
  if not fence then
    return marks
  end
  local closes = marks and marks:sub(1, 1) == fence:sub(1, 1) and #marks >= #fence
  return not closes and fence or nil
end

--- What closes the code block that is open behind these lines, if one is.
---@param lines string[]
---@param opened? string The line that opened the code block that they begin in.
---@return string?
function M.closing(lines, opened)
  local fence = opened and M.fence_after(nil, opened)
  for _, line in ipairs(lines) do
    fence = M.fence_after(fence, line)
  end
  return fence
end

--- A paragraph or a code block or a part of one, in lines of its row.
---@class reverie.Piece
---@field from integer
---@field to integer Exclusive.
---@field opened? string The line that opened the code block that it begins in.
---@field open? string That of the one that is open behind it.
---@field painted? boolean

--- The pieces that are complete, in lines that begin where a piece does.
---@param lines string[]
---@param is_complete boolean Whether nothing follows them.
---@param opened? string The line that opened the code block that they begin in.
---@return reverie.Piece[]
function M.pieces(lines, is_complete, opened)
  local found, begin, bytes, open = {}, 1, 0, opened
  local fence = open and M.fence_after(nil, open)
  for at, line in ipairs(lines) do
    local before = fence
    fence = M.fence_after(fence, line)
    open = fence and (before and open or line) or nil
    bytes = bytes + #line
    local is_room = line == '' and (not fence or bytes > PIECE_BYTES) or bytes > 2 * PIECE_BYTES
    -- The last line of what streams may go on.
    local is_end = at == #lines
    if is_end and is_complete or is_room and not is_end then
      found[#found + 1] = { from = begin - 1, to = at, opened = opened, open = open }
      begin, bytes, opened = at + 1, 0, open
    end
  end
  return found
end

---@param buffer integer
---@param first integer The line, from 0, that the piece counts its own from.
---@param piece reverie.Piece
function M.paint(buffer, first, piece)
  local lines = vim.api.nvim_buf_get_lines(buffer, first + piece.from, first + piece.to, false)
  local text = table.concat(lines, '\n')
  if #text <= MOST_BYTES and vim.trim(text) ~= '' and M.is_safe(lines) then
    local hidden = piece.opened and piece.opened .. '\n' or ''
    paint(buffer, first + piece.from, hidden .. text .. '\n', piece.opened and 1 or 0)
  end
end

--- What every answer needs, and what those about Neovim do.
local USUAL = { 'markdown', 'markdown_inline', 'lua' }

--- Reads the grammars and their queries before an answer streams: each takes most of a frame, so one after the other.
function M.prepare()
  local steps = {} ---@type fun()[]
  for _, language in ipairs(USUAL) do
    for _, kind in ipairs({ 'highlights', 'injections' }) do
      steps[#steps + 1] = function()
        pcall(query_of, language, kind)
      end
    end
  end
  local function take()
    local step = table.remove(steps, 1)
    if step then
      step()
      vim.defer_fn(take, 1)
    end
  end
  take()
end

---@param buffer integer
---@param first integer
---@param last integer Exclusive; -1 for the end.
function M.clear(buffer, first, last)
  vim.api.nvim_buf_clear_namespace(buffer, namespace, first, last)
end

return M
