--- How each piece of a conversation looks: lines of Markdown, and what is marked in them.
---
--- What tools and models wrote about is shown indented by four: there a code fence is text and cannot spill over.
local conversation = require('reverie.chat.conversation')
local highlight = require('reverie.chat.highlight')

local M = {}

---@class reverie.Look
---@field lines string[]
---@field marks [integer, string, integer?, integer?][] Line from 0, highlight group, and from and to which byte.
---@field fold? integer From which line on, counted from 0, it is folded at first.

--- Of a result; the rest is one key away.
local MOST_LINES = 200
--- A change that is not longer is shown at once.
local SHOWN_DIFF_LINES = 24

local INDENT = '    '

local STATES = { running = '◌', done = '●', failed = '✗', stopped = '■' }
local STATE_GROUPS =
  { running = 'ReverieRunning', done = 'ReverieDone', failed = 'ReverieFailed', stopped = 'ReverieDim' }
local TODOS = { pending = '☐', in_progress = '◐', completed = '☑' }
local NOTICES = { info = 'ℹ', warning = '⚠', error = '✗' }
local NOTICE_GROUPS = { info = 'ReverieDim', warning = 'ReverieWarning', error = 'ReverieFailed' }
local MEMORIES = { saved = 'Remembered', updated = 'Memory updated', deleted = 'Forgotten' }
local ENDS = {
  cancelled = 'Stopped',
  maxRounds = 'Stopped: too many rounds',
  budget = 'Stopped: the budget is spent',
  refused = 'The model refused to answer',
  blocked = 'Blocked',
  error = 'Failed',
}

--- What says most about a call.
local TELLING = {
  'command',
  'file_path',
  'notebook_path',
  'pattern',
  'query',
  'path',
  'url',
  'skill',
  'description',
  'prompt',
}

---@param text string
---@return string
local function one_line(text)
  return vim.trim((text:gsub('[%s%z]+', ' ')))
end
M.one_line = one_line

---@param path string
---@return string
local function short(path)
  return require('reverie.config').shorten(one_line(path))
end

--- A line without an end slows the editor down; behind so many bytes it goes on in the next, which is the same paragraph.
local LONGEST_LINE = 4000

--- Breaks long lines at a space. Where depends on the line alone, so that what streams in pieces breaks as the whole.
---@param lines string[]
---@param column integer So many bytes stand before the first already.
---@return string[]
local function broken(lines, column)
  local found = {}
  for _, line in ipairs(lines) do
    while column + #line > LONGEST_LINE do
      local space = line:find(' ', math.max(1, LONGEST_LINE - column + 1), true)
      if not space then
        break
      end
      found[#found + 1] = line:sub(1, space - 1)
      line, column = line:sub(space + 1), 0
    end
    found[#found + 1] = line
    column = 0
  end
  return found
end

--- Without what a terminal would obey, and of lines that were written over each other the last.
---@param text string
---@return string
function M.plain(text)
  text = text:gsub('\r\n', '\n'):gsub('%z', '␀')
  text = text:gsub('\27%][^\7\27]*[\7\27]\\?', ''):gsub('\27%[[0-9;:?<=>]*[ -/]*[@-~]', '')
  if text:find('\r', 1, true) then
    text = text:gsub('[^\n]*\r', '')
  end
  return text
end

---@param text string
---@return string[]
local function split(text)
  return vim.split((text:gsub('\n+$', '')), '\n', { plain = true })
end

---@param count integer
---@param one string
---@param many string
local function counted(count, one, many)
  return count == 1 and '1 ' .. one or ('%d %s'):format(count, many)
end

---@param tool string
---@param input any
---@return string
function M.call(tool, input)
  if type(input) == 'table' then
    for _, key in ipairs(TELLING) do
      local value = input[key]
      if type(value) == 'string' and value ~= '' then
        local words = key:find('path') and short(value) or one_line(value)
        return ('%s %s'):format(tool, #words > 160 and vim.fn.strcharpart(words, 0, 120) .. '…' or words)
      end
    end
  end
  return tool
end

---@param look reverie.Look
---@param line string
---@param group? string
local function add(look, line, group)
  look.lines[#look.lines + 1] = line
  if group then
    look.marks[#look.marks + 1] = { #look.lines - 1, group }
  end
end

---@param look reverie.Look
---@param lines string[]
---@param group? string|fun(line: string): string?
local function add_body(look, lines, group)
  for at = 1, math.min(#lines, MOST_LINES) do
    local line = lines[at]
    add(
      look,
      line == '' and '' or INDENT .. line,
      type(group) == 'function' and group(line) or group --[[@as string?]]
    )
  end
  if #lines > MOST_LINES then
    add(look, ('%s… %d more lines: <CR> shows all'):format(INDENT, #lines - MOST_LINES), 'ReverieDim')
  end
end

---@param line string
---@return string
function M.diff_group(line)
  local first = line:sub(1, 1)
  if first == '+' then
    return 'Added'
  elseif first == '-' then
    return 'Removed'
  end
  return 'ReverieDim'
end

--- Without the names of the files, which the header has.
---@param diff string
---@return string[]
function M.diff_lines(diff)
  local lines, found, at = split(diff), {}, 1
  while lines[at] do
    local is_head = vim.startswith(lines[at], '--- ') and vim.startswith(lines[at + 1] or '', '+++ ')
    if is_head and vim.startswith(lines[at + 2] or '', '@@') then
      at = at + 2
    end
    found[#found + 1] = lines[at]
    at = at + 1
  end
  return found
end

--- What came of a call: words for its header, and its lines.
---@param block reverie.Block
---@return string summary
---@return string[] lines
function M.result(block)
  local display = block.display --[[@as any]]
  if not display then
    return '', block.progress and block.progress ~= '' and split(M.plain(block.progress)) or {}
  elseif display.kind == 'diff' then
    local lines = M.diff_lines(display.diff)
    local added, removed = 0, 0
    for _, line in ipairs(lines) do
      added = added + (line:sub(1, 1) == '+' and 1 or 0)
      removed = removed + (line:sub(1, 1) == '-' and 1 or 0)
    end
    return ('+%d −%d'):format(added, removed), lines
  elseif display.kind == 'files' then
    return counted(#display.paths, 'file', 'files'), vim.tbl_map(short, display.paths)
  elseif display.kind == 'terminal' then
    local code = display.exitCode
    return code and code ~= 0 and ('exit code %d'):format(code) or '', split(M.plain(display.output))
  end
  return '', split(M.plain(display.text))
end

---@type table<string, fun(block: reverie.Block, look: reverie.Look)>
local looks = {}

function looks.user(block, look)
  local lines = split(M.plain(conversation.text(block)))
  local fences = 0
  for _, line in ipairs(lines) do
    fences = fences + (line:match('^%s*```') and 1 or 0)
  end
  -- A fence that nobody closed would take all that follows for code.
  local indent = fences % 2 == 0 and '  ' or INDENT
  for at, line in ipairs(lines) do
    add(look, at == 1 and '❯ ' .. line or line == '' and '' or indent .. line, 'ReverieUser')
  end
  if block.queued then
    add(look, '  waits for the next step', 'ReverieDim')
  end
  for _, name in ipairs(block.mentions or {}) do
    add(look, '  @' .. name, 'ReverieDim')
  end
  local recalled = block.recalled or {}
  if #recalled > 0 then
    local names = vim.tbl_map(function(file)
      return one_line(file.name)
    end, recalled)
    look.fold = #look.lines
    add(
      look,
      ('  ◆ %s used: %s'):format(counted(#recalled, 'memory', 'memories'), table.concat(names, ', ')),
      'ReverieMemory'
    )
    for _, file in ipairs(recalled) do
      add(look, ('%s%s: %s'):format(INDENT, one_line(file.name), one_line(file.reason)), 'ReverieDim')
    end
  end
end

function looks.text(block, look)
  local text = conversation.text(block):gsub('\r', '')
  if not block.streaming then
    text = text:gsub('\n+$', '')
  end
  look.lines = broken(vim.split(text, '\n', { plain = true }), 0)
  if not block.streaming then
    table.insert(look.lines, highlight.closing(look.lines))
  end
end

--- The line above what it thinks.
---@param block reverie.Block
function M.thinking(block)
  return block.streaming and '✻ Thinking…' or '✻ Thought'
end

function looks.thinking(block, look)
  add(look, M.thinking(block), 'ReverieDim')
  -- Of all its lines: it streams, and is folded later.
  for _, line in ipairs(vim.split((conversation.text(block):gsub('\r', '')), '\n', { plain = true })) do
    add(look, INDENT .. line, 'ReverieDim')
  end
  look.fold = not block.streaming and 0 or nil
end

function looks.tool(block, look)
  local summary, lines = M.result(block)
  local tool = assert(block.tool)
  local header = ('%s %s'):format(STATES[block.state], M.call(tool, block.input))
  if block.display and block.display.kind == 'terminal' and summary ~= '' then
    -- A command may be long, and in a fold its end is not seen.
    local words = M.call(tool, block.input):sub(#tool + 1)
    header, summary = ('%s %s (%s)%s'):format(STATES[block.state], tool, summary, words), ''
  end
  add(look, summary == '' and header or ('%s  %s'):format(header, summary))
  look.marks[1] = { 0, STATE_GROUPS[block.state], 0, #STATES[block.state] }
  look.marks[2] = { 0, 'ReverieTool', #STATES[block.state] + 1, #STATES[block.state] + 1 + #block.tool }
  local is_diff = block.display ~= nil and block.display.kind == 'diff'
  if #lines == 1 and lines[1] == '' then
    lines = {}
  end
  add_body(look, lines, is_diff and M.diff_group or 'ReverieOutput')
  local is_shown = block.state == 'running' or (is_diff and #lines <= SHOWN_DIFF_LINES)
  look.fold = not is_shown and #look.lines > 1 and 0 or nil
end

function looks.notice(block, look)
  local group = NOTICE_GROUPS[block.level]
  for at, line in ipairs(split(M.plain(conversation.text(block)))) do
    add(look, at == 1 and ('%s %s'):format(NOTICES[block.level], line) or '  ' .. line, group)
  end
end

function looks.context(block, look)
  local change = assert(block.change)
  add(look, ('⇣ %s: %s'):format(change.layer, one_line(change.detail)), 'ReverieDim')
  local freed = change.tokensFreed > 0 and ('%d tokens freed, '):format(change.tokensFreed) or ''
  add(look, ('%s%sprompt cache %s'):format(INDENT, freed, change.cache), 'ReverieDim')
end

function looks.plan(block, look)
  add(look, '◇ Plan', 'ReverieTool')
  for _, line in ipairs(split(M.plain(conversation.text(block)))) do
    add(look, line)
  end
end

function looks.memory(block, look)
  local undone = block.undone and ' (taken back)' or ''
  for _, file in ipairs(block.files or {}) do
    add(
      look,
      ('◆ %s: %s%s'):format(MEMORIES[block.event] or block.event, one_line(file.name), undone),
      'ReverieMemory'
    )
    if file.reason ~= '' then
      add(look, INDENT .. one_line(file.reason), 'ReverieDim')
    end
  end
end

function looks.todo(block, look)
  for _, item in ipairs(block.todos or {}) do
    local group = item.status == 'completed' and 'ReverieDim'
      or item.status == 'in_progress' and 'ReverieTool'
      or nil
    add(look, ('%s %s'):format(TODOS[item.status] or '☐', one_line(item.content)), group)
  end
end

looks['end'] = function(block, look)
  local words = conversation.text(block)
  local head = ENDS[block.reason] or block.reason
  local group = block.reason == 'error' and 'ReverieFailed' or 'ReverieDim'
  for at, line in ipairs(split(M.plain(words == '' and head or head .. ': ' .. words))) do
    add(look, at == 1 and '■ ' .. line or '  ' .. line, group)
  end
end

---@param block reverie.Block
---@return reverie.Look
function M.look(block)
  ---@type reverie.Look
  local look = { lines = {}, marks = {} }
  looks[block.kind](block, look)
  for at, line in ipairs(look.lines) do
    -- The pieces of a model may have anything in them, and a line of a buffer no line feed.
    look.lines[at] = line:gsub('\n', ' ')
  end
  return look
end

--- How the words of a block that streams go on in its lines.
---@param block reverie.Block
---@param text string
---@param column integer So many bytes stand in its last line.
---@return string[]
function M.continued(block, text, column)
  text = text:gsub('\r', '')
  if block.kind == 'thinking' then
    text = text:gsub('\n', '\n' .. INDENT)
  end
  local lines = vim.split(text, '\n', { plain = true })
  return block.kind == 'text' and broken(lines, column) or lines
end

--- What stands in a conversation that has not begun: lines that are not in the buffer.
---@return [string, string][][]
function M.welcome()
  local help = require('reverie.config').get().keys.help
  local lines = { {}, { { '  @  shows it a file', 'ReverieDim' } } }
  lines[#lines + 1] = { { '  /  commands and skills', 'ReverieDim' } }
  lines[#lines + 1] = { { '  #  remembers a line', 'ReverieDim' } }
  if help then
    lines[#lines + 1] = { { ('  %s all keys'):format(help), 'ReverieDim' } }
  end
  return lines
end

function M.define_highlights()
  for group, link in pairs({
    ReverieTitle = 'Title',
    ReverieUser = 'Title',
    ReverieDim = 'Comment',
    ReverieTool = 'Function',
    ReverieOutput = 'Comment',
    ReverieRunning = 'DiagnosticInfo',
    ReverieDone = 'DiagnosticOk',
    ReverieFailed = 'DiagnosticError',
    ReverieWarning = 'DiagnosticWarn',
    ReverieMemory = 'Special',
    ReverieKey = 'Keyword',
  }) do
    vim.api.nvim_set_hl(0, group, { link = link, default = true })
  end
end

return M
