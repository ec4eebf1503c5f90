--- Where the chat is on the screen: the conversation, and below it the box to type in.
local config = require('reverie.config')
local tell = require('reverie.tell')

local M = {}

---@type integer?
M.transcript = nil
---@type integer?
M.prompt = nil

---@param window integer?
---@return TypeGuard<integer>
local function is_open(window)
  return window ~= nil and vim.api.nvim_win_is_valid(window)
end

function M.is_open()
  return is_open(M.transcript)
end

---@param window integer
---@param options table<string, any>
local function set(window, options)
  for name, value in pairs(options) do
    vim.api.nvim_set_option_value(name, value, { win = window, scope = 'local' })
  end
end

local PLAIN = {
  number = false,
  relativenumber = false,
  signcolumn = 'no',
  foldcolumn = '0',
  list = false,
  spell = false,
  wrap = true,
  linebreak = true,
  breakindent = true,
  cursorline = false,
  colorcolumn = '',
  statuscolumn = '',
  winfixbuf = true,
  fillchars = 'eob: ,fold: ',
}

local TRANSCRIPT = {
  foldmethod = 'manual',
  foldenable = true,
  foldtext = '',
  conceallevel = 2,
  concealcursor = 'nc',
  smoothscroll = true,
}

--- A statusline for a window of ours, in words; whoever has one of their own sees that.
---@param ... string|false
local function hints(...)
  if vim.go.statusline ~= vim.api.nvim_get_option_info2('statusline', {}).default then
    return ''
  end
  local words = vim.tbl_filter(function(word)
    return word ~= false
  end, { ... })
  return (' %s%%<'):format((table.concat(words, ' · '):gsub('%%', '%%%%')))
end

---@param key string|false
---@param action string
local function hint(key, action)
  return key and ('%s %s'):format(key, action)
end

---@param size number
---@param whole integer
local function extent(size, whole)
  return math.max(10, math.floor(size < 1 and size * whole or size))
end

local SPLITS = {
  right = 'botright vsplit',
  left = 'topleft vsplit',
  bottom = 'botright split',
  top = 'topleft split',
  tab = 'tab split',
}

--- A window of this tab page that shows the buffer, if there is one: `:only` may have left it.
---@param buffer integer
---@return integer?
local function showing(buffer)
  for _, window in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    -- Neovim 0.10 lists windows of its own among them, which float.
    local floats = vim.api.nvim_win_get_config(window).relative ~= ''
    if vim.api.nvim_win_get_buf(window) == buffer and not floats then
      return window
    end
  end
end

---@param buffer integer
local function open_transcript(buffer)
  local options = config.get().window
  M.transcript = showing(buffer)
  if not M.transcript then
    vim.cmd('keepalt ' .. SPLITS[options.position])
    M.transcript = vim.api.nvim_get_current_win()
    if options.position == 'right' or options.position == 'left' then
      vim.api.nvim_win_set_width(M.transcript, extent(options.size, vim.o.columns))
      vim.wo[M.transcript].winfixwidth = true
    elseif options.position ~= 'tab' then
      vim.api.nvim_win_set_height(M.transcript, extent(options.size, vim.o.lines))
      vim.wo[M.transcript].winfixheight = true
    end
    vim.wo[M.transcript].winfixbuf = false
    vim.api.nvim_win_set_buf(M.transcript, buffer)
  end
  set(M.transcript, PLAIN)
  set(M.transcript, TRANSCRIPT)
  local keys = config.get().keys
  set(M.transcript, { statusline = hints('<CR> opens', 'u undoes', hint(keys.help, 'keys')) })
end

---@param buffer integer
local function open_prompt(buffer)
  M.prompt = showing(buffer)
  if not M.prompt then
    vim.api.nvim_set_current_win(M.transcript --[[@as integer]])
    vim.cmd('keepalt belowright split')
    M.prompt = vim.api.nvim_get_current_win()
    vim.wo[M.prompt].winfixbuf = false
    vim.api.nvim_win_set_buf(M.prompt, buffer)
  end
  set(M.prompt, PLAIN)
  -- An empty one would be the user's own, if there is one.
  set(M.prompt, { winfixheight = true, winbar = vim.go.winbar == '' and '' or ' ' })
  local keys = config.get().keys
  set(M.prompt, { statusline = hints(hint(keys.stop, 'stops'), hint(keys.close, 'closes')) })
  vim.api.nvim_win_set_height(M.prompt, config.get().window.prompt_height)
end

--- Of a file that the user works in.
---@param window integer
local function is_of_file(window)
  if not is_open(window) or vim.api.nvim_win_get_config(window).relative ~= '' then
    return false
  end
  local buffer = vim.api.nvim_win_get_buf(window)
  return vim.bo[buffer].buftype == '' and vim.api.nvim_buf_get_name(buffer) ~= ''
end

--- The last of these that was left.
---@type integer?
local last_of_file

--- From now on it is known where the user came from.
local function watch()
  vim.api.nvim_create_autocmd('WinLeave', {
    group = vim.api.nvim_create_augroup('reverie.chat.file', {}),
    callback = function()
      local window = vim.api.nvim_get_current_win()
      last_of_file = is_of_file(window) and window or last_of_file
    end,
  })
end

--- Where the user works, most likely first.
---@return integer[]
local function candidates()
  local found = { vim.api.nvim_get_current_win() }
  found[#found + 1] = last_of_file
  local previous = vim.fn.win_getid(vim.fn.winnr('#'))
  found[#found + 1] = previous ~= 0 and previous or nil
  return vim.list_extend(found, vim.api.nvim_tabpage_list_wins(0))
end

--- The window of the file that the user works in.
---@return integer?
function M.of_file()
  return vim.tbl_filter(is_of_file, candidates())[1]
end

--- Opens the chat in this tab page, or goes to it; one in another comes here.
---@param buffers {transcript: integer, prompt: integer}
function M.open(buffers)
  watch()
  local here = vim.api.nvim_get_current_tabpage()
  if is_open(M.transcript) and vim.api.nvim_win_get_tabpage(M.transcript) ~= here then
    M.close()
  end
  if not is_open(M.transcript) then
    open_transcript(buffers.transcript)
  end
  if not is_open(M.prompt) then
    open_prompt(buffers.prompt)
  end
  vim.api.nvim_set_current_win(assert(M.prompt))
end

--- As high as what is in it, up to a third of the screen.
function M.fit_prompt()
  if not is_open(M.prompt) then
    return
  end
  local wanted = vim.api.nvim_win_text_height(M.prompt, {}).all + 1
  local height = math.min(math.max(config.get().window.prompt_height, wanted), math.floor(vim.o.lines / 3))
  if height ~= vim.api.nvim_win_get_height(M.prompt) then
    vim.api.nvim_win_set_height(M.prompt, height)
  end
end

--- The last window of the editor cannot be closed: it becomes one like any other.
---@param window integer
local function let_go(window)
  if #vim.api.nvim_list_tabpages() > 1 or #vim.api.nvim_tabpage_list_wins(0) > 1 then
    vim.api.nvim_win_close(window, true)
    return
  end
  local others = { winfixheight = 1, winfixwidth = 1, winbar = 1, statusline = 1 }
  for name in pairs(vim.tbl_extend('force', PLAIN, TRANSCRIPT, others)) do
    local value = vim.api.nvim_get_option_value(name, { scope = 'global' })
    vim.api.nvim_set_option_value(name, value, { win = window, scope = 'local' })
  end
end

--- Whoever closes one of the two windows closes the chat.
---@param window integer The one that is closing.
function M.closed(window)
  if window ~= M.transcript and window ~= M.prompt then
    return
  end
  local other = window == M.transcript and M.prompt or M.transcript
  M.transcript, M.prompt = nil, nil
  vim.schedule(function()
    if other and is_open(other) then
      pcall(let_go, other)
    end
  end)
end

function M.close()
  local windows = { M.prompt or 0, M.transcript or 0 }
  M.transcript, M.prompt = nil, nil
  for _, window in ipairs(windows) do
    if window ~= 0 and is_open(window) then
      pcall(let_go, window)
    end
  end
end

--- In the current window. What is loaded is not read again: it may have changes that are not saved.
---@param path string
local function show(path)
  local loaded = require('reverie.buffers').find(path)
  if loaded then
    vim.api.nvim_win_set_buf(0, loaded)
    vim.bo[loaded].buflisted = true
    return
  end
  -- A file that somebody else has written tells the editor nothing by a modeline.
  local modeline = vim.go.modeline
  vim.go.modeline = false
  local ok, problem = pcall(vim.cmd.edit, { args = { path }, magic = { file = false, bar = false } })
  vim.go.modeline = modeline
  if not ok then
    error(problem, 0)
  end
end

--- Shows a file where the user works: never in a window of the chat.
---@param path string
---@param line? integer From 1.
---@param column? integer From 0.
function M.open_file(path, line, column)
  local here = vim.api.nvim_get_current_tabpage()
  local function is_usable(window)
    return is_open(window)
      and vim.api.nvim_win_get_tabpage(window) == here
      and vim.api.nvim_win_get_config(window).relative == ''
      and not vim.wo[window].winfixbuf
      and vim.bo[vim.api.nvim_win_get_buf(window)].buftype == ''
  end
  local target = vim.tbl_filter(is_usable, candidates())[1]
  if target then
    vim.api.nvim_set_current_win(target)
  else
    vim.cmd('topleft vnew')
    vim.wo.winfixbuf = false
  end
  local ok, problem = pcall(show, path)
  if not ok then
    tell.error(('%s cannot be opened: %s'):format(path, tell.reason(problem)))
    return
  end
  local lines = vim.api.nvim_buf_get_lines(0, 0, -1, false)
  if vim.bo.filetype == 'markdown' and not require('reverie.chat.highlight').is_safe(lines) then
    vim.treesitter.stop(0)
  end
  if line then
    local last = vim.api.nvim_buf_line_count(0)
    pcall(vim.api.nvim_win_set_cursor, 0, { math.min(math.max(line, 1), last), column or 0 })
  end
end

return M
