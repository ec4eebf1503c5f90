--- Dreams: started, stopped, reported and undone. Their progress is in the statusline, and in `LspProgress`.
local client = require('reverie.client')
local config = require('reverie.config')
local scratch = require('reverie.scratch')
local tell = require('reverie.tell')
local when = require('reverie.when')

local M = {}

--- The one that runs.
---@type reverie.DreamProgressParams?
M.running = nil

---@param params reverie.DreamProgressParams
local function ended(params)
  if not config.get().notify.dream then
    return
  end
  if params.status == 'failed' then
    tell.warn(('the dream failed: %s (:Reverie dream report)'):format(params.text or ''))
  elseif params.status == 'killed' then
    tell.info('the dream was stopped; nothing was changed.')
  else
    local count = #params.filesTouched
    if count == 0 then
      return tell.info('the dream found nothing to improve (:Reverie dream report)')
    end
    local memories = count == 1 and '1 memory' or count .. ' memories'
    tell.info(('Dream improved %s (:Reverie dream report, undo)'):format(memories))
  end
end

---@param params reverie.DreamProgressParams
function M.progressed(params)
  M.running = params.status == 'running' and params or nil
  if params.status ~= 'running' then
    ended(params)
  end
  require('reverie.chat').refresh_bars()
end

function M.forget()
  M.running = nil
end

---@param dry_run? boolean
function M.start(dry_run)
  local session = require('reverie.chat').current().session
  client.ask('reverie/dream/start', { sessionId = session, dryRun = dry_run }, function(result)
    if result.skipped then
      tell.info('no dream was started: ' .. result.skipped)
    end
  end)
end

function M.stop()
  client.ask('reverie/dream/status', {}, function(status)
    if not status.running then
      tell.info('no dream is running.')
      return
    end
    client.ask('reverie/dream/stop', { dreamId = status.running.dreamId })
  end)
end

function M.status()
  client.ask('reverie/dream/status', {}, function(status)
    local lines = {
      status.state == 'idle' and 'No dream is running.' or ('A dream is %s.'):format(status.state),
      status.lastConsolidatedAt and ('The last one was at %s.'):format(
        when.moment(status.lastConsolidatedAt)
      ) or 'There was none yet.',
      '',
      'The next one starts by itself when all of these are open:',
    }
    for _, gate in ipairs(status.gates) do
      lines[#lines + 1] = ('  %s %s: %s'):format(gate.open and '●' or '○', gate.name, gate.detail)
    end
    scratch.open({ name = 'dream', lines = lines })
  end)
end

function M.report()
  client.ask('reverie/dream/report', {}, function(report)
    scratch.open({
      name = 'dream-report',
      lines = vim.split(report.text, '\n', { plain = true }),
      is_markdown = true,
    })
  end)
end

--- Takes back all that the last dream changed.
function M.undo()
  client.ask('reverie/dream/report', {}, function(report)
    client.ask('reverie/memory/undo', { dreamId = report.dreamId }, function(result)
      local count = #result.undone
      local words = count == 1 and '1 memory is as it was.' or ('%d memories are as they were.'):format(count)
      for _, kept in ipairs(result.kept or {}) do
        words = ('%s Left alone: %s (%s).'):format(words, vim.fs.basename(kept.path), kept.reason)
      end
      tell.info(words)
      require('reverie.buffers').reread()
    end)
  end)
end

return M
