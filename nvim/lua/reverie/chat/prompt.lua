--- The box to type in: sends, completes `@` and `/`, and brings back what was said before.
local config = require('reverie.config')

local M = {}

---@type integer?
local buffer
--- What `/` offers.
---@type reverie.SlashCommand[]
local commands = {}

local namespace = vim.api.nvim_create_namespace('reverie.prompt')

---@return string
function M.text()
  return vim.trim(table.concat(vim.api.nvim_buf_get_lines(M.buffer(), 0, -1, false), '\n'))
end

---@param text string
function M.set(text)
  vim.api.nvim_buf_set_lines(M.buffer(), 0, -1, false, vim.split(text, '\n', { plain = true }))
  M.changed()
end

--- Puts words back that were sent and not taken, above what has been typed since.
---@param text string
function M.give_back(text)
  if M.text() == '' then
    return M.set(text)
  end
  vim.api.nvim_buf_set_lines(M.buffer(), 0, 0, false, vim.split(text, '\n', { plain = true }))
  M.changed()
end

function M.clear()
  M.set('')
end

--- What can be done in an empty box, as much of it as fits.
---@return string
local function hint()
  local keys = config.get().keys
  local key = keys.send_insert or keys.send
  local words = { 'Ask anything', '@ files', '/ commands' }
  if key then
    table.insert(words, 2, key .. ' sends')
  end
  local window = require('reverie.chat.window').prompt
  local room = vim.o.columns
  if window and vim.api.nvim_win_is_valid(window) then
    room = vim.api.nvim_win_get_width(window)
  end
  local is_first = key ~= false
  while #words > 1 and vim.fn.strwidth(table.concat(words, ' · ')) > room do
    table.remove(words, is_first and 1 or #words)
    is_first = false
  end
  return table.concat(words, ' · ')
end

--- What is in the box, or how wide it is, has changed.
function M.changed()
  local box = M.buffer()
  vim.api.nvim_buf_clear_namespace(box, namespace, 0, -1)
  local lines = vim.api.nvim_buf_get_lines(box, 0, 2, false)
  if #lines == 1 and lines[1] == '' then
    vim.api.nvim_buf_set_extmark(box, namespace, 0, 0, {
      virt_text = { { hint(), 'ReverieDim' } },
      virt_text_pos = 'overlay',
    })
  end
  require('reverie.chat.window').fit_prompt()
end

local function send()
  local text = M.text()
  if text ~= '' then
    M.clear()
    require('reverie.chat').prompt(text)
  end
end

--- In a mention a space of a name has a backslash before it. These are no spaces to a pattern, and as long.
---@param text string
local function with_names_whole(text)
  return (text:gsub('\\ ', '\1\1'))
end

---@param word string
local function name_of(word)
  return (with_names_whole(word):gsub('\1\1', ' '))
end

--- `@path`, `@path:10` and `@path:10-20` in a text, of files that are there.
---@param text string
---@return reverie.PromptPart.mention[]
---@return string[] names
function M.mentions(text)
  local parts, names, seen = {}, {}, {}
  for word in (' ' .. with_names_whole(text)):gmatch('%s@(%S+)') do
    word = name_of(word)
    word = word:gsub('[.,;:!?)]+$', '')
    local path, from, to = word:match('^(.-):(%d+)%-?(%d*)$')
    path = path or word
    local full = config.whole(path)
    if not seen[word] and vim.uv.fs_stat(full) then
      seen[word] = true
      names[#names + 1] = word
      local first = tonumber(from)
      parts[#parts + 1] = {
        type = 'mention',
        uri = vim.uri_from_fname(full),
        range = first and {
          start = { line = math.max(first - 1, 0), character = 0 },
          ['end'] = { line = math.max(tonumber(to) or first, first), character = 0 },
        } or nil,
      }
    end
  end
  return parts, names
end

--- What stands in the line of the cursor, before it.
local function before_cursor()
  return with_names_whole(vim.api.nvim_get_current_line():sub(1, vim.api.nvim_win_get_cursor(0)[2]))
end

--- For 'completefunc': commands at the beginning, files behind an `@`.
---@param find_start integer
---@param base string
---@return any
function M.complete(find_start, base)
  if find_start == 1 then
    local before = before_cursor()
    local at = before:find('@%S*$') or before:find('^/%S*$')
    return at and at - 1 or -3
  end
  if vim.startswith(base, '/') then
    local found = {}
    for _, command in ipairs(commands) do
      if vim.startswith('/' .. command.name, base) then
        found[#found + 1] =
          { word = '/' .. command.name, menu = command.argumentHint or '', info = command.description }
      end
    end
    return found
  end
  return M.files(name_of(base:sub(2)))
end

local MOST_FILES = 50

--- Open buffers first, then files of the folder that is being typed.
---@param typed string
function M.files(typed)
  local root = config.root()
  local found, seen = {}, {}
  local function offer(path, menu)
    if not seen[path] and #found < MOST_FILES then
      seen[path] = true
      found[#found + 1] = { word = '@' .. path:gsub(' ', '\\ '), abbr = '@' .. path, menu = menu }
    end
  end
  local wanted = typed:lower()
  for _, open in ipairs(vim.api.nvim_list_bufs()) do
    local name = vim.api.nvim_buf_get_name(open)
    if vim.bo[open].buflisted and vim.startswith(name, root .. '/') then
      local path = name:sub(#root + 2)
      if path:lower():find(wanted, 1, true) then
        offer(path, 'open')
      end
    end
  end
  local folder, rest = typed:match('^(.*/)([^/]*)$')
  folder, rest = folder or '', (rest or typed):lower()
  local there = vim.startswith(folder, '/') and folder or vim.fs.joinpath(root, folder)
  for name, kind in vim.fs.dir(there) do
    if #found == MOST_FILES then
      break
    end
    if vim.startswith(name:lower(), rest) and name ~= '.git' then
      offer(folder .. name .. (kind == 'directory' and '/' or ''), kind == 'directory' and 'folder' or 'file')
    end
  end
  return found
end

--- Offers by itself what fits behind an `@` or a `/` that has just been typed.
local function offer()
  local before = before_cursor()
  local taken = vim.v.completed_item.word
  if taken and taken ~= '' and vim.endswith(before, with_names_whole(taken)) then
    return
  end
  if
    vim.fn.pumvisible() == 0
    and (before:match('%f[^%s%z]@%S*$') or before:match('^@%S*$') or before:match('^/%S*$'))
  then
    local start = M.complete(1, '')
    if start >= 0 then
      local words = M.complete(0, before:sub(start + 1))
      if #words > 0 then
        -- What is offered is not taken before the user says so.
        local own = vim.o.completeopt
        vim.o.completeopt = 'menuone,noinsert,noselect'
        pcall(vim.fn.complete, start + 1, words)
        vim.o.completeopt = own
      end
    end
  end
end

---@param box integer
local function map(box)
  local keys = config.get().keys
  local function set(modes, key, action, desc)
    if key then
      vim.keymap.set(modes, key, action, { buffer = box, desc = 'Reverie: ' .. desc })
    end
  end
  set('n', keys.send, send, 'send')
  set('i', keys.send_insert, send, 'send')
  set({ 'n', 'i' }, keys.stop, function()
    require('reverie.chat').stop()
  end, 'stop the turn')
  set('n', keys.close, function()
    require('reverie.chat.window').close()
  end, 'close the chat')
  set('n', keys.help, function()
    require('reverie.scratch').help('reverie-chat')
  end, 'keys of the chat')
  set({ 'n', 'i' }, '<Up>', function()
    local before = M.text() == '' and require('reverie.chat').last_prompt()
    if before then
      M.set(before)
    else
      vim.api.nvim_feedkeys(vim.keycode('<Up>'), 'n', false)
    end
  end, 'the last prompt again')
end

--- The buffer, made where there is none: closing it loses the words, nothing else.
---@return integer
function M.buffer()
  if buffer and vim.api.nvim_buf_is_valid(buffer) and vim.api.nvim_buf_is_loaded(buffer) then
    return buffer
  end
  buffer = vim.api.nvim_create_buf(false, true)
  require('reverie.scratch').name(buffer, 'reverie://prompt')
  vim.bo[buffer].bufhidden = 'hide'
  vim.bo[buffer].filetype = 'reverie-prompt'
  vim.bo[buffer].completefunc = "v:lua.require'reverie.chat.prompt'.complete"
  vim.bo[buffer].swapfile = false
  map(buffer)
  vim.api.nvim_create_autocmd({ 'TextChanged', 'TextChangedI' }, { buffer = buffer, callback = M.changed })
  if config.get().complete then
    vim.api.nvim_create_autocmd('TextChangedI', { buffer = buffer, callback = offer })
  end
  M.changed()
  return buffer
end

--- The server runs: what `/` can offer.
function M.load_commands()
  require('reverie.client').request('reverie/commands/list', {}, function(_, result)
    commands = result and result.commands or {}
  end)
end

return M
