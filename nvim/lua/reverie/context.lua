--- What fills the window of the model, what was left out of it, what it cost; and what runs beside the conversation.
local client = require('reverie.client')
local render = require('reverie.chat.render')
local scratch = require('reverie.scratch')
local tell = require('reverie.tell')
local when = require('reverie.when')

local M = {}

local BAR = 40

---@param number number
local function thousands(number)
  local text = tostring(math.floor(number))
  return (text:reverse():gsub('(%d%d%d)', '%1,'):reverse():gsub('^,', ''))
end

---@param report reverie.ContextReportResult
---@return string[] lines
---@return table<integer, string> originals Ids for `reverie/context/original`, by line from 1.
local function describe(report)
  local lines, originals = {}, {}
  local function add(...)
    lines[#lines + 1] = select('#', ...) == 1 and (...) or string.format(...)
  end
  add('# Context')
  add('')
  add(
    '%s of %s tokens, level %s. Next step: %s.',
    thousands(report.used),
    thousands(report.window),
    report.level,
    report.nextStep
  )
  add('')
  local most = 1 ---@type number
  for _, part in ipairs(report.parts) do
    most = math.max(most, part.tokens)
  end
  for _, part in ipairs(report.parts) do
    local bar = ('█'):rep(math.floor(part.tokens / most * BAR + 0.5))
    add('    %-22s %9s  %s', part.name, thousands(part.tokens), bar)
  end
  add('')
  add('## What changed')
  add('')
  if #report.ledger == 0 then
    add('Nothing was left out so far.')
  end
  for _, change in ipairs(report.ledger) do
    local at = when.moment(change.at):sub(-5)
    add(
      '- %s **%s** %s: %s tokens freed, cache %s',
      at,
      change.layer,
      render.one_line(change.detail),
      thousands(change.tokensFreed),
      change.cache
    )
    if change.original then
      originals[#lines] = change.original
    end
  end
  if next(originals) then
    add('')
    add('`<CR>` on a line shows the original.')
  end
  add('')
  add('## What it cost')
  add('')
  for _, source in ipairs(report.sources) do
    add(
      '    %-22s %s in, %s out, %d %% from the cache, $%.4f',
      source.source,
      thousands(source.usage.inputTokens + source.usage.cacheReadTokens + source.usage.cacheWriteTokens),
      thousands(source.usage.outputTokens),
      math.floor(source.cacheHitRate * 100 + 0.5),
      source.costUsd
    )
  end
  return lines, originals
end

--- The report of the conversation that is shown.
function M.report()
  local session = require('reverie.chat').require_session()
  if not session then
    return
  end
  client.ask('reverie/context/report', { sessionId = session }, function(report)
    local lines, originals = describe(report)
    local buffer = scratch.open({ name = 'context', lines = lines, is_markdown = true })
    vim.keymap.set('n', '<CR>', function()
      local id = originals[vim.api.nvim_win_get_cursor(0)[1]]
      if id then
        client.ask('reverie/context/original', { sessionId = session, id = id }, function(original)
          scratch.open({
            name = 'original',
            lines = vim.split(original.text, '\n', { plain = true }),
            is_beside = true,
          })
        end)
      end
    end, { buffer = buffer, desc = 'Reverie: the original' })
  end)
end

---@param wishes? string
function M.compact(wishes)
  local session = require('reverie.chat').require_session()
  if session then
    local instructions = wishes ~= '' and wishes or nil
    client.ask(
      'reverie/session/compact',
      { sessionId = session, mode = 'auto', instructions = instructions },
      function(result)
        tell.info(
          ('compacted (%s): %s tokens, and %s before.'):format(
            result.layer,
            thousands(result.tokensAfter),
            thousands(result.tokensBefore)
          )
        )
      end
    )
  end
end

function M.uncompact()
  local session = require('reverie.chat').require_session()
  if session then
    client.ask('reverie/session/uncompact', { sessionId = session })
  end
end

--- What runs beside the conversation, and stopping it.
function M.tasks()
  client.ask('reverie/tasks/list', {}, function(result)
    if #result.tasks == 0 then
      tell.info('nothing runs beside the conversation.')
      return
    end
    vim.ui.select(result.tasks, {
      prompt = 'Runs beside the conversation',
      kind = 'reverie.task',
      format_item = function(task)
        local detail = task.detail and ': ' .. render.one_line(task.detail) or ''
        return ('%s  %s  %s%s'):format(task.state, task.kind, render.one_line(task.title), detail)
      end,
    }, function(task)
      if task and task.state == 'running' then
        vim.ui.select(
          { 'Stop it', 'Let it run' },
          { prompt = render.one_line(task.title) },
          function(_, choice)
            if choice == 1 then
              client.ask('reverie/tasks/stop', { taskId = task.taskId })
            end
          end
        )
      end
    end)
  end)
end

return M
