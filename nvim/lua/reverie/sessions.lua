--- Past conversations: chosen from a list, and what can be done with one.
local client = require('reverie.client')
local render = require('reverie.chat.render')
local tell = require('reverie.tell')
local when = require('reverie.when')

local M = {}

local PAGE = 100

---@param session reverie.SessionSummary
local function describe(session)
  local title = session.title ~= '' and session.title or session.firstPrompt
  local cost = session.costUsd and session.costUsd > 0 and ('  $%.2f'):format(session.costUsd) or ''
  local at = when.moment(session.updatedAt)
  return ('%s  %s%s'):format(at, render.one_line(title), cost)
end

local OLDER = 'Older ones …'

---@param prompt string
---@param query? string
---@param callback fun(session: reverie.SessionSummary)
---@param cursor? string Where the list goes on.
local function pick(prompt, query, callback, cursor)
  query = query ~= '' and query or nil
  client.ask('reverie/session/list', { limit = PAGE, query = query, cursor = cursor }, function(result)
    if #result.sessions == 0 then
      tell.info(
        query and ('no conversation has "%s" in its title.'):format(query)
          or 'there are no conversations of this project yet.'
      )
      return
    end
    local items = result.sessions ---@type any[]
    items[#items + 1] = result.nextCursor and OLDER
    vim.ui.select(items, {
      prompt = prompt,
      kind = 'reverie.session',
      format_item = function(session)
        return session == OLDER and OLDER or describe(session)
      end,
    }, function(session)
      if session == OLDER then
        pick(prompt, query, callback, result.nextCursor)
      elseif session then
        callback(session)
      end
    end)
  end)
end

---@param id string
local function show(id)
  local chat = require('reverie.chat')
  chat.resume(id, function(problem)
    if problem then
      return chat.notice('error', problem)
    end
    chat.open()
    require('reverie.changes').refresh()
  end)
end

--- The newest conversation, or the one with this id.
---@param id? string
function M.resume(id)
  if id and id ~= '' then
    return show(id)
  end
  client.ask('reverie/session/list', { limit = 1 }, function(result)
    if not result.sessions[1] then
      tell.info('there is nothing to resume yet: `:Reverie chat` begins.')
      return
    end
    show(result.sessions[1].sessionId)
  end)
end

---@type table<string, fun(session: reverie.SessionSummary)>
local actions = {}

function actions.Resume(session)
  show(session.sessionId)
end

function actions.Fork(session)
  client.ask('reverie/session/fork', { sessionId = session.sessionId }, function(result)
    show(result.sessionId)
  end)
end

function actions.Rename(session)
  vim.ui.input({ prompt = 'Title: ', default = session.title }, function(title)
    if title and title ~= '' then
      client.ask('reverie/session/rename', { sessionId = session.sessionId, title = title })
    end
  end)
end

function actions.Export(session)
  client.ask(
    'reverie/session/export',
    { sessionId = session.sessionId, format = 'markdown' },
    function(result)
      require('reverie.scratch').open({
        name = 'export',
        lines = vim.split(result.text or '', '\n', { plain = true }),
        filetype = 'reverie',
        is_markdown = true,
      })
    end
  )
end

function actions.Delete(session)
  vim.ui.select({ 'Delete', 'Keep' }, { prompt = ('Delete "%s"?'):format(session.title) }, function(_, choice)
    if choice == 1 then
      client.ask('reverie/session/delete', { sessionId = session.sessionId }, function()
        local chat = require('reverie.chat')
        if chat.current().session == session.sessionId then
          chat.new()
        end
      end)
    end
  end)
end

local ORDER = { 'Resume', 'Fork', 'Rename', 'Export', 'Delete' }

--- A conversation, and what to do with it.
---@param query? string
function M.list(query)
  pick('Conversations', query, function(session)
    vim.ui.select(
      ORDER,
      { prompt = render.one_line(session.title), kind = 'reverie.action' },
      function(action)
        if action then
          actions[action](session)
        end
      end
    )
  end)
end

--- Goes on in a new session that shares the past up to a message.
---@param uuid? string
function M.fork(uuid)
  local id = require('reverie.chat').require_session()
  if id then
    client.ask('reverie/session/fork', { sessionId = id, messageUuid = uuid }, function(result)
      show(result.sessionId)
    end)
  end
end

---@param query string
function M.search(query)
  client.ask('reverie/session/search', { query = query }, function(result)
    if #result.hits == 0 then
      tell.info(('nobody has said "%s".'):format(query))
      return
    end
    vim.ui.select(result.hits, {
      prompt = 'Said before',
      kind = 'reverie.hit',
      format_item = function(hit)
        return ('%s  %s: %s'):format(when.moment(hit.timestamp), hit.role, render.one_line(hit.snippet))
      end,
    }, function(hit)
      if hit then
        show(hit.sessionId)
      end
    end)
  end)
end

return M
