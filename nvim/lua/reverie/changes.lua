--- What the agent changed and nobody has looked through yet: marked in its files, listed, and kept or taken back.
local client = require('reverie.client')
local config = require('reverie.config')
local tell = require('reverie.tell')

local M = {}

local namespace = vim.api.nvim_create_namespace('reverie.changes')

---@type reverie.ChangedFile[]
M.files = {}

---@return string?
local function session()
  return require('reverie.chat').current().session
end

---@param path string
---@param callback fun(change: reverie.ReadChangeResult)
function M.read(path, callback)
  local id = session()
  if id then
    client.ask('reverie/changes/read', { sessionId = id, path = path }, callback)
  end
end

---@param buffer integer
---@param change reverie.ReadChangeResult
local function draw(buffer, change)
  vim.api.nvim_buf_clear_namespace(buffer, namespace, 0, -1)
  local last = vim.api.nvim_buf_line_count(buffer)
  for _, hunk in ipairs(change.hunks) do
    local first = math.min(hunk.after.start, last - 1)
    local words = ('◆ +%d −%d'):format(hunk.after.lines, hunk.before.lines)
    vim.api.nvim_buf_set_extmark(buffer, namespace, first, 0, {
      virt_text = { { words, 'ReverieMemory' } },
      virt_text_pos = 'right_align',
      hl_mode = 'combine',
    })
    for line = first, math.min(first + hunk.after.lines, last) - 1 do
      vim.api.nvim_buf_set_extmark(
        buffer,
        namespace,
        line,
        0,
        { number_hl_group = 'Added', sign_text = '▎', sign_hl_group = 'Added' }
      )
    end
  end
end

--- Marks what waits in a buffer, if something does.
---@param buffer integer
function M.mark(buffer)
  local path = vim.api.nvim_buf_get_name(buffer)
  for _, file in ipairs(config.get().inline.changes and M.files or {}) do
    if file.path == path and file.state ~= 'deleted' then
      M.read(path, function(change)
        if vim.api.nvim_buf_is_loaded(buffer) then
          draw(buffer, change)
        end
      end)
      return
    end
  end
  vim.api.nvim_buf_clear_namespace(buffer, namespace, 0, -1)
end

local function mark_all()
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(buffer) then
      M.mark(buffer)
    end
  end
end

---@param files reverie.ChangedFile[]
local function take(files)
  M.files = files
  require('reverie.chat.render').define_highlights()
  mark_all()
  require('reverie.review').refresh()
  require('reverie.events').emit('Changes', { files = files })
  require('reverie.chat').refresh_bars()
end

--- Asks the server anew.
---@param callback? fun()
function M.refresh(callback)
  local id = session()
  if not id then
    return take({})
  end
  client.request('reverie/changes/list', { sessionId = id }, function(_, result)
    if result and id == session() then
      take(result.files)
      if callback then
        callback()
      end
    end
  end)
end

---@param what {path?: string, hunkId?: string, keep: boolean}
---@param callback? fun()
function M.resolve(what, callback)
  if not require('reverie.chat').require_session() then
    return
  end
  local params = vim.tbl_extend('force', { sessionId = session() }, what)
  client.ask('reverie/changes/resolve', params, function(result)
    take(result.files)
    if callback then
      callback()
    end
  end)
end

--- The hunk at or next before the cursor, of the file in the current window.
---@param keep boolean
function M.resolve_here(keep)
  if not require('reverie.chat').require_session() then
    return
  end
  local path = require('reverie.review').path_here()
  if not path and vim.bo.buftype ~= '' then
    tell.warn(('no file is here. For all changes: `:Reverie %s all`'):format(keep and 'keep' or 'reject'))
    return
  end
  path = path or vim.api.nvim_buf_get_name(0)
  local line = vim.api.nvim_win_get_cursor(0)[1] - 1
  M.read(path, function(change)
    for _, hunk in ipairs(change.hunks) do
      local last = hunk.after.start + math.max(hunk.after.lines, 1) - 1
      if line >= hunk.after.start and line <= last then
        local review = require('reverie.review')
        return M.resolve({ path = path, hunkId = hunk.id, keep = keep }, review.advance)
      end
    end
    tell.warn('nothing was changed here: `:Reverie changes` lists all.')
  end)
end

--- The changed places in the quickfix list.
function M.list()
  if not require('reverie.chat').require_session() then
    return
  end
  M.refresh(function()
    local items, left = {}, #M.files
    if left == 0 then
      tell.info('nothing waits to be looked through.')
      return
    end
    local function done()
      left = left - 1
      if left > 0 then
        return
      end
      table.sort(items, function(one, other)
        return one.filename == other.filename and one.lnum < other.lnum or one.filename < other.filename
      end)
      vim.fn.setqflist({}, ' ', { title = 'Changed by Reverie', items = items })
      vim.cmd('botright copen')
    end
    for _, file in ipairs(M.files) do
      client.request('reverie/changes/read', { sessionId = session(), path = file.path }, function(_, change)
        for _, hunk in ipairs(change and change.hunks or {}) do
          items[#items + 1] = {
            filename = file.path,
            lnum = hunk.after.start + 1,
            text = ('%s: +%d −%d lines'):format(file.state, hunk.after.lines, hunk.before.lines),
          }
        end
        done()
      end)
    end
  end)
end

return M
