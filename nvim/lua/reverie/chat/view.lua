--- Shows a conversation in a buffer, and keeps it right with as few changes as possible: what streams is appended, and
--- nobody's view moves but of those who look at the end.
local conversations = require('reverie.chat.conversation')
local highlight = require('reverie.chat.highlight')
local render = require('reverie.chat.render')

---@class reverie.Row
---@field block? reverie.Block Absent: the title.
---@field count integer Lines, the gap included.
---@field gap integer Empty lines before it.
---@field shown integer How many of the block's parts are in the buffer.
---@field bytes integer Of those, while it streams.
---@field streaming? boolean As it was drawn.
---@field fold? integer As of its look.
---@field pieces reverie.Piece[] Of its words, those that are complete.

---@class reverie.View
---@field buffer integer
---@field conversation reverie.Conversation
---@field rows reverie.Row[] The title, and then one for each block.
---@field unfolded table<reverie.Row, boolean> Rows that want a fold and have none yet.
---@field unpainted table<integer, boolean> Windows that get the rest of their colours in a moment.
local View = {}
View.__index = View

local namespace = vim.api.nvim_create_namespace('reverie.chat')
local welcome = vim.api.nvim_create_namespace('reverie.chat.welcome')

--- Of these the words are Markdown.
local MARKDOWN = { text = true, plan = true, user = true }

--- When colours have taken so much of a frame, the rest comes in the next.
local PAINT_NS = 2e6

--- These stand close together.
local CLOSE = { tool = true, thinking = true, memory = true, notice = true, context = true }

---@param conversation reverie.Conversation
---@param buffer integer
---@return reverie.View
function View.new(conversation, buffer)
  local self = setmetatable(
    { buffer = buffer, conversation = conversation, rows = {}, unfolded = {}, unpainted = {} },
    View
  )
  self:draw()
  return self
end

--- `:bdelete` leaves a buffer that is valid and empty.
function View:is_valid()
  return vim.api.nvim_buf_is_loaded(self.buffer)
end

---@param before? reverie.Block
---@param block reverie.Block
local function gap_of(before, block)
  if not before then
    return 1
  end
  return before.kind == block.kind and CLOSE[block.kind] and 0 or 1
end

function View:title()
  local title = self.conversation.title
  return '# ' .. (title == '' and 'A conversation' or render.one_line(title))
end

---@param number integer From 0.
---@return string
function View:line(number)
  return vim.api.nvim_buf_get_lines(self.buffer, number, number + 1, true)[1]
end

--- The first line of a row, from 0.
---@param index integer
function View:start_of(index)
  local line = vim.api.nvim_buf_line_count(self.buffer)
  for at = #self.rows, index, -1 do
    line = line - self.rows[at].count
  end
  return line
end

---@param block reverie.Block
---@return integer? index
function View:index_of(block)
  for at = #self.rows, 1, -1 do
    if self.rows[at].block == block then
      return at
    end
  end
end

--- Which row a line, from 0, belongs to.
---@param line integer
---@return integer index
---@return integer offset
function View:row_at(line)
  local start = 0
  for at, row in ipairs(self.rows) do
    if line < start + row.count then
      return at, line - start
    end
    start = start + row.count
  end
  return #self.rows, 0
end

---@param line integer From 0.
---@return reverie.Block?
function View:block_at(line)
  return self.rows[(self:row_at(line))].block
end

---@param row reverie.Row
---@param before? reverie.Block
---@return string[] lines
---@return reverie.Look
function View:prepare(row, before)
  local block = assert(row.block)
  local look = render.look(block)
  row.gap = gap_of(before, block)
  row.shown = #(block.parts or {})
  row.bytes = block.streaming and #conversations.text(block) or 0
  row.streaming = block.streaming
  row.fold = look.fold
  local lines = look.lines
  if row.gap == 1 then
    lines = vim.list_extend({ '' }, lines)
  end
  row.count = #lines
  if row.fold then
    self.unfolded[row] = true
  end
  return lines, look
end

---@param first integer The line of the row's first, from 0.
---@param row reverie.Row
---@param look reverie.Look
function View:mark(first, row, look)
  local begin = first + row.gap
  local at = 1
  while look.marks[at] do
    local line, group, from, to = unpack(look.marks[at])
    local last = line
    -- Whole lines of one kind are one mark.
    while not from do
      local following = look.marks[at + 1]
      if not following or following[1] ~= last + 1 or following[2] ~= group or following[3] then
        break
      end
      last, at = last + 1, at + 1
    end
    local length = #look.lines[last + 1]
    vim.api.nvim_buf_set_extmark(self.buffer, namespace, begin + line, from or 0, {
      end_row = begin + last,
      end_col = math.min(to or length, length),
      hl_group = group,
      -- Over what the text's own grammar says.
      priority = 150,
    })
    at = at + 1
  end
end

--- Draws all of it; whoever reads above stays there if it is the same conversation as before.
---@param is_same? boolean
function View:draw(is_same)
  local readers = {}
  for _, window in ipairs(is_same and vim.fn.win_findbuf(self.buffer) or {}) do
    if vim.api.nvim_win_get_cursor(window)[1] < vim.api.nvim_buf_line_count(self.buffer) then
      readers[window] = vim.api.nvim_win_call(window, vim.fn.winsaveview)
    end
  end
  self.conversation:take_changes()
  self.rows, self.unfolded = { { count = 1, gap = 0, shown = 0, bytes = 0, pieces = {} } }, {}
  local lines, looks = { self:title() }, {}
  local before
  for _, block in ipairs(self.conversation.blocks) do
    ---@type reverie.Row
    local row = { block = block, count = 0, gap = 0, shown = 0, bytes = 0, pieces = {} }
    local more, look = self:prepare(row, before)
    looks[#looks + 1] = { #lines, row, look }
    vim.list_extend(lines, more)
    self.rows[#self.rows + 1] = row
    before = block
  end
  self:change(function()
    vim.api.nvim_buf_clear_namespace(self.buffer, namespace, 0, -1)
    highlight.clear(self.buffer, 0, -1)
    vim.api.nvim_buf_set_lines(self.buffer, 0, -1, false, lines)
    vim.api.nvim_buf_set_extmark(
      self.buffer,
      namespace,
      0,
      0,
      { end_col = #lines[1], hl_group = 'ReverieTitle' }
    )
    for _, look in ipairs(looks) do
      self:mark(look[1], look[2], look[3])
    end
  end)
  self:welcome()
  for _, window in ipairs(vim.fn.win_findbuf(self.buffer)) do
    self:fold_all(window)
    if readers[window] then
      vim.api.nvim_win_call(window, function()
        vim.fn.winrestview(readers[window])
      end)
    else
      self:follow(window)
    end
    self:paint(window)
  end
end

--- Says what can be done, as long as nothing was.
function View:welcome()
  vim.api.nvim_buf_clear_namespace(self.buffer, welcome, 0, -1)
  if #self.conversation.blocks == 0 then
    vim.api.nvim_buf_set_extmark(self.buffer, welcome, 0, 0, { virt_lines = render.welcome() })
  end
end

---@param work fun()
function View:change(work)
  vim.bo[self.buffer].modifiable = true
  local ok, problem = pcall(work)
  vim.bo[self.buffer].modifiable = false
  vim.bo[self.buffer].modified = false
  if not ok then
    error(problem, 0)
  end
end

---@param index integer
function View:redraw(index)
  local row = self.rows[index]
  local first, count = self:start_of(index), row.count
  local lines, look = self:prepare(row, index > 1 and self.rows[index - 1].block or nil)
  -- Most of it is as it was.
  local old = vim.api.nvim_buf_get_lines(self.buffer, first, first + count, true)
  local same = 0
  while same < #old and same < #lines and old[same + 1] == lines[same + 1] do
    same = same + 1
  end
  vim.api.nvim_buf_clear_namespace(self.buffer, namespace, first, first + count)
  if same < #old or same < #lines then
    highlight.clear(self.buffer, first + same, first + count)
    while row.pieces[1] and row.pieces[#row.pieces].to > same do
      table.remove(row.pieces)
    end
    vim.api.nvim_buf_set_lines(
      self.buffer,
      first + same,
      first + count,
      false,
      vim.list_slice(lines, same + 1)
    )
  end
  self:mark(first, row, look)
end

--- Finds the pieces of a row that have become complete.
---@param row reverie.Row
---@param first integer The line of the row's first, from 0.
function View:cut(row, first)
  local known = row.pieces[#row.pieces]
  local from = known and known.to or 0
  if from < row.count then
    local lines = vim.api.nvim_buf_get_lines(self.buffer, first + from, first + row.count, false)
    for _, piece in ipairs(highlight.pieces(lines, not row.streaming, known and known.open)) do
      piece.from, piece.to = piece.from + from, piece.to + from
      table.insert(row.pieces, piece)
    end
  end
end

--- Gives what a window shows its colours; where that takes too long, the rest comes later.
---@param window integer
function View:paint(window)
  if self.unpainted[window] then
    return
  end
  local top, bottom = vim.fn.line('w0', window) - 1, vim.fn.line('w$', window)
  local deadline = vim.uv.hrtime() + PAINT_NS
  local start = 0
  for _, row in ipairs(self.rows) do
    local first = start
    start = start + row.count
    if first >= bottom then
      return
    end
    if start > top and row.block and MARKDOWN[row.block.kind] then
      self:cut(row, first)
      for at = #row.pieces, 1, -1 do
        local piece = row.pieces[at]
        if first + piece.to <= top then
          break
        end
        if not piece.painted and first + piece.from < bottom then
          if vim.uv.hrtime() > deadline then
            return self:paint_later(window)
          end
          piece.painted = true
          highlight.paint(self.buffer, first, piece)
        end
      end
    end
  end
end

---@param window integer
function View:paint_later(window)
  self.unpainted[window] = true
  vim.defer_fn(function()
    self.unpainted[window] = nil
    if
      self:is_valid()
      and vim.api.nvim_win_is_valid(window)
      and vim.api.nvim_win_get_buf(window) == self.buffer
    then
      self:paint(window)
    end
  end, 1)
end

--- More words of a block that streams; false if that is not all that has changed.
---@param index integer
---@return boolean
function View:append(index)
  local row = self.rows[index]
  local block = assert(row.block)
  local parts = block.parts
  if not (row.streaming and parts and row.shown > 0) then
    return false
  end
  local text ---@type string
  if block.streaming and row.shown < #parts then
    text = table.concat(parts, '', row.shown + 1)
  elseif not block.streaming and (block.kind == 'text' or block.kind == 'thinking') then
    -- They became one when it ended.
    text = conversations.text(block):sub(row.bytes + 1)
  else
    return false
  end
  local first = self:start_of(index)
  local last = first + row.count - 1
  local column = #self:line(last)
  local lines = render.continued(block, text, column)
  vim.api.nvim_buf_set_text(self.buffer, last, column, last, column, lines)
  if block.kind == 'thinking' then
    for line = last, last + #lines - 1 do
      local length = #self:line(line)
      vim.api.nvim_buf_set_extmark(
        self.buffer,
        namespace,
        line,
        0,
        { end_col = length, hl_group = 'ReverieDim', priority = 150 }
      )
    end
  end
  row.count = row.count + #lines - 1
  row.shown, row.bytes = #parts, row.bytes + #text
  if not block.streaming then
    if block.kind == 'text' then
      self:finish_text(row, first)
    else
      self:finish_thinking(row, first)
    end
    row.streaming = false
  end
  return true
end

--- Thinking has all its words: it is called so, and folded.
---@param row reverie.Row
---@param first integer The line of the row's first, from 0.
function View:finish_thinking(row, first)
  local header = first + row.gap
  local words = render.thinking(assert(row.block))
  vim.api.nvim_buf_clear_namespace(self.buffer, namespace, header, header + 1)
  vim.api.nvim_buf_set_lines(self.buffer, header, header + 1, true, { words })
  vim.api.nvim_buf_set_extmark(self.buffer, namespace, header, 0, {
    end_col = #words,
    hl_group = 'ReverieDim',
    priority = 150,
  })
  row.fold = 0
  self.unfolded[row] = true
end

--- An answer has all its words: its last lines get the look of one that is complete.
---@param row reverie.Row
---@param first integer The line of the row's first, from 0.
function View:finish_text(row, first)
  local last = first + row.count
  while last > first + row.gap + 1 and self:line(last - 1) == '' do
    last = last - 1
  end
  vim.api.nvim_buf_set_lines(self.buffer, last, first + row.count, false, {})
  row.count = last - first
  while row.pieces[1] and row.pieces[#row.pieces].from >= row.count do
    table.remove(row.pieces)
  end
  self:cut(row, first)
  local known = row.pieces[#row.pieces]
  if known then
    known.to = math.min(known.to, row.count)
  end
  local rest = vim.api.nvim_buf_get_lines(self.buffer, first + (known and known.to or 0), last, false)
  local closing = highlight.closing(rest, known and known.open)
  if closing then
    vim.api.nvim_buf_set_lines(self.buffer, last, last, false, { closing })
    row.count = row.count + 1
  end
end

---@param change reverie.Change
---@param touched table<reverie.Block, boolean>
---@param order reverie.Block[]
function View:take(change, touched, order)
  local at = change.at or 0
  if change.op == 'insert' then
    ---@type reverie.Row
    local row = { block = change.block, count = 0, gap = 0, shown = 0, bytes = 0, pieces = {} }
    table.insert(self.rows, at + 1, row)
    local first = self:start_of(at + 1)
    local lines, look = self:prepare(row, self.rows[at].block)
    vim.api.nvim_buf_set_lines(self.buffer, first, first, false, lines)
    self:mark(first, row, look)
  elseif change.op == 'remove' then
    local first = self:start_of(at + 1)
    local row = table.remove(self.rows, at + 1)
    self.unfolded[row] = nil
    vim.api.nvim_buf_clear_namespace(self.buffer, namespace, first, first + row.count)
    highlight.clear(self.buffer, first, first + row.count)
    vim.api.nvim_buf_set_lines(self.buffer, first, first + row.count, false, {})
  elseif not touched[change.block] then
    touched[change.block] = true
    order[#order + 1] = change.block
  end
end

--- Brings the buffer up to what the conversation is.
function View:flush()
  if not self:is_valid() then
    return
  end
  local changes = self.conversation:take_changes()
  local title = self:title()
  local is_retitled = vim.api.nvim_buf_get_lines(self.buffer, 0, 1, false)[1] ~= title
  if #changes == 0 and not is_retitled then
    return
  end
  local places = self:places()
  self:welcome()
  self:change(function()
    if is_retitled then
      vim.api.nvim_buf_set_text(self.buffer, 0, 0, 0, -1, { title })
    end
    local touched, order = {}, {}
    for _, change in ipairs(changes) do
      self:take(change, touched, order)
    end
    for _, block in ipairs(order) do
      local index = self:index_of(block)
      if index and not self:append(index) then
        self:redraw(index)
      end
    end
  end)
  self:fold_new()
  self:restore(places)
  for _, place in ipairs(places) do
    self:paint(place.window)
  end
end

---@class reverie.Place
---@field window integer
---@field top? [reverie.Row, integer] Absent: it follows the end.
---@field cursor? [reverie.Row, integer]

---@return reverie.Place[]
function View:places()
  local last = vim.api.nvim_buf_line_count(self.buffer)
  return vim.tbl_map(function(window)
    local cursor = vim.api.nvim_win_get_cursor(window)[1]
    if cursor >= last then
      return { window = window }
    end
    local function anchor(line)
      local index, offset = self:row_at(line - 1)
      return { self.rows[index], offset }
    end
    return { window = window, top = anchor(vim.fn.getwininfo(window)[1].topline), cursor = anchor(cursor) }
  end, vim.fn.win_findbuf(self.buffer))
end

---@param places reverie.Place[]
function View:restore(places)
  local function line_of(anchor)
    for at = #self.rows, 1, -1 do
      if self.rows[at] == anchor[1] then
        return self:start_of(at) + math.min(anchor[2], math.max(anchor[1].count - 1, 0)) + 1
      end
    end
  end
  for _, place in ipairs(places) do
    local window = place.window
    if not place.top then
      self:follow(window)
    else
      local top, line = line_of(place.top), line_of(place.cursor)
      local is_moved = top ~= vim.fn.getwininfo(window)[1].topline
      if top and line and (is_moved or line ~= vim.api.nvim_win_get_cursor(window)[1]) then
        vim.api.nvim_win_call(window, function()
          vim.fn.winrestview({ topline = top, lnum = line })
        end)
      end
    end
  end
end

---@param window integer
function View:follow(window)
  local last = vim.api.nvim_buf_line_count(self.buffer)
  vim.api.nvim_win_set_cursor(window, { last, #self:line(last - 1) })
end

---@param window integer
---@param is_wanted fun(row: reverie.Row): boolean
function View:fold(window, is_wanted)
  vim.api.nvim_win_call(window, function()
    local start = 0
    for _, row in ipairs(self.rows) do
      if row.fold and is_wanted(row) then
        vim.cmd(('silent! keepjumps %d,%dfold'):format(start + row.gap + row.fold + 1, start + row.count))
      end
      start = start + row.count
    end
  end)
end

function View:fold_new()
  local unfolded = self.unfolded
  self.unfolded = {}
  if next(unfolded) then
    for _, window in ipairs(vim.fn.win_findbuf(self.buffer)) do
      self:fold(window, function(row)
        return unfolded[row] == true
      end)
    end
  end
end

--- For a window that shows the buffer from now on.
---@param window integer
function View:fold_all(window)
  vim.api.nvim_win_call(window, function()
    vim.cmd('silent! normal! zE')
  end)
  self:fold(window, function()
    return true
  end)
  self.unfolded = {}
end

--- The lines, from 1, at which the user's prompts begin.
---@return integer[]
function View:prompts()
  local lines, start = {}, 0
  for _, row in ipairs(self.rows) do
    if row.block and row.block.kind == 'user' then
      lines[#lines + 1] = start + row.gap + 1
    end
    start = start + row.count
  end
  return lines
end

return View
