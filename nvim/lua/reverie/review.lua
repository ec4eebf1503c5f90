--- Looking through what the agent changed, in real diff windows: what the file was on the left, the file itself on the
--- right. Whatever Neovim does with differences (`]c`, `do`, `dp`) works, and the server sees the result.
local changes = require('reverie.changes')
local client = require('reverie.client')
local config = require('reverie.config')
local scratch = require('reverie.scratch')
local tell = require('reverie.tell')

local M = {}

---@type {tab: integer, path: string, before: integer}?
local open

---@param text? string
local function lines_of(text)
  return vim.split(((text or ''):gsub('\n$', '')), '\n', { plain = true })
end

--- The file that the review in the current tab page is about.
---@return string?
function M.path_here()
  if open and vim.api.nvim_tabpage_is_valid(open.tab) and open.tab == vim.api.nvim_get_current_tabpage() then
    return open.path
  end
end

--- The current window gets a neighbour that shows another text, and the two are compared.
---@param lines string[]
---@param name string
---@param filetype string
---@return integer buffer
local function compare_with(lines, name, filetype)
  vim.cmd('diffthis')
  local here = vim.api.nvim_get_current_win()
  local buffer = scratch.buffer({ name = name, lines = lines, filetype = filetype })
  vim.cmd('keepalt leftabove vsplit')
  vim.wo.winfixbuf = false
  vim.api.nvim_win_set_buf(0, buffer)
  vim.cmd('diffthis')
  vim.api.nvim_set_current_win(here)
  return buffer
end

--- A buffer beside a text that it is compared with, in a tab page of its own.
---@param buffer integer
---@param lines string[]
---@param name string
function M.beside(buffer, lines, name)
  vim.cmd('tab split')
  vim.wo.winfixbuf = false
  vim.api.nvim_win_set_buf(0, buffer)
  compare_with(lines, name, vim.bo[buffer].filetype)
end

--- Two texts that nobody edits: versions of a memory.
---@param name string
---@param before string
---@param after string
function M.texts(name, before, after)
  vim.cmd('tab split')
  vim.wo.winfixbuf = false
  local buffer = scratch.buffer({ name = name .. ' (after)', lines = lines_of(after), filetype = 'markdown' })
  vim.api.nvim_win_set_buf(0, buffer)
  compare_with(lines_of(before), name .. ' (before)', 'markdown')
end

--- In the file of the current window.
---@param hunk? reverie.ChangedHunk
local function go_to(hunk)
  if hunk then
    local last = vim.api.nvim_buf_line_count(0)
    pcall(vim.api.nvim_win_set_cursor, 0, { math.min(hunk.after.start + 1, last), 0 })
    vim.cmd('normal! zv')
  end
end

---@param path string
function M.file(path)
  changes.read(path, function(change)
    vim.cmd('tab split')
    vim.wo.winfixbuf = false
    if change.after then
      require('reverie.chat.window').open_file(path)
    else
      local gone = scratch.buffer({ name = 'gone', lines = { '' } })
      vim.api.nvim_win_set_buf(0, gone)
    end
    local tab = vim.api.nvim_get_current_tabpage()
    local before = compare_with(lines_of(change.before), 'before/' .. vim.fs.basename(path), vim.bo.filetype)
    open = { tab = tab, path = path, before = before }
    go_to(change.hunks[1])
    tell.info('`:Reverie keep` or `reject` the change at the cursor')
  end)
end

--- One change is done: the review goes to the next one.
function M.advance()
  local path = M.path_here()
  if not path then
    return
  end
  changes.read(path, function(change)
    local line = vim.api.nvim_win_get_cursor(0)[1] - 1
    local following = vim.tbl_filter(function(hunk)
      return hunk.after.start >= line
    end, change.hunks)
    if M.path_here() == path then
      go_to(following[1] or change.hunks[1])
    end
  end)
end

--- What was kept is no difference any more; a file without one is done.
function M.refresh()
  if not open or not vim.api.nvim_tabpage_is_valid(open.tab) then
    open = nil
    return
  end
  local present = open
  local is_left = #vim.tbl_filter(function(file)
    return file.path == present.path
  end, changes.files) > 0
  if not is_left then
    open = nil
    local left = #changes.files > 0 and (' %d more: `:Reverie review`'):format(#changes.files) or ''
    tell.info(('%s is looked through.%s'):format(vim.fs.basename(present.path), left))
    if #vim.api.nvim_list_tabpages() > 1 then
      -- Not if a buffer in it may not be left.
      pcall(vim.cmd.tabclose, vim.api.nvim_tabpage_get_number(present.tab))
    end
    return
  end
  changes.read(present.path, function(change)
    if open == present and vim.api.nvim_buf_is_valid(present.before) then
      scratch.fill(present.before, lines_of(change.before))
      vim.cmd('diffupdate')
    end
  end)
end

--- The file that is looked at, if it was changed, else one of those that were.
---@param path? string
function M.start(path)
  if not require('reverie.chat').require_session() then
    return
  end
  changes.refresh(function()
    if #changes.files == 0 then
      tell.info('nothing waits to be looked through.')
      return
    end
    local wanted = path or vim.api.nvim_buf_get_name(0)
    for _, file in ipairs(changes.files) do
      if file.path == wanted then
        return M.file(file.path)
      end
    end
    if #changes.files == 1 then
      return M.file(changes.files[1].path)
    end
    vim.ui.select(changes.files, {
      prompt = 'Look through the changes of',
      kind = 'reverie.changes',
      format_item = function(file)
        return ('%s  +%d −%d  %s'):format(config.shorten(file.path), file.added, file.removed, file.state)
      end,
    }, function(file)
      if file then
        M.file(file.path)
      end
    end)
  end)
end

--- Takes the conversation back to before a prompt, and gives its words to edit.
---@param block reverie.Block
function M.rewind(block)
  local chat = require('reverie.chat')
  local id = chat.require_session()
  if not id or not block.uuid then
    tell.warn('this prompt is not in the transcript yet.')
    return
  end
  vim.ui.select({ 'Conversation and files', 'Conversation only' }, {
    prompt = 'Go back to before this prompt?',
    kind = 'reverie.rewind',
  }, function(_, choice)
    if not choice then
      return
    end
    local params = { sessionId = id, messageUuid = block.uuid, restoreFiles = choice == 1 }
    client.ask('reverie/session/rewind', params, function(result)
      chat.resume(id, function(problem)
        if problem then
          return chat.notice('error', problem)
        end
        for _, kept in ipairs(result.kept) do
          chat.notice('warning', ('%s was left alone: %s'):format(config.shorten(kept.path), kept.reason))
        end
        require('reverie.chat.prompt').set(result.prompt)
        require('reverie.buffers').reread()
        changes.refresh()
      end)
    end)
  end)
end

return M
