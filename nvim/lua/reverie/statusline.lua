--- What the agent is at, in a few words, for a statusline or a winbar.
local M = {}

local PHASES = {
  waiting = 'waiting…',
  answering = 'answering…',
  thinking = 'thinking…',
  working = 'working…',
  retrying = 'retrying…',
  stopping = 'stopping…',
}

---@param conversation reverie.Conversation
---@return string[]
local function parts(conversation)
  local client = require('reverie.client')
  local found = {}
  if client.state == 'restarting' or client.state == 'failed' then
    found[#found + 1] = 'server ' .. client.state
  end
  local asked = require('reverie.asks').count()
  if asked > 0 then
    found[#found + 1] = 'asks'
  elseif conversation.turn then
    found[#found + 1] = PHASES[conversation.turn.phase] or conversation.turn.phase
  end
  local dream = require('reverie.dream').running
  if dream then
    found[#found + 1] = dream.rounds > 0 and ('dreaming %d'):format(dream.rounds) or 'dreaming'
  end
  local changed = #require('reverie.changes').files
  if changed > 0 then
    found[#found + 1] = ('%d changed'):format(changed)
  end
  local usage = conversation.usage
  if usage and usage.contextWindow > 0 then
    found[#found + 1] = ('%d%%'):format(math.floor(usage.contextUsed / usage.contextWindow * 100 + 0.5))
    if usage.costUsd > 0 then
      found[#found + 1] = ('$%.2f'):format(usage.costUsd)
    end
  end
  return found
end

--- A `%` would be obeyed there.
---@param text string
local function escape(text)
  return (text:gsub('[%c%z]', ' '):gsub('%%', '%%%%'))
end

--- Empty while Reverie is not in use, and loads nothing then.
---@return string
function M.component()
  local client = package.loaded['reverie.client']
  if not client or client.state == 'stopped' then
    return ''
  end
  local found = parts(require('reverie.chat').current())
  return escape('◆ ' .. (#found == 0 and 'Reverie' or table.concat(found, ' · ')))
end

--- For a window of this width: what does not fit is left out, what is going on last.
---@param conversation reverie.Conversation
---@param width integer
---@return string
function M.winbar(conversation, width)
  local left = {}
  if conversation.mode ~= 'default' then
    left[#left + 1] = conversation.mode
  end
  if conversation.model then
    -- Without its provider, which says little and is long.
    table.insert(left, 1, (conversation.model:gsub('^.*/', '')))
  end
  if #left == 0 then
    left[1] = 'Reverie'
  end
  -- Neovim takes a text with a NUL in it for no text.
  left = vim.tbl_map(function(word)
    return (word:gsub('[%c%z]', ' '))
  end, left)
  local right = table.concat(parts(conversation), ' · '):gsub('[%c%z]', ' ')
  while #left > 0 and vim.fn.strwidth(table.concat(left, ' · ') .. right) + 6 > width do
    table.remove(left, 1)
  end
  return (' ◆ %%<%s%%= %s '):format(escape(table.concat(left, ' · ')), escape(right))
end

return M
