--- What can be done in the conversation by key.
local config = require('reverie.config')
local render = require('reverie.chat.render')
local tell = require('reverie.tell')

local M = {}

---@return reverie.Block?
local function here()
  local view = require('reverie.chat').view()
  return view and view:block_at(vim.api.nvim_win_get_cursor(0)[1] - 1)
end

--- `src/auth.rs:10` under the cursor, if the file is there.
---@return string? path
---@return integer? line
local function place_here()
  local word = tostring(vim.fn.expand('<cWORD>')):gsub('^[%s`"\'(<%[@]+', ''):gsub('[`"\')>%],.;:]+$', '')
  local path, line = word:match('^(.-):(%d+)')
  path = path or word
  if path == '' then
    return
  end
  local full = config.whole(path)
  local found = vim.uv.fs_stat(full)
  if found and found.type == 'file' then
    return full, tonumber(line) --[[@as integer?]]
  end
end

local function act()
  local window = require('reverie.chat.window')
  local path, line = place_here()
  if path then
    return window.open_file(path, line)
  end
  local block = here()
  if not block then
    return
  end
  if block.kind == 'memory' then
    return window.open_file(assert(block.files)[1].path)
  elseif block.kind == 'user' and block.recalled then
    local text = vim.api.nvim_get_current_line()
    for _, file in ipairs(block.recalled) do
      if text:find(render.one_line(file.name), 1, true) then
        return window.open_file(file.path)
      end
    end
  elseif block.kind == 'tool' and vim.api.nvim_get_current_line():find('<CR> shows all', 1, true) then
    local _, lines = render.result(block)
    require('reverie.scratch').open({ name = 'result', lines = lines })
    return
  end
  pcall(vim.cmd.normal, { 'za', bang = true })
end

local function undo()
  local block = here()
  if block and block.kind == 'memory' then
    for _, file in ipairs(block.files or {}) do
      if file.changeId then
        require('reverie.memory').undo_change(file.changeId)
      end
    end
  elseif block and block.kind == 'tool' and block.display and block.display.kind == 'diff' then
    require('reverie.changes').resolve({ path = block.display.path, keep = false })
  else
    tell.info('`u` takes back what was remembered or edited, on its line.')
  end
end

---@param forward boolean
local function jump(forward)
  local view = require('reverie.chat').view()
  local line = vim.api.nvim_win_get_cursor(0)[1]
  local target
  for _, prompt in ipairs(view and view:prompts() or {}) do
    if forward and prompt > line then
      target = prompt
      break
    elseif not forward and prompt < line then
      target = prompt
    end
  end
  if target then
    vim.api.nvim_win_set_cursor(0, { target, 0 })
  end
end

local function rewind()
  local block = here()
  if block and block.kind == 'user' then
    require('reverie.review').rewind(block)
  else
    tell.info('`R` goes back to a prompt; put the cursor on it.')
  end
end

local function fork()
  local block = here()
  require('reverie.sessions').fork(block and block.uuid)
end

--- The code block around the cursor into the unnamed register.
local function yank_code()
  local lines = vim.api.nvim_buf_get_lines(0, 0, -1, false)
  local at = vim.api.nvim_win_get_cursor(0)[1]
  local first
  for line = at, 1, -1 do
    if lines[line]:match('^%s*```') then
      first = line
      break
    end
  end
  for line = math.max(at, (first or at) + 1), #lines do
    if first and lines[line]:match('^%s*```%s*$') and line > first then
      vim.fn.setreg('"', vim.list_slice(lines, first + 1, line - 1), 'l')
      tell.info(('%d lines of code yanked.'):format(line - first - 1))
      return
    end
  end
  tell.info('there is no code block at the cursor.')
end

local function type_here()
  require('reverie.chat').open()
  vim.cmd.startinsert()
end

---@param buffer integer
function M.map(buffer)
  local keys = config.get().keys
  local function set(key, action, desc)
    if key then
      vim.keymap.set('n', key, action, { buffer = buffer, nowait = true, desc = 'Reverie: ' .. desc })
    end
  end
  set('<CR>', act, 'open or unfold what is here')
  set('u', undo, 'take this back')
  set('R', rewind, 'go back to this prompt and edit it')
  set('F', fork, 'go on from here in a new session')
  set('gy', yank_code, 'yank the code block')
  set(']]', function()
    jump(true)
  end, 'next prompt')
  set('[[', function()
    jump(false)
  end, 'previous prompt')
  for _, key in ipairs({ 'i', 'a', 'o', 'I', 'A', 'O' }) do
    set(key, type_here, 'type')
  end
  set(keys.stop, function()
    require('reverie.chat').stop()
  end, 'stop the turn')
  set(keys.close, function()
    require('reverie.chat.window').close()
  end, 'close the chat')
  set(keys.help, function()
    require('reverie.scratch').help('reverie-chat')
  end, 'keys of the chat')
end

return M
